package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"evalctl/internal/llm"
)

// Journal keeps a run on disk while it goes on: a first line with the run's
// identity, then a line for each answer and one for each grade, in the order
// they came. Whatever ends the process, a run goes on from its journal without
// asking again what was answered.
//
// One process owns a journal; its methods are not safe for concurrent use.
type Journal struct {
	path  string
	file  *os.File
	lock  *flock.Flock
	end   int64
	spent llm.USD
	start startLine
	slots []slot
}

// slot is where a question's lines lie; a length of 0 means that there is none.
type slot struct {
	answerAt, gradeAt   int64
	answerLen, gradeLen int32
	failed              bool // the answer is an error, which gets no grade
}

type startLine struct {
	Kind      string          `json:"kind"`
	StartedAt time.Time       `json:"started_at"`
	Identity  Identity        `json:"identity"`
	Options   json.RawMessage `json:"options,omitempty"`
}

type entryLine struct {
	Kind   string  `json:"kind"`
	Index  int     `json:"index"`
	Record *Record `json:"record,omitempty"`
	Grade  *grade  `json:"grade,omitempty"`
	// USD was spent on a grade that did not come about.
	USD llm.USD `json:"usd,omitempty"`

	answer *Record // what Grade is for
}

const (
	kindRun    = "run"
	kindAnswer = "answer"
	kindGrade  = "grade"
	kindSpent  = "spent"
)

// ErrBusy means that another process writes the journal.
var ErrBusy = errors.New("another run is writing this journal")

// CreateJournal starts <dir>/<sdk>.journal. A journal that an earlier run left
// there is kept as <sdk>.<HHMMSS>.journal. options is kept for the caller.
func CreateJournal(dir string, id Identity, started time.Time, options json.RawMessage) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the result folder: %w", err)
	}
	path := filepath.Join(dir, id.SDK+".journal")
	if err := retire(path); err != nil {
		return nil, err
	}
	j, err := openJournal(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	j.start = startLine{Kind: kindRun, StartedAt: started, Identity: id, Options: options}
	j.slots = make([]slot, id.Dataset.Selected)
	if _, err = j.write(j.start); err == nil {
		err = j.Sync()
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return nil, errors.Join(err, j.Remove())
	}
	return j, nil
}

// retire moves an unfinished journal aside, unless its run is still going on.
func retire(path string) error {
	j, err := openJournal(path, os.O_RDWR)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, ErrBusy):
		return fmt.Errorf("%w; wait for it, or give another --output", err)
	case err != nil:
		return err
	}
	defer j.Close()
	return keepAside(path)
}

// OpenJournal reads the journal of a run that did not finish. A last line that
// was cut short is dropped; any other damage is an error with file:line.
func OpenJournal(path string) (*Journal, error) {
	j, err := openJournal(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := j.load(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

func openJournal(path string, flag int) (*Journal, error) {
	f, err := os.OpenFile(path, flag, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	l := flock.New(path, flock.SetFlag(os.O_RDONLY)) // must not create the file anew
	ok, err := l.TryLock()
	if err == nil && !(ok && sameFile(path, f, l)) {
		err = ErrBusy
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), l.Close(), f.Close())
	}
	return &Journal{path: path, file: f, lock: l}, nil
}

// sameFile tells whether the lock is on the file that was opened, and path
// still names it: another process may have moved or removed it in between.
func sameFile(path string, f *os.File, l *flock.Flock) bool {
	opened, errO := f.Stat()
	locked, errL := l.Stat()
	named, errN := os.Stat(path)
	return errors.Join(errO, errL, errN) == nil && os.SameFile(opened, locked) && os.SameFile(opened, named)
}

func (j *Journal) load() error {
	r := bufio.NewReaderSize(j.file, 1<<20)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", j.path, err)
		}
		if err := j.accept(n, line); err != nil {
			return &LineError{File: j.path, Line: n, Err: fmt.Errorf("the journal is damaged: %w; start the run anew", err)}
		}
		j.end += int64(len(line))
	}
	if j.start.Kind != kindRun {
		return fmt.Errorf("%s holds no run; start the run anew", j.path)
	}
	if err := j.file.Truncate(j.end); err != nil {
		return fmt.Errorf("drop the unfinished last line of %s: %w", j.path, err)
	}
	return nil
}

func (j *Journal) accept(n int, line []byte) error {
	if n == 1 {
		return j.acceptStart(line)
	}
	var e entryLine
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	if e.Index < 0 || e.Index >= len(j.slots) {
		return errors.New("not a line of this run")
	}
	s, known := j.slots[e.Index], false
	switch e.Kind {
	case kindAnswer:
		known = e.Record != nil && s.answerLen == 0
	case kindGrade:
		known = e.Grade != nil && s.answerLen > 0 && s.gradeLen == 0 && !s.failed
	case kindSpent:
		known = true
	}
	if !known {
		return fmt.Errorf("a line of kind %q has no place here", e.Kind)
	}
	j.place(e, j.end, len(line))
	return nil
}

func (j *Journal) acceptStart(line []byte) error {
	if err := json.Unmarshal(line, &j.start); err != nil {
		return err
	}
	if j.start.Kind != kindRun {
		return errors.New("the first line is not that of a run")
	}
	if v := j.start.Identity.SchemaVersion; v != SchemaVersion {
		return fmt.Errorf("it has schema version %d, this evalctl writes %d", v, SchemaVersion)
	}
	n := j.start.Identity.Dataset.Selected
	if n < 1 || n > MaxQuestions {
		return fmt.Errorf("the run has %d questions", n)
	}
	j.slots = make([]slot, n)
	return nil
}

func (j *Journal) place(e entryLine, at int64, n int) {
	s := &j.slots[e.Index]
	switch e.Kind {
	case kindAnswer:
		s.answerAt, s.answerLen, s.failed = at, int32(n), e.Record.Outcome == Errored
	case kindGrade:
		s.gradeAt, s.gradeLen = at, int32(n)
		j.spent += e.Grade.USD
	case kindSpent:
		j.spent += e.USD
	}
}

// Path is the journal's file.
func (j *Journal) Path() string { return j.path }

// Identity is that of the run the journal belongs to.
func (j *Journal) Identity() Identity { return j.start.Identity }

// StartedAt is when the run began.
func (j *Journal) StartedAt() time.Time { return j.start.StartedAt }

// Options is what CreateJournal was given.
func (j *Journal) Options() json.RawMessage { return j.start.Options }

// Spent is what the run has paid for grades so far.
func (j *Journal) Spent() llm.USD { return j.spent }

// add appends a line; it is safe once Sync has returned.
func (j *Journal) add(e entryLine) error {
	at := j.end
	n, err := j.write(e)
	if err != nil {
		return err
	}
	j.place(e, at, n)
	return nil
}

func (j *Journal) write(v any) (int, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, fmt.Errorf("encode journal line: %w", err)
	}
	n, err := j.file.WriteAt(append(data, '\n'), j.end)
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", j.path, err)
	}
	j.end += int64(n)
	return n, nil
}

// Sync puts all lines on the disk.
func (j *Journal) Sync() error {
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", j.path, err)
	}
	return nil
}

// answered tells whether question i has an answer or an error.
func (j *Journal) answered(i int) bool { return j.slots[i].answerLen > 0 }

// finished tells whether question i needs nothing more: it has a grade, or is
// an error.
func (j *Journal) finished(i int) bool { return j.slots[i].gradeLen > 0 || j.slots[i].failed }

// record reads question i, which must be answered, with its grade when it has
// one.
func (j *Journal) record(i int) (Record, error) {
	s := j.slots[i]
	var answer, g entryLine
	if err := j.read(s.answerAt, s.answerLen, &answer); err != nil {
		return Record{}, err
	}
	if s.gradeLen > 0 {
		if err := j.read(s.gradeAt, s.gradeLen, &g); err != nil {
			return Record{}, err
		}
		answer.Record.apply(*g.Grade)
	}
	return *answer.Record, nil
}

func (j *Journal) read(at int64, n int32, v any) error {
	buf := make([]byte, n)
	if _, err := j.file.ReadAt(buf, at); err != nil {
		return fmt.Errorf("read %s: %w", j.path, err)
	}
	if err := json.Unmarshal(buf, v); err != nil {
		return fmt.Errorf("read %s at byte %d: %w", j.path, at, err)
	}
	return nil
}

// Close releases the journal; its file stays.
func (j *Journal) Close() error {
	return errors.Join(j.file.Close(), j.lock.Close())
}

// Remove closes the journal and deletes it, once the result is written.
func (j *Journal) Remove() error {
	return errors.Join(os.Remove(j.path), j.Close())
}
