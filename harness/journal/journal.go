package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"evalctl/harness/result"
	"evalctl/internal/atomicfile"
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

	buf    bytes.Buffer    // of Append, used again
	seeded map[string]bool // by brain
	backup string
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
	Identity  result.Identity `json:"identity"`
	Options   json.RawMessage `json:"options,omitempty"`
}

// Entry is one of the lines after the first.
type Entry struct {
	Kind  string `json:"kind"`
	Index int    `json:"index"`
	// USD was spent on a grade that did not come about.
	USD llm.USD `json:"usd,omitempty"`
	// Brain is the one that was seeded.
	Brain string `json:"brain,omitempty"`

	// Record stands last, so that it can be found in the line.
	Record *result.Record `json:"record,omitempty"`
}

const (
	kindRun    = "run"
	KindAnswer = "answer" // a record that waits for its grade, or an error
	KindGrade  = "grade"  // the same record, graded
	KindSpent  = "spent"
	// kindSeeded stands after a brain got all its documents, kindStopped after
	// a run that ended early and left no call under way.
	kindSeeded  = "seeded"
	KindStopped = "stopped"
)

// CreateJournal starts <dir>/<sdk>.journal. A journal that an earlier run left
// there is kept as <sdk>.<HHMMSS>.journal. options is kept for the caller.
func Create(dir string, id result.Identity, started time.Time, options json.RawMessage) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the result folder: %w", err)
	}
	path := filepath.Join(dir, id.SDK+".journal")
	aside, err := backupUnfinished(path)
	if err != nil {
		return nil, err
	}
	j, err := openFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	j.backup = aside
	j.start = startLine{Kind: kindRun, StartedAt: started, Identity: id, Options: options}
	j.slots = make([]slot, id.Dataset.Selected)
	line, err := json.Marshal(j.start)
	line = append(line, '\n')
	if err == nil {
		err = j.write(line)
	}
	if err == nil {
		j.end = int64(len(line))
		err = j.Sync()
	}
	if err == nil {
		err = atomicfile.SyncDir(dir)
	}
	if err != nil {
		return nil, errors.Join(err, j.Remove())
	}
	return j, nil
}

// retire moves an unfinished journal aside, unless its run is still going on,
// and tells where to; empty when there is none.
func backupUnfinished(path string) (backup string, err error) {
	j, err := openFile(path, os.O_RDWR)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.Is(err, ErrBusy):
		return "", fmt.Errorf("%w; wait for it, or give another --output", err)
	case err != nil:
		return "", err
	}
	defer j.Close()
	return atomicfile.Backup(path)
}

// OpenJournal reads the journal of a run that did not finish. A last line that
// was cut short is dropped; any other damage is an error with file:line.
func Open(path string) (*Journal, error) {
	j, err := openFile(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := j.load(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

func openFile(path string, flag int) (*Journal, error) {
	f, err := os.OpenFile(path, flag, 0o600) // the options may hold a token
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
	return &Journal{path: path, file: f, lock: l, seeded: map[string]bool{}}, nil
}

// sameFile tells whether the lock is on the file that was opened, and path
// still names it: another process may have moved or removed it in between.
func sameFile(path string, f *os.File, l *flock.Flock) bool {
	opened, errO := f.Stat()
	locked, errL := l.Stat()
	named, errN := os.Stat(path)
	return errors.Join(errO, errL, errN) == nil && os.SameFile(opened, locked) && os.SameFile(opened, named)
}

// Path is the journal's file.
func (j *Journal) Path() string { return j.path }

// Identity is that of the run the journal belongs to.
func (j *Journal) Identity() result.Identity { return j.start.Identity }

// StartedAt is when the run began.
func (j *Journal) StartedAt() time.Time { return j.start.StartedAt }

// Options is what CreateJournal was given.
func (j *Journal) Options() json.RawMessage { return j.start.Options }

// Spent is what the run has paid for grades so far.
func (j *Journal) Spent() llm.USD { return j.spent }

// Finished counts the questions that a resume does not ask again.
func (j *Journal) Finished() int {
	n := 0
	for _, s := range j.slots {
		if s.finished {
			n++
		}
	}
	return n
}

// State says how far a question has come: whether it has an answer or an error, and whether it
// needs nothing more.
type State struct{ Answered, Finished bool }

// State returns the state of question i, counted from 0.
func (j *Journal) State(i int) State {
	return State{Answered: j.slots[i].answered, Finished: j.slots[i].finished}
}

// Seeded tells whether a brain of the run got all its documents.
func (j *Journal) Seeded(brain string) bool { return j.seeded[brain] }

// MarkSeeded notes that a brain has all its documents.
func (j *Journal) MarkSeeded(brain string) error {
	if err := j.Append(Entry{Kind: kindSeeded, Brain: brain}); err != nil {
		return err
	}
	return j.Sync()
}

// ChargeInFlight counts as spent what may have been: the judging that was under way when
// a run was killed. worst is what judging one item can cost at most. It is called
// before a paid run goes on.
func (j *Journal) ChargeInFlight(worst func(scorer.Item) llm.USD) error {
	for i := range j.slots {
		if !j.slots[i].judging {
			continue
		}
		r, err := j.Record(i)
		if err == nil {
			err = j.Append(Entry{Kind: KindSpent, Index: i, USD: worst(r.Item())})
		}
		if err != nil {
			return err
		}
	}
	return j.Sync()
}

// Backup is where an unfinished journal went whose place this one took; empty
// when there was none.
func (j *Journal) Backup() string { return j.backup }

// Discard undoes CreateJournal: the journal of a run that asked nothing goes
// away, and one that was put backup for it comes back.
func (j *Journal) Discard() error {
	if j.backup == "" {
		return j.Remove()
	}
	return errors.Join(os.Rename(j.backup, j.path), j.Close())
}

// Close releases the journal; its file stays.
func (j *Journal) Close() error {
	return errors.Join(j.file.Close(), j.lock.Close())
}

// Remove closes the journal and deletes it, once the result is written.
func (j *Journal) Remove() error {
	return errors.Join(os.Remove(j.path), j.Close())
}
