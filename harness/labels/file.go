package labels

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/resultfile"
	"evalctl/internal/inputfile"
	"evalctl/internal/jsonstream"
	"evalctl/internal/lockfile"
)

// lineStart is the beginning of each line in a file of labels.
const lineStart = `{"id":"`

// Label is one line of a file of labels. dataset.ReadLabels reads its keys up to QuestionDate, so
// the same file can check a judge.
type Label struct {
	ID           string `json:"id"`
	Question     string `json:"question"`
	Reference    string `json:"reference_answer,omitempty"`
	Answer       string `json:"answer"`
	Right        *bool  `json:"label,omitempty"`
	Type         string `json:"type,omitempty"`
	QuestionDate string `json:"question_date,omitempty"`
	// Skipped is set if the labeller could not decide. Right is then nil.
	Skipped  bool   `json:"skipped,omitempty"`
	Labeller string `json:"labeller"`
	Design
	At time.Time `json:"labelled_at"`
}

// File is one labeller's file of labels, open for writing and locked.
type File struct {
	Path   string
	Labels []Label
	file   *lockfile.File
	size   int64
}

// expectedFile describes a file of labels in errors.
const expectedFile = "labels that evalctl judge label has written"

// ErrBusy means that another process is writing the file of labels.
var ErrBusy = errors.New("another process is writing to this file of labels")

// OpenFile opens or creates a file of labels. It returns an error for lines with another labeller
// or design. An incomplete last line from a crash is removed; a complete one without a line end gets
// it.
func OpenFile(path, labeller string, design Design) (*File, error) {
	if err := resultfile.Unexpected(path, expectedFile); err != nil {
		return nil, err
	}
	file, err := lockfile.Open(path, os.O_RDWR|os.O_CREATE, ErrBusy)
	if err != nil {
		return nil, fmt.Errorf("open labels %s: %w", path, err)
	}
	f := &File{Path: path, file: file}
	if err := f.load(labeller, design); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

func (f *File) load(labeller string, design Design) error {
	data, err := io.ReadAll(f.file)
	if err != nil {
		return fmt.Errorf("read labels: %w", err)
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	rest := data[len(whole):]
	unended := json.Valid(rest) // an editor may have removed the line end
	switch {
	case unended:
		whole = data
	case !bytes.HasPrefix(rest, []byte(lineStart)[:min(len(rest), len(lineStart))]):
		return fmt.Errorf("the last line of %s is not a label: expected %s; name another file, because evalctl does not delete this line", f.Path, expectedFile)
	}
	if f.Labels, err = parse(f.Path, whole); err != nil {
		return err
	}
	for i, l := range f.Labels {
		err := design.same(l.Design)
		if l.Labeller != labeller {
			err = fmt.Errorf("it is by labeller %q and not by %q: give each labeller a file", l.Labeller, labeller)
		}
		if err != nil {
			return &dataset.LineError{File: f.Path, Line: i + 1, Err: err}
		}
	}
	f.size = int64(len(whole))
	if err := f.file.Renew(ErrBusy); err != nil {
		return err
	}
	if err := f.cut(); err != nil || !unended {
		return err
	}
	return f.endLine()
}

// same returns an error if a label's answer was drawn by another design.
func (d Design) same(was Design) error {
	if was != d {
		return fmt.Errorf("its answer was drawn with --sample %s --seed %d, and not %s", was.Sample, was.Seed, d)
	}
	return nil
}

// endLine ends the last line.
func (f *File) endLine() error {
	_, err := f.file.Write([]byte("\n"))
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("end the last line of labels %s: %w", f.Path, err)
	}
	f.size++
	return nil
}

// cut removes everything after the last label.
func (f *File) cut() error {
	if err := f.file.Truncate(f.size); err != nil {
		return fmt.Errorf("cut labels %s: %w", f.Path, err)
	}
	_, err := f.file.Seek(f.size, io.SeekStart)
	return err
}

// Append adds a label and syncs it to disk.
func (f *File) Append(l Label) error {
	line, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if _, err := f.file.Write(append(line, '\n')); err != nil {
		return errors.Join(fmt.Errorf("write label %s: %w", f.Path, err), f.cut())
	}
	if err := f.file.Sync(); err != nil {
		return fmt.Errorf("write label %s: %w", f.Path, err)
	}
	f.size += int64(len(line)) + 1
	f.Labels = append(f.Labels, l)
	return nil
}

// Undo removes the last label, of which there must be one.
func (f *File) Undo() error {
	data := make([]byte, f.size)
	if _, err := f.file.ReadAt(data, 0); err != nil {
		return fmt.Errorf("read labels: %w", err)
	}
	data = bytes.TrimRight(data, "\n")
	f.size = int64(bytes.LastIndexByte(data, '\n') + 1)
	f.Labels = f.Labels[:len(f.Labels)-1]
	return errors.Join(f.cut(), f.file.Sync())
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Read reads files of labels with one labeller each. It returns an error for an answer that one
// labeller has labelled in two files: that would be an agreement of two.
func Read(paths ...string) ([]Label, error) {
	type labelled struct{ id, labeller string }
	var all []Label
	in := map[labelled]string{}
	for _, path := range paths {
		if err := resultfile.Unexpected(path, expectedFile); err != nil {
			return nil, err
		}
		data, err := inputfile.Read(path, inputfile.Large)
		if err != nil {
			return nil, fmt.Errorf("read labels: %w", err)
		}
		list, err := parse(path, data)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%s: no labels; evalctl judge label writes them", path)
		}
		for _, l := range list {
			key := labelled{l.ID, l.Labeller}
			if first, ok := in[key]; ok {
				return nil, fmt.Errorf("%s and %s both have the label of %q by %q: give the labels of each labeller once", first, path, l.ID, l.Labeller)
			}
			in[key] = path
		}
		all = append(all, list...)
	}
	return all, nil
}

func parse(path string, data []byte) ([]Label, error) {
	var list []Label
	var bad []error
	seen := map[string]int{}
	number := 0
	for line := range bytes.Lines(inputfile.Text(data)) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var l Label
		err := jsonstream.Decode(line, 0, &l)
		if err == nil {
			err = l.check()
		}
		if first, ok := seen[l.ID]; err == nil && ok {
			err = fmt.Errorf("id %q is already labelled on line %d", l.ID, first)
		}
		if err != nil {
			bad = append(bad, &dataset.LineError{File: path, Line: number, Err: err})
			continue
		}
		seen[l.ID] = number
		list = append(list, l)
	}
	if len(bad) > 0 {
		return nil, dataset.JoinLines(bad)
	}
	return list, nil
}

func (l *Label) check() error {
	switch {
	case l.ID == "":
		return errors.New(`"id" is missing`)
	case l.Skipped == (l.Right != nil):
		return errors.New(`it needs "label", true or false, or "skipped": true`)
	case l.Labeller == "":
		return errors.New(`"labeller" is missing: an estimate needs labels by evalctl judge label, which draws the answers`)
	}
	return l.Design.check()
}
