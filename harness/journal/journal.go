package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"evalctl/harness/result"
	"evalctl/internal/atomicfile"
	"evalctl/internal/chain"
	"evalctl/internal/llm"
	"evalctl/internal/lockfile"
)

// Journal is the journal of one run. A lock on the file makes one process its owner. Its methods
// are not safe for concurrent use, except that Sync may be called while entries are appended, and
// State and Record of one question while entries of other questions are.
type Journal struct {
	path string
	file *lockfile.File
	end  int64
	// chain links the lines up to end.
	chain chain.Chain
	// graded is what judging cost by the records, calls what it cost besides.
	graded llm.USD
	calls  Calls
	start  startLine
	slots  []slot

	buf    bytes.Buffer    // of Append, kept for the next call
	linked []byte          // the same
	seeded map[string]bool // by brain
	own    []result.OwnQuestion
	// embedded is nil if no line says it.
	embedded *result.Embeddings

	backup string
	// reopened is set if another process created it.
	reopened bool
	// complete is set if the last line says that the run finished.
	complete bool
}

// slot is where the last record of a question is in the file.
type slot struct {
	at   int64
	size int32
	State
}

// State is the progress of a question: whether it has an answer or an error, and whether it needs
// nothing more. Reopened means that it has the record of an earlier try and must be asked again.
// Outage means that it is finished, and that another try may succeed: see result.Record.Outage, or
// the run was stopped because of its failure.
type State struct{ Answered, Finished, Reopened, Outage bool }

type startLine struct {
	Kind string `json:"kind"`
	// Name is that of the result file, File its own name. See Output.
	Name      string          `json:"name"`
	File      string          `json:"file"`
	StartedAt time.Time       `json:"started_at"`
	Identity  result.Identity `json:"identity"`
	Options   json.RawMessage `json:"options,omitempty"`
}

// Entry is one of the lines after the first. Index is the question's, counted from 0.
type Entry struct {
	Kind  string `json:"kind"`
	Index int    `json:"index"`
	// Call is a request to the judge: before it was sent, with its worst case, or with its outcome.
	// Of KindSpent it has all requests of a judgement that returned no grade.
	Call *result.JudgeCall `json:"call,omitempty"`
	// Brain is the brain that was seeded.
	Brain string `json:"brain,omitempty"`
	// Own is a question of evalctl's own.
	Own *result.OwnQuestion `json:"own,omitempty"`
	// Embedded is what the daemon has embedded in the run so far.
	Embedded *result.Embeddings `json:"embedded,omitempty"`

	// Questions are, of KindStopped, the questions that ended with one failure that does not depend
	// on them. They may be tried again.
	Questions []int `json:"questions,omitempty"`

	// Record is the last key, so that it can be found in the line without parsing it.
	Record *result.Record `json:"record,omitempty"`
}

// Finishes reports whether the entry is the last one of its question, unless that is tried again.
func (e Entry) Finishes() bool {
	return e.Kind == KindGrade || e.Kind == KindAnswer && e.Record.Outcome == result.Errored
}

// The kinds of lines.
const (
	kindRun    = "run"
	KindAnswer = "answer" // a record that waits for its grade, or an error
	KindGrade  = "grade"  // the same record, graded
	KindSpent  = "spent"
	// KindAttempt is a request to the judge that is about to be sent, KindSettled its outcome.
	// Without one, the request was in flight when the run was killed, and counts with its worst
	// case.
	KindAttempt = "attempt"
	KindSettled = "settled"
	// kindResumed ends the requests of a run that is resumed: those of a later grade come after it.
	kindResumed = "resumed"
	// kindSeeded is written after a brain was seeded, KindStopped after a run that ended early and
	// left no request unanswered.
	kindSeeded  = "seeded"
	kindOwn     = "own_question" // which was asked before the run, or before it was resumed
	KindStopped = "stopped"
	// kindEmbedded is written now and then, and when no question is asked any more.
	kindEmbedded = "embedded"
	// KindReopened begins another try at a finished question. Its record is that of the earlier try
	// if the question is asked again, and the answer without its verdict if only that is judged
	// again.
	KindReopened = "reopened"
	// KindFinished is written after the last question of a run whose journal is kept.
	KindFinished = "finished"
)

// Create creates the journal <dir>/<sdk>.journal. The journal of an earlier run is renamed to
// <sdk>.<HHMMSS>.journal. options is stored for the caller. It is an error if another process owns
// the journal.
func Create(dir string, id result.Identity, started time.Time, options json.RawMessage) (*Journal, error) {
	return CreateNamed(dir, id.SDK, id, started, options)
}

// CreateNamed is Create for the journal <dir>/<name>.journal, whose result file is NewOutput(dir,
// name, started).
func CreateNamed(
	dir, name string, id result.Identity, started time.Time, options json.RawMessage,
) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the result folder: %w", err)
	}
	path := filepath.Join(dir, name+".journal")
	backup, err := backupUnfinished(path)
	if err != nil {
		return nil, err
	}
	j, err := openFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	j.backup = backup
	j.start = startLine{
		Kind: kindRun, Name: name, File: NewOutput(dir, name, started).own,
		StartedAt: started, Identity: id, Options: options,
	}
	j.slots = make([]slot, id.Dataset.Selected)
	line, err := json.Marshal(j.start)
	if err == nil {
		line, j.chain = j.chain.Link(nil, append(line, '\n'))
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

// backupUnfinished renames an unfinished journal, unless its run is still in progress, and returns
// the new name, which is empty if there is none.
func backupUnfinished(path string) (backup string, err error) {
	j, err := openFile(path, os.O_RDWR)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.Is(err, errBusy):
		return "", fmt.Errorf("%w; wait for it, or give another --output", err)
	case err != nil:
		return "", err
	}
	defer j.Close()
	return atomicfile.Backup(path)
}

// Open reads the journal of a run that did not finish. A last line that was cut short is dropped;
// any other damage is an error with file:line, also a line that was changed, removed or moved. It is also an error if another process owns the
// journal.
func Open(path string) (*Journal, error) {
	j, err := openFile(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := j.load(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	j.reopened = true
	return j, nil
}

func openFile(path string, flag int) (*Journal, error) {
	f, err := lockfile.Open(path, flag, errBusy)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return &Journal{path: path, file: f, seeded: map[string]bool{}}, nil
}

// Path returns the path of the journal's file.
func (j *Journal) Path() string { return j.path }

// Identity returns the identity of the journal's run.
func (j *Journal) Identity() result.Identity { return j.start.Identity }

// StartedAt returns when the run began.
func (j *Journal) StartedAt() time.Time { return j.start.StartedAt }

// Options returns the options that were given to Create.
func (j *Journal) Options() json.RawMessage { return j.start.Options }

// Spent returns what the run has spent on judging so far. It includes the worst cases of requests
// whose outcome is not known.
func (j *Journal) Spent() llm.USD { return j.graded.Plus(j.calls.usd()) }

// Unassigned returns the judge's requests that belong to the verdict of no question.
func (j *Journal) Unassigned() []result.JudgeCall { return j.calls.Unassigned() }

// Finished returns the number of questions that a resumed run does not ask again.
func (j *Journal) Finished() int { return j.count(func(s slot) bool { return s.Finished }) }

// Outages returns the number of finished questions that may succeed in another try.
func (j *Journal) Outages() int { return j.count(func(s slot) bool { return s.Outage }) }

// Unjudged returns the number of answers that have no verdict yet.
func (j *Journal) Unjudged() int {
	return j.count(func(s slot) bool { return s.Answered && !s.Finished })
}

// count returns the number of questions for which counted is true.
func (j *Journal) count(counted func(slot) bool) int {
	n := 0
	for _, s := range j.slots {
		if counted(s) {
			n++
		}
	}
	return n
}

// Complete reports whether the run finished: its journal was only kept for questions that may be
// tried again.
func (j *Journal) Complete() bool { return j.complete }

// State returns the state of question i, counted from 0.
func (j *Journal) State(i int) State { return j.slots[i].State }

// Seeded reports whether a brain of the run has all its documents.
func (j *Journal) Seeded(brain string) bool { return j.seeded[brain] }

// MarkSeeded records that a brain has all its documents. It returns when that is on the disk.
func (j *Journal) MarkSeeded(brain string) error {
	if err := j.Append(Entry{Kind: kindSeeded, Brain: brain}); err != nil {
		return err
	}
	return j.Sync()
}

// MarkOwn records a question of evalctl's own.
func (j *Journal) MarkOwn(q result.OwnQuestion) error {
	return j.Append(Entry{Kind: kindOwn, Own: &q})
}

// OwnQuestions returns the questions of evalctl's own, in the order in which they were asked.
func (j *Journal) OwnQuestions() []result.OwnQuestion { return slices.Clone(j.own) }

// Unchained reports whether the lines are not linked, because an older version began the journal. A
// change of such a file is not noticed.
func (j *Journal) Unchained() bool { return j.chain.Plain() }

// Reopened reports whether the run was begun by another process.
func (j *Journal) Reopened() bool { return j.reopened }

// MarkEmbedded records what the daemon has embedded in the run so far.
func (j *Journal) MarkEmbedded(e result.Embeddings) error {
	return j.Append(Entry{Kind: kindEmbedded, Embedded: &e})
}

// Embedded returns what was marked last, nil if nothing was.
func (j *Journal) Embedded() *result.Embeddings {
	if j.embedded == nil {
		return nil
	}
	return new(*j.embedded)
}

// Resume must be called before questions of a run are asked again. It keeps the requests to the
// judge that were made before apart from later ones.
func (j *Journal) Resume() error {
	if len(j.calls.open) == 0 {
		return nil
	}
	return j.Append(Entry{Kind: kindResumed})
}

// Backup returns the new path of the unfinished journal that this one replaced, empty if there was
// none.
func (j *Journal) Backup() string { return j.backup }

// Discard undoes Create: it removes the journal of a run that has asked nothing, and restores the
// one that it replaced.
func (j *Journal) Discard() error {
	if j.backup == "" {
		return j.Remove()
	}
	return errors.Join(os.Rename(j.backup, j.path), j.Close())
}

// Close closes the journal and releases its lock. The file is kept.
func (j *Journal) Close() error {
	return j.file.Close()
}

// Remove closes the journal and deletes its file. It is called after the result has been written.
func (j *Journal) Remove() error {
	return errors.Join(os.Remove(j.path), j.Close())
}
