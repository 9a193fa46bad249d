package main

import (
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"evalctl/harness/verify"
)

// written are the results that a script writes, whole and partial ones.
type written struct {
	dir string
	// edited are the files that the script has or changes: their figures need not follow from
	// their questions.
	edited   map[string]bool
	verified map[string]time.Time // the times of the files
}

// newWritten takes the files in a folder for the script's own.
func newWritten(dir string) *written {
	w := &written{dir: dir, edited: map[string]bool{}, verified: map[string]time.Time{}}
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		w.edited[path] = true
		return nil
	})
	return w
}

// verify checks that the figures of the new results are what their questions say.
func (r *written) verify(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(r.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" || r.edited[path] {
			return nil // a running daemon may have removed it
		}
		info, err := entry.Info()
		if err != nil || info.ModTime().Equal(r.verified[path]) {
			return nil
		}
		r.verified[path] = info.ModTime()
		rep, err := verify.File(path)
		if err == nil && rep.Found > 0 { // other files are no results
			t.Errorf("%s has %d wrong figures, such as %+v", path, rep.Found, rep.Differences[0])
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
