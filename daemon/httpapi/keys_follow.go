package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"evalctl/internal/inputfile"
)

const (
	// followEvery is how often a KeysFile looks for changes.
	followEvery = time.Second
	// settled is the age from which the time of a file shows every later change. File systems store
	// times as coarsely as 2 s.
	settled = 3 * time.Second
	// recordEvery is the time between two writes of the last uses of keys.
	recordEvery = time.Minute
)

// KeysFile is the keys file of a running daemon. Its Keys follow the content of the file. The last
// uses of the keys are recorded in a file beside it, see LastUses.
type KeysFile struct {
	file   string
	keys   *Keys
	logger *slog.Logger

	read  []byte      // content when last read, usable or not
	info  fs.FileInfo // of it; nil if it must be read again
	fault string      // why the file was unusable when last read, empty if it was usable

	recorded time.Time // when the last uses were last written
	warned   bool      // that they could not be written
}

// OpenKeysFile reads a keys file as ReadKeys does.
func OpenKeysFile(file string, logger *slog.Logger) (*KeysFile, error) {
	keys, err := ReadKeys(file)
	if err != nil {
		return nil, err
	}
	return &KeysFile{file: file, keys: keys, logger: logger}, nil
}

// Keys returns the keys, for Options.Keys.
func (f *KeysFile) Keys() *Keys { return f.keys }

// Follow puts a changed keys file in force within about a second, or at once when it receives from
// reload, until ctx ends. It logs an unusable file and keeps the keys in force. It records the last
// uses every minute, and when it returns.
func (f *KeysFile) Follow(ctx context.Context, reload <-chan struct{}) {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	f.recorded = time.Now()
	f.look(f.recorded, false) // it may have changed since OpenKeysFile
	for {
		select {
		case <-ctx.Done():
			f.record(time.Now())
			return
		case <-reload:
			f.look(time.Now(), true)
		case now := <-ticker.C:
			f.look(now, false)
			if now.Sub(f.recorded) >= recordEvery {
				f.record(now)
			}
		}
	}
}

// look reads the file if it may have changed. If asked is set, it always reads the file and logs
// the outcome.
func (f *KeysFile) look(now time.Time, asked bool) {
	info, err := os.Stat(f.file)
	same := err == nil && f.info != nil && os.SameFile(info, f.info) &&
		info.Size() == f.info.Size() && info.ModTime().Equal(f.info.ModTime())
	if same && !asked {
		return
	}
	var data []byte
	if err == nil {
		data, err = inputfile.Read(f.file, inputfile.Small)
	}
	if err != nil {
		f.reject(fmt.Errorf("keys file: %w", err), asked)
		return
	}
	// Another change within the resolution of the time would look the same.
	f.info = nil
	if now.Sub(info.ModTime()) > settled {
		f.info = info
	}
	if f.read != nil && bytes.Equal(data, f.read) && f.fault == "" && !asked {
		return
	}
	first := f.read == nil
	f.read = data
	next, err := ParseKeys(f.file, data)
	if err == nil && len(next.callers()) == 0 {
		err = fmt.Errorf("%s: contains no key: to withdraw the last one, use evalctl serve keys revoke", f.file)
	}
	if err != nil {
		f.reject(err, asked)
		return
	}
	f.keys.replace(next)
	if !first || asked {
		f.logger.Info("keys are reloaded", "file", f.file, "keys", len(next.callers()))
	}
	f.fault = ""
}

// reject logs why the file cannot be used, once for each reason.
func (f *KeysFile) reject(err error, asked bool) {
	f.info = nil
	if f.fault == err.Error() && !asked {
		return
	}
	f.fault = err.Error()
	f.logger.Error("keys are not reloaded, the previous ones stay in force", "because", f.fault)
}

// record writes the last uses.
func (f *KeysFile) record(now time.Time) {
	f.recorded = now
	err := recordUses(f.file, f.keys.callers())
	if err != nil && !f.warned {
		f.logger.Warn("the last uses of keys are not recorded", "because", err)
	}
	f.warned = err != nil
}

// use records that a key has authorized a request.
func (c *caller) use(now time.Time) { maxInto(c.used, now.Unix()) }

func maxInto(v *atomic.Int64, n int64) {
	for old := v.Load(); old < n; old = v.Load() {
		if v.CompareAndSwap(old, n) {
			return
		}
	}
}
