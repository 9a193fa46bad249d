package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"evalctl/harness/bench/record"
	"evalctl/harness/journal"
)

// Suffix ends the base name of bench files: go.bench.json.
const Suffix = ".bench"

// File is the file of one bench, <dir>/<name>.bench.json, which also has a permanent name.
type File struct{ out journal.Output }

// NewFile returns the file of a bench started at this time. It writes nothing.
func NewFile(dir, name string, started time.Time) *File {
	return &File{journal.NewOutput(dir, name+Suffix, started)}
}

// Path returns the path of <name>.bench.json.
func (f *File) Path() string { return f.out.Latest() }

// OwnPath returns the permanent path of the file.
func (f *File) OwnPath() string { return f.out.Own() }

// Save replaces the file with the measurements so far.
func (f *File) Save(r *record.File) error {
	err := os.MkdirAll(filepath.Dir(f.Path()), 0o755)
	if err == nil {
		err = f.out.Write(func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", " ")
			return e.Encode(r)
		})
	}
	if err != nil {
		return fmt.Errorf("write bench %s: %w", f.out.Own(), err)
	}
	return nil
}
