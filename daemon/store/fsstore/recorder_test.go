package fsstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// recorder records what is done to a disk.
type recorder struct {
	disk
	h *history
}

func (r *recorder) openLog(name string) (logFile, error) {
	_, err := os.Lstat(filepath.Join(r.h.dir, name))
	f, openErr := r.disk.openLog(name)
	if err != nil && openErr == nil { // it is created durably
		r.h.base[name] = &fileState{}
		r.h.changes = append(r.h.changes, change{kind: creates, name: name}, change{kind: datasyncs, name: name})
	}
	return &recordedLog{f, name, r.h}, openErr
}

func (r *recorder) create(name string, data []byte, when time.Time) error {
	err := r.disk.create(name, data, when)
	if err == nil {
		r.h.add(change{kind: creates, name: name, data: data, when: when})
	}
	return err
}

func (r *recorder) rename(from, to string) error {
	err := r.disk.rename(from, to)
	if err == nil {
		r.h.add(change{kind: renames, name: from, to: to})
	}
	return err
}

func (r *recorder) remove(name string) error {
	err := r.disk.remove(name)
	if err == nil {
		r.h.add(change{kind: removes, name: name})
	}
	return err
}

func (r *recorder) sync() error {
	if r.h.failing > 0 {
		r.h.failing--
		r.h.add(change{kind: failedSyncs})
		return errSync
	}
	r.h.add(change{kind: syncs})
	return r.disk.sync()
}

// errSync is the error of a sync that fails.
var errSync = fmt.Errorf("sync: %w", syscall.EIO)

type recordedLog struct {
	logFile
	name string
	h    *history
}

func (l *recordedLog) WriteAt(data []byte, offset int64) (int, error) {
	l.h.add(change{kind: writes, name: l.name, data: append([]byte{}, data...), offset: offset})
	return l.logFile.WriteAt(data, offset)
}

func (l *recordedLog) Truncate(size int64) error {
	l.h.add(change{kind: truncates, name: l.name, offset: size})
	return l.logFile.Truncate(size)
}

func (l *recordedLog) datasync() error {
	if l.h.failingLog--; l.h.failingLog == 0 {
		l.h.add(change{kind: failedDatasyncs, name: l.name})
		return errSync
	}
	l.h.add(change{kind: datasyncs, name: l.name})
	return l.logFile.datasync()
}

// fileState is what a disk has of a file.
type fileState struct {
	data []byte
	when time.Time
}

// readState reads all files below dir.
func readState(dir string) map[string]*fileState {
	found := map[string]*fileState{}
	_ = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		data, readErr := os.ReadFile(filepath.Join(dir, name))
		found[name] = &fileState{data, info.ModTime()}
		return errors.Join(err, readErr)
	})
	return found
}

// materialize makes a folder with what can be left of the store if the power fails after some
// changes. What was synced is there. Of anything else, each change is there, or a part of what it
// writes, or nothing, independently of the others. What was written to files before a sync that
// failed can be lost for good: the kernel does not write it again.
func (h *history) materialize(dir string, at int) error {
	files := map[string]*fileState{}
	for name, f := range h.base {
		files[name] = &fileState{append([]byte{}, f.data...), f.when}
	}
	created := map[int]*fileState{} // by the change that created it
	at = min(at, len(h.changes))
	for i, c := range h.changes[:at] {
		h.apply(files, created, i, c, at)
	}
	if err := os.MkdirAll(filepath.Join(dir, documentsDir), 0o700); err != nil {
		return err
	}
	for name, f := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			continue // the directory it was in was lost, and there is a file now
		}
		if err := os.WriteFile(file, f.data, 0o600); err != nil {
			continue // as above
		}
		if err := os.Chtimes(file, f.when, f.when); err != nil {
			return err
		}
	}
	return nil
}

// durable reports whether a change was synced by one of those before at. A write to a log before a
// failed datasync stays in the memory of the kernel, which does not write it again.
func (h *history) durable(i, at int) bool {
	c := h.changes[i]
	inLog := c.kind == writes || c.kind == truncates
	for _, later := range h.changes[i+1 : at] {
		if c.kind == writes && later.kind == failedDatasyncs && later.name == c.name {
			return false
		}
		if later.kind == syncs || inLog && later.kind == datasyncs && later.name == c.name {
			return true
		}
	}
	return c.kind == creates && c.data == nil && strings.HasPrefix(c.name, stateDir+"/journal")
}

// dropped reports whether the first sync after a change failed, of those before at.
func (h *history) dropped(i, at int) bool {
	for _, later := range h.changes[i+1 : at] {
		if later.kind == syncs || later.kind == failedSyncs {
			return later.kind == failedSyncs
		}
	}
	return false
}

// apply makes a change, or what is left of it.
func (h *history) apply(files map[string]*fileState, created map[int]*fileState, i int, c change, at int) {
	durable := h.durable(i, at)
	kept := durable || h.choose(2, "kept") == 1
	switch c.kind {
	case writes:
		f := files[c.name]
		data := c.data
		if !durable {
			if !kept {
				return
			}
			data = data[:h.choose(len(data)+1, "written")]
		}
		if need := int(c.offset) + len(data); need > len(f.data) {
			f.data = append(f.data, make([]byte, need-len(f.data))...)
		}
		copy(f.data[c.offset:], data)
	case truncates:
		if f := files[c.name]; kept {
			f.data = append(f.data, make([]byte, max(0, int(c.offset)-len(f.data)))...)[:c.offset]
		}
	case creates:
		f := &fileState{append([]byte{}, c.data...), c.when}
		created[i] = f
		if !durable || c.data != nil && h.dropped(i, at) {
			h.tear(f)
		}
		if kept {
			files[c.name] = f
		}
	case renames:
		// The file is that of the last creation before, also if its first name was lost.
		f := h.base[c.name]
		for j := i - 1; j >= 0; j-- {
			if created[j] != nil && h.changes[j].name == c.name {
				f = created[j]
				break
			}
		}
		if kept && f != nil {
			files[c.to] = f
			delete(files, c.name)
		}
	case removes:
		if kept {
			delete(files, c.name)
		}
	}
}

// tear makes a file what can be left of it: without its end, with zeros, or with the time at which it
// was created.
func (h *history) tear(f *fileState) {
	if h.choose(2, "time") == 1 {
		f.when = f.when.Add(time.Millisecond)
	}
	switch h.choose(4, "torn") {
	case 1:
		f.data = nil
	case 2:
		f.data = f.data[:h.choose(len(f.data)+1, "length")]
	case 3:
		clear(f.data[h.choose(len(f.data)+1, "zeros"):])
	}
}
