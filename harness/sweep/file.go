package sweep

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"evalctl/harness"
	"evalctl/harness/journal"
	"evalctl/harness/result"
)

// File is the file of one sweep.
type File struct{ out journal.Output }

// NewFile returns the file of a sweep that began at started: <dir>/<sdk>.sweep.json, and a
// permanent name. It writes nothing.
func NewFile(dir, sdk string, started time.Time) *File {
	return &File{journal.NewOutput(dir, sdk+".sweep", started)}
}

// Path returns the path of <sdk>.sweep.json.
func (f *File) Path() string { return f.out.Latest() }

// OwnPath returns the path with the permanent name.
func (f *File) OwnPath() string { return f.out.Own() }

// Save writes the finished cells of a sweep in progress. The sweep is marked as interrupted, in
// case the process is killed before the next call.
func (f *File) Save(s result.Sweep) error {
	s.Stopped, s.FinishedAt = result.StopInterrupted, time.Now().UTC()
	return f.write(s)
}

// Finish writes an ended sweep, and sets FinishedAt and Stopped of s. stopped is the reason why it
// ended early, nil if it is complete.
func (f *File) Finish(s *result.Sweep, stopped error) error {
	s.Stopped, s.FinishedAt = harness.StopReason(stopped), time.Now().UTC()
	return f.write(*s)
}

func (f *File) write(s result.Sweep) error {
	err := os.MkdirAll(filepath.Dir(f.Path()), 0o755)
	if err == nil {
		err = f.out.Write(func(w io.Writer) error { return encodeSweep(w, s) })
	}
	if err != nil {
		return fmt.Errorf("write sweep %s: %w", f.out.Own(), err)
	}
	return nil
}

// encodeSweep writes a sweep with one question per line.
func encodeSweep(to io.Writer, s result.Sweep) error {
	w := bufio.NewWriterSize(to, 256<<10)
	cells := s.Cells
	s.Cells = []result.Cell{}
	head, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s", bytes.TrimSuffix(head, []byte("]\n}")))
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		if err := encodeCell(w, c); err != nil {
			return err
		}
	}
	fmt.Fprint(w, "\n  ]\n}\n")
	return w.Flush()
}

func encodeCell(w *bufio.Writer, c result.Cell) error {
	questions := c.Questions
	c.Questions = nil
	head, err := json.MarshalIndent(c, "    ", "  ")
	if err != nil {
		return err
	}
	fmt.Fprint(w, "\n    ")
	return journal.EncodeWithQuestions(w, head, "    ", func(yield func([]byte, error) bool) {
		for i := range questions {
			line, err := json.Marshal(&questions[i])
			if !yield(line, err) {
				return
			}
		}
	})
}
