package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"evalctl/internal/llm"
	"evalctl/scorer"
)

// Journal keeps a run on disk while it goes on: a first line with the run's
// identity, then a line for each graded answer, and before it one for an answer
// whose grade takes a while, in the order they came. Whatever ends the process,
// a run goes on from its journal without asking again what was answered.
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

	seeded bool
	aside  string
}

// slot is where the last record of a question lies in the file.
type slot struct {
	at   int64
	size int32
	// answered and finished tell what the record is: an answer or an error, and
	// one that needs nothing more.
	answered, finished bool
	// judging is set while an answer may be under way to its grade, and so may
	// have cost what no line tells.
	judging bool
}

type startLine struct {
	Kind      string          `json:"kind"`
	StartedAt time.Time       `json:"started_at"`
	Identity  Identity        `json:"identity"`
	Options   json.RawMessage `json:"options,omitempty"`
}

// entryLine is one of the lines after the first.
type entryLine struct {
	Kind  string `json:"kind"`
	Index int    `json:"index"`
	// USD was spent on a grade that did not come about.
	USD     llm.USD         `json:"usd,omitempty"`
	written chan<- struct{} // closed when the line has been, unless it is nil

	// Record stands last, so that it can be found in the line.
	Record *Record `json:"record,omitempty"`
}

const (
	kindRun    = "run"
	kindAnswer = "answer" // a record that waits for its grade, or an error
	kindGrade  = "grade"  // the same record, graded
	kindSpent  = "spent"
	// kindSeeded stands after the brain got all its documents, kindStopped after
	// a run that ended early and left no call under way.
	kindSeeded  = "seeded"
	kindStopped = "stopped"
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
	aside, err := retire(path)
	if err != nil {
		return nil, err
	}
	j, err := openJournal(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	j.aside = aside
	j.start = startLine{Kind: kindRun, StartedAt: started, Identity: id, Options: options}
	j.slots = make([]slot, id.Dataset.Selected)
	line, err := encodeLine(j.start)
	if err == nil {
		err = j.write(line)
	}
	if err == nil {
		j.end = int64(len(line))
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

// retire moves an unfinished journal aside, unless its run is still going on,
// and tells where to; empty when there is none.
func retire(path string) (aside string, err error) {
	j, err := openJournal(path, os.O_RDWR)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.Is(err, ErrBusy):
		return "", fmt.Errorf("%w; wait for it, or give another --output", err)
	case err != nil:
		return "", err
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
	if err == nil && (!ok || !sameFile(path, f, l)) {
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
	}
	if j.start.Kind != kindRun {
		return fmt.Errorf("%s holds no run; start the run anew", j.path)
	}
	if err := j.file.Truncate(j.end); err != nil {
		return fmt.Errorf("drop the unfinished last line of %s: %w", j.path, err)
	}
	return nil
}

// accept takes line n of a journal that is read from the start.
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
		known = e.Record != nil && !s.answered
	case kindGrade:
		known = e.Record != nil && !s.finished
	case kindSpent, kindSeeded, kindStopped:
		known = e.Record == nil
	}
	if !known {
		return fmt.Errorf("a line of kind %q has no place here", e.Kind)
	}
	if at, size := recordSpan(line); e.Record != nil && !json.Valid(line[at:at+size]) {
		return errors.New("its keys are not in the order of a journal")
	}
	j.place(e, line)
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
	j.end = int64(len(line))
	return nil
}

// recordSpan finds the record in a line, which it ends but for a brace and the
// line feed.
func recordSpan(line []byte) (at, size int) {
	const key = `"record":`
	if at = bytes.Index(line, []byte(key)); at < 0 {
		return 0, 0
	}
	at += len(key)
	return at, len(line) - at - len("}\n")
}

// place notes a line that is at the journal's end.
func (j *Journal) place(e entryLine, line []byte) {
	s := &j.slots[e.Index]
	if e.Record != nil {
		at, size := recordSpan(line)
		s.at, s.size, s.answered = j.end+int64(at), int32(size), true
		s.finished = e.Kind == kindGrade || e.Record.Outcome == Errored
		j.spent += e.Record.JudgeUSD
	}
	switch e.Kind {
	case kindAnswer:
		s.judging = !s.finished
	case kindGrade, kindSpent:
		s.judging = false
	case kindSeeded:
		j.seeded = true
	case kindStopped:
		for i := range j.slots {
			j.slots[i].judging = false
		}
	}
	j.spent += e.USD
	j.end += int64(len(line))
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

// Seeded tells whether the run's brain got all its documents.
func (j *Journal) Seeded() bool { return j.seeded }

// MarkSeeded notes that the brain has all its documents.
func (j *Journal) MarkSeeded() error {
	if err := j.add(entryLine{Kind: kindSeeded}); err != nil {
		return err
	}
	return j.Sync()
}

// Settle counts as spent what may have been: the judging that was under way when
// a run was killed. worst is what judging one item can cost at most. It is called
// before a paid run goes on.
func (j *Journal) Settle(worst func(scorer.Item) llm.USD) error {
	for i := range j.slots {
		if !j.slots[i].judging {
			continue
		}
		r, err := j.record(i)
		if err == nil {
			err = j.add(entryLine{Kind: kindSpent, Index: i, USD: worst(r.item())})
		}
		if err != nil {
			return err
		}
	}
	return j.Sync()
}

// Aside is where an unfinished journal went whose place this one took; empty
// when there was none.
func (j *Journal) Aside() string { return j.aside }

// Discard undoes CreateJournal: the journal of a run that asked nothing goes
// away, and one that was put aside for it comes back.
func (j *Journal) Discard() error {
	if j.aside == "" {
		return j.Remove()
	}
	return errors.Join(os.Rename(j.aside, j.path), j.Close())
}

// add appends lines in one write; they are safe once Sync has returned. An
// answer whose grade is among them needs no line of its own.
func (j *Journal) add(entries ...entryLine) error {
	var all []byte
	var ends []int
	kept := entries[:0:0]
	for i, e := range entries {
		if e.Kind == kindAnswer && slices.ContainsFunc(entries[i+1:], func(g entryLine) bool { return g.Kind == kindGrade && g.Index == e.Index }) {
			continue
		}
		line, err := encodeLine(e)
		if err != nil {
			return err
		}
		all = append(all, line...)
		ends = append(ends, len(all))
		kept = append(kept, e)
	}
	if err := j.write(all); err != nil {
		return err
	}
	start := 0
	for i, e := range kept {
		j.place(e, all[start:ends[i]])
		start = ends[i]
	}
	return nil
}

func encodeLine(v any) ([]byte, error) {
	line, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode journal line: %w", err)
	}
	return append(line, '\n'), nil
}

// write writes lines at the journal's end and leaves the end where it is.
func (j *Journal) write(lines []byte) error {
	if _, err := j.file.WriteAt(lines, j.end); err != nil {
		return fmt.Errorf("write %s: %w", j.path, err)
	}
	return nil
}

// Sync puts all lines on the disk.
func (j *Journal) Sync() error {
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", j.path, err)
	}
	return nil
}

// raw reads the JSON of question i's record, which must be answered.
func (j *Journal) raw(i int) ([]byte, error) {
	buf := make([]byte, j.slots[i].size)
	if _, err := j.file.ReadAt(buf, j.slots[i].at); err != nil {
		return nil, fmt.Errorf("read %s: %w", j.path, err)
	}
	return buf, nil
}

// record reads question i, which must be answered.
func (j *Journal) record(i int) (r Record, err error) {
	data, err := j.raw(i)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("read %s at byte %d: %w", j.path, j.slots[i].at, err)
	}
	return r, nil
}

// Close releases the journal; its file stays.
func (j *Journal) Close() error {
	return errors.Join(j.file.Close(), j.lock.Close())
}

// Remove closes the journal and deletes it, once the result is written.
func (j *Journal) Remove() error {
	return errors.Join(os.Remove(j.path), j.Close())
}
