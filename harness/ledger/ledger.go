// Package ledger records the spending of a run or a replay, under a cap that all arms and phases
// share. A ledger is a file of JSON lines, so that it survives a killed process.
//
// A line with the worst case is written before a request that may cost money is sent, and a line
// with its outcome afterwards. A request without an outcome may have been charged: Open counts its
// worst case.
package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"evalctl/internal/atomicfile"
	"evalctl/internal/chain"
	"evalctl/internal/llm"
	"evalctl/internal/lockfile"
)

// ErrBusy means that another process has the ledger open.
var ErrBusy = errors.New("another process uses it")

// Phase is the purpose of spending.
type Phase string

// The phases. Ingest is the daemon's work before questions are asked, Actor writes the answers.
const (
	Ingest Phase = "ingest"
	Actor  Phase = "actor"
	Judge  Phase = "judge"
	Embed  Phase = "embed"
)

func (p Phase) valid() bool { return p == Ingest || p == Actor || p == Judge || p == Embed }

// Ledger is the ledger of one run or replay. The owning process holds a lock on the file. It is
// safe for concurrent use.
type Ledger struct {
	path string
	file *lockfile.File

	start startLine

	mu     sync.Mutex
	end    int64
	chain  chain.Chain // of the lines up to end
	lastID int64
	open   map[int64]line // reservations without an outcome
	sums   map[account]*sum
	budget *llm.Budget // nil without a cap
	err    error       // of the first line that could not be written
}

// Create creates a ledger, which must not exist. options are stored for the caller. limit caps the
// spending of all arms and phases together, nil for no cap.
func Create(path string, options json.RawMessage, started time.Time, limit *llm.USD) (*Ledger, error) {
	l, err := openFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	l.start = startLine{Kind: kindReplay, Version: version, StartedAt: started, Cap: limit, Options: options}
	l.setBudget(limit)
	if err = l.write(l.start); err == nil {
		err = l.Sync()
	}
	if err == nil {
		err = atomicfile.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(err, l.Remove())
	}
	return l, nil
}

// Open reads the ledger of an unfinished run or replay. Requests without an outcome are counted in
// full. A truncated last line is dropped. Any other damage, such as a line that was changed,
// removed or moved, is an error with file:line, and the file is not changed. The error wraps
// ErrBusy if another process owns the ledger.
func Open(path string) (*Ledger, error) {
	l, err := openFile(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err = l.load(); err == nil {
		err = l.chargeLost()
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func openFile(path string, flag int) (*Ledger, error) {
	f, err := lockfile.Open(path, flag, ErrBusy)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	return &Ledger{path: path, file: f, open: map[int64]line{}, sums: map[account]*sum{}}, nil
}

// Path returns the path of the file.
func (l *Ledger) Path() string { return l.path }

// Options returns the options given to Create, with those of SetCap.
func (l *Ledger) Options() json.RawMessage { return l.start.Options }

// StartedAt returns when the run or replay began.
func (l *Ledger) StartedAt() time.Time { return l.start.StartedAt }

// Cap returns the spend cap, nil for none.
func (l *Ledger) Cap() *llm.USD {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.start.Cap
}

// Unchained reports whether the lines are not chained by hashes, because an older version created
// the ledger. Changes of such a file are not detected.
func (l *Ledger) Unchained() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain.Plain()
}

// Ext is the file extension of ledgers.
const Ext = ".ledger"

// NewCap returns the new cap for a resumed run or replay, nil to keep the old one. A cap can be
// changed but not removed. given is set if the command line has the wanted one, which is then set
// again even if it is the old one, because SetCap keeps who gave it.
func NewCap(was, wanted *llm.USD, given bool) (*llm.USD, error) {
	switch {
	case wanted == nil && was != nil:
		return nil, fmt.Errorf("--max-cost-usd off: there is a cap of %s, which can be changed but not removed; give an amount", *was)
	case wanted != nil && (given || was == nil || *was != *wanted):
		return wanted, nil
	}
	return nil, nil
}

// SetCap replaces the cap of a run or replay. No request may be in progress. A cap below the amount
// spent so far admits only free requests. options are added to those of Create, nil for none.
func (l *Ledger) SetCap(limit llm.USD, options json.RawMessage) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := line{Kind: kindCap, USD: limit, Options: options}
	if err := l.write(in); err != nil {
		return err
	}
	l.setBudget(&limit)
	return l.addOptions(in)
}

// addOptions adds the options of a new cap to those of the ledger.
func (l *Ledger) addOptions(in line) error {
	if in.Options == nil {
		return nil
	}
	all := map[string]json.RawMessage{}
	var errs []error
	for _, options := range []json.RawMessage{l.start.Options, in.Options} {
		if options != nil {
			errs = append(errs, json.Unmarshal(options, &all))
		}
	}
	data, err := json.Marshal(all)
	l.start.Options = data
	return errors.Join(append(errs, err)...)
}

// Carry counts spending from before the ledger existed, for a phase of an arm.
func (l *Ledger) Carry(phase Phase, arm string, spent llm.USD) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := line{
		Kind: kindSettle, account: account{phase, arm}, At: time.Now().UTC(), Model: "before the ledger", USD: spent,
	}
	if err := l.write(in); err != nil {
		return err
	}
	l.add(in)
	l.budget.Charge(spent)
	return nil
}

// setBudget sets a cap and charges it with the amount spent so far.
func (l *Ledger) setBudget(limit *llm.USD) {
	l.start.Cap, l.budget = limit, nil
	if limit != nil {
		l.budget = llm.NewBudget(*limit)
		l.budget.Charge(l.spent())
	}
}

// Spent returns the spending of all arms and phases, interrupted processes included.
func (l *Ledger) Spent() llm.USD {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent()
}

// Err returns the error of the first line that could not be written, for example because the disk
// is full, or nil. After an error every request is rejected.
func (l *Ledger) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Sync flushes all lines to disk, so that they survive a crash of the machine. Without it they
// survive the end of the process.
func (l *Ledger) Sync() error {
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", l.path, err)
	}
	return nil
}

// Close closes the ledger and releases its lock. The file is kept. No request may be in progress.
func (l *Ledger) Close() error { return l.file.Close() }

// Remove closes the ledger and deletes its file. Call it after the result has been written.
func (l *Ledger) Remove() error { return errors.Join(os.Remove(l.path), l.Close()) }
