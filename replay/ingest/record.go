package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"evalctl/harness/seed"
	"evalctl/internal/atomicfile"
	"evalctl/internal/inputfile"
	"evalctl/internal/llm"
)

// recordVersion is the version of the file.
const recordVersion = 1

// Record is the file that lists the brains filled by replays at one endpoint. Only one process can
// open it. A nil record is empty. It is safe for concurrent use.
type Record struct {
	path string
	lock *flock.Flock

	mu     sync.Mutex
	Schema int                      `json:"schema_version"`
	Brains map[string]recordedBrain `json:"brains"` // by name
}

// recordedBrain is a completely filled brain.
type recordedBrain struct {
	Signature string `json:"signature"`
	Sessions  int    `json:"sessions"`
	// USD is the list cost of filling the brain, nil if unknown.
	USD      *llm.USD  `json:"usd,omitempty"`
	FilledAt time.Time `json:"filled_at"`
	// Loss is nil if unknown for the service.
	Loss *seed.Loss `json:"loss,omitempty"`
}

// OpenRecord reads and locks the record at path, which need not exist. It returns an error if
// another process has locked it. The caller must call Close.
func OpenRecord(path string) (*Record, error) {
	r := &Record{path: path, lock: flock.New(path + ".lock")}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	locked := false
	if err == nil {
		locked, err = r.lock.TryLock()
	}
	if err == nil && !locked {
		err = errors.New("another replay is filling brains of this daemon; wait until it has")
	}
	if err == nil {
		err = r.read()
	}
	if err != nil {
		_ = r.lock.Close()
		return nil, fmt.Errorf("record of filled brains %s: %w", path, err)
	}
	return r, nil
}

func (r *Record) read() error {
	data, err := inputfile.Read(r.path, inputfile.Large)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte("{}"), nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, r); err != nil {
		return fmt.Errorf("%w; delete the file, and brains are filled again", err)
	}
	if r.Brains == nil || r.Schema != recordVersion {
		r.Brains = map[string]recordedBrain{} // brains of another version are not reused
	}
	r.Schema = recordVersion
	return nil
}

// has reports whether a brain was filled with the contents of its signature.
func (r *Record) has(b brain) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Brains[b.name].Signature == b.signature
}

// add records a filled brain and its loss.
func (r *Record) add(b brain, loss seed.Loss) error {
	return r.change(func() {
		filled := recordedBrain{Signature: b.signature, Sessions: b.sessions, FilledAt: time.Now().UTC()}
		if loss.Searched > 0 {
			filled.Loss = &loss
		}
		r.Brains[b.name] = filled
	})
}

// loss returns the loss of a filled brain, zero if unknown.
func (r *Record) loss(b brain) (loss seed.Loss) {
	if r == nil {
		return loss
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.Brains[b.name].Loss; known != nil {
		loss = *known
	}
	return loss
}

// cost returns the cost of filling a brain, nil if unknown.
func (r *Record) cost(b brain) *llm.USD {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Brains[b.name].USD
}

// price records the cost of filling brains, divided among them by their sessions.
func (r *Record) price(filled []brain, usd llm.USD) error {
	sessions := 0
	for _, b := range filled {
		sessions += b.sessions
	}
	return r.change(func() {
		for _, b := range filled {
			share := usd
			if sessions > 0 {
				share = llm.USD(float64(usd) * float64(b.sessions) / float64(sessions))
			}
			if sessions -= b.sessions; sessions == 0 {
				share = usd // the rest
			}
			usd -= share
			priced := r.Brains[b.name]
			priced.USD = &share
			r.Brains[b.name] = priced
		}
	})
}

// any returns the name of a filled brain, "" if there is none.
func (r *Record) any() string {
	if r == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.Brains {
		return name
	}
	return ""
}

// clear records that no brain is filled.
func (r *Record) clear() error {
	if r.any() == "" {
		return nil
	}
	return r.change(func() { clear(r.Brains) })
}

// remove records that a brain is not filled.
func (r *Record) remove(b brain) error {
	if !r.has(b) {
		return nil
	}
	return r.change(func() { delete(r.Brains, b.name) })
}

func (r *Record) change(do func()) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	do()
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = atomicfile.WriteData(r.path, 0o644, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("record of filled brains %s: %w", r.path, err)
	}
	return nil
}

// Close lets other processes use the record. The lock file remains, since another process may have
// opened it.
func (r *Record) Close() error { return r.lock.Close() }
