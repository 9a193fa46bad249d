package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"evalctl/harness/result"
	"evalctl/internal/atomicfile"
)

// SweepFile is the file of one sweep. The file of an earlier sweep is kept as a backup.
type SweepFile struct {
	path    string
	written bool
}

// NewSweepFile returns the file <dir>/<sdk>.sweep.json. Nothing is written yet.
func NewSweepFile(dir, sdk string) *SweepFile {
	return &SweepFile{path: filepath.Join(dir, sdk+".sweep.json")}
}

// Path returns the file's path.
func (f *SweepFile) Path() string { return f.path }

// Save writes the finished cells of a sweep that is in progress. The file says that the sweep was
// interrupted, which is true if the process is killed before the next call.
func (f *SweepFile) Save(s result.Sweep) error {
	s.Stopped, s.FinishedAt = result.StopInterrupted, time.Now().UTC()
	return f.write(s)
}

// Finish writes a sweep that has ended, and sets FinishedAt and Stopped of s. stopped is the reason
// why it ended before its last cell, nil if it did not.
func (f *SweepFile) Finish(s *result.Sweep, stopped error) error {
	s.Stopped, s.FinishedAt = stopReason(stopped), time.Now().UTC()
	return f.write(*s)
}

func (f *SweepFile) write(s result.Sweep) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(f.path), 0o755)
	}
	if err == nil {
		write := atomicfile.WriteNew
		if f.written {
			write = atomicfile.Write
		}
		err = write(f.path, 0o644, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s\n", data)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("write sweep %s: %w", f.path, err)
	}
	f.written = true
	return nil
}
