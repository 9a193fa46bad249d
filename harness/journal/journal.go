package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
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
// are not safe for concurrent use, with two exceptions: Sync may run while entries are appended,
// and State and Record of one question while entries of other questions are appended.
type Journal struct {
	path string
	file *lockfile.File
	end  int64
	// chain links the lines up to end.
	chain chain.Chain
	// graded is the judging cost in the records, and calls the cost outside them.
	graded llm.USD
	calls  Calls
	start  startLine
	slots  []slot

	buf    bytes.Buffer    // of Append, kept for the next call
	linked []byte          // the same
	seeded map[string]bool // by brain
	own    []result.OwnQuestion
	// embedded is nil if no line has it.
	embedded *result.Embeddings
	observed result.Observations

	backup string
	// reopened is set if another process created it.
	reopened bool
	// complete is set if the last line says that the run finished.
	complete bool
}

// slot is the location of a question's last record in the file.
type slot struct {
	at   int64
	size int32
	State
}

// State is the state of a question. Answered means that it has an answer or an error, and Finished
// that it needs nothing more. Reopened means that it has a record of an earlier try and must be
// asked again. Outage means that it is finished and a retry may succeed: see result.Record.Outage,
// or the run was stopped because of its failure.
type State struct{ Answered, Finished, Reopened, Outage bool }

type startLine struct {
	Kind string `json:"kind"`
	// Name is the result file's name, and File its permanent name. See Output.
	Name      string          `json:"name"`
	File      string          `json:"file"`
	StartedAt time.Time       `json:"started_at"`
	Identity  result.Identity `json:"identity"`
	Options   json.RawMessage `json:"options,omitempty"`
}

// Entry is a line after the first. Index is the question's index from 0.
type Entry struct {
	Kind  string `json:"kind"`
	Index int    `json:"index"`
	// Call is a request to the judge, with its worst case before it is sent, or with its outcome.
	// For KindSpent it has all requests of a judgement without a grade.
	Call *result.JudgeCall `json:"call,omitempty"`
	// Brain is the seeded brain.
	Brain string `json:"brain,omitempty"`
	// Own is one of evalctl's own questions.
	Own *result.OwnQuestion `json:"own,omitempty"`
	// Embedded are the daemon's embeddings in the run so far.
	Embedded *result.Embeddings `json:"embedded,omitempty"`
	// Observed is what the run has observed of its target so far.
	Observed *result.Observations `json:"observed,omitempty"`

	// Questions are, for KindStopped, the questions that ended with a failure they did not cause.
	// They may be retried.
	Questions []int `json:"questions,omitempty"`

	// Record must be the last key, so that it can be found in the line without parsing.
	Record *result.Record `json:"record,omitempty"`
}

// Finishes reports whether the entry is the last one of its question, unless the question is
// retried.
func (e Entry) Finishes() bool {
	return e.Kind == KindGrade || e.Kind == KindAnswer && e.Record.Outcome == result.Errored
}

// The kinds of lines.
const (
	kindRun    = "run"
	KindAnswer = "answer" // a record that waits for its grade, or an error
	KindGrade  = "grade"  // the same record, graded
	KindSpent  = "spent"
	// KindAttempt announces a request to the judge, and KindSettled has its outcome. Without an
	// outcome, the request was in flight when the run was killed, and counts with its worst case.
	KindAttempt = "attempt"
	KindSettled = "settled"
	// kindResumed begins a resumed part of a run, and separates its requests from earlier ones.
	kindResumed = "resumed"
	// kindSeeded follows the seeding of a brain. KindStopped follows a run that ended early with no
	// request unanswered.
	kindSeeded  = "seeded"
	kindOwn     = "own_question" // which was asked before the run, or before it was resumed
	KindStopped = "stopped"
	// kindEmbedded is written from time to time and after the last question.
	kindEmbedded = "embedded"
	kindObserved = "observed" // before the first question of a process, and at its end
	// KindReopened begins a retry of a finished question. Its record is the earlier try's if the
	// question is asked again, or the answer without its verdict if it is only judged again.
	KindReopened = "reopened"
	// KindFinished follows the last question of a run whose journal is kept.
	KindFinished = "finished"
)

// Create creates the journal <dir>/<sdk>.journal. An earlier run's journal is renamed to
// <sdk>.<HHMMSS>.journal. options is stored for the caller. It is an error if another process owns
// the journal.
func Create(dir string, id result.Identity, started time.Time, options json.RawMessage) (*Journal, error) {
	return CreateNamed(dir, id.SDK, id, started, options)
}

// CreateNamed is Create for the journal <dir>/<name>.journal with the result file NewOutput(dir,
// name, started).
func CreateNamed(
	dir, name string, id result.Identity, started time.Time, options json.RawMessage,
) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the result folder: %w", err)
	}
	path := filepath.Join(dir, name+".journal")
	j, err := openNew(path)
	if err != nil {
		return nil, err
	}
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

// openNew opens an empty journal. An unfinished one is renamed, which backup then names. One without
// a whole line, whose run was killed before it began, is used again. It fails if another run is in
// progress.
func openNew(path string) (*Journal, error) {
	j, err := openFile(path, os.O_RDWR)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return openFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	case errors.Is(err, errBusy):
		return nil, fmt.Errorf("%w; wait for it, or give another --output", err)
	case err != nil:
		return nil, err
	}
	_, err = bufio.NewReader(io.NewSectionReader(j.file, 0, math.MaxInt64)).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		if err := j.file.Truncate(0); err != nil {
			return nil, errors.Join(err, j.Close())
		}
		return j, nil
	}
	defer j.Close()
	backup, err := atomicfile.Backup(path)
	if err != nil {
		return nil, err
	}
	next, err := openFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err == nil {
		next.backup = backup
	}
	return next, err
}

// Open reads the journal of an unfinished run. An incomplete last line is dropped; any other damage
// is an error with file:line, including lines that were changed, removed or moved. It is an error
// if another process owns the journal.
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

// Path returns the journal's path.
func (j *Journal) Path() string { return j.path }

// Identity returns the run's identity.
func (j *Journal) Identity() result.Identity { return j.start.Identity }

// StartedAt returns the start of the run.
func (j *Journal) StartedAt() time.Time { return j.start.StartedAt }

// Options returns the options passed to Create.
func (j *Journal) Options() json.RawMessage { return j.start.Options }

// Spent returns the run's judging cost so far, with the worst case for requests of unknown outcome.
func (j *Journal) Spent() llm.USD { return j.graded.Plus(j.calls.usd()) }

// Unassigned returns the judge's requests that belong to no question's verdict.
func (j *Journal) Unassigned() []result.JudgeCall { return j.calls.Unassigned() }

// Finished returns the number of questions that a resumed run does not ask again.
func (j *Journal) Finished() int { return j.count(func(s slot) bool { return s.Finished }) }

// Outages returns the number of finished questions whose retry may succeed.
func (j *Journal) Outages() int { return j.count(func(s slot) bool { return s.Outage }) }

// Unjudged returns the number of answers without a verdict.
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

// Complete reports whether the run finished, so that its journal is kept only for questions that
// may be retried.
func (j *Journal) Complete() bool { return j.complete }

// State returns the state of question i, from 0.
func (j *Journal) State(i int) State { return j.slots[i].State }

// Seeded reports whether a brain of the run has all its documents.
func (j *Journal) Seeded(brain string) bool { return j.seeded[brain] }

// MarkSeeded records that a brain has all its documents, and syncs the journal.
func (j *Journal) MarkSeeded(brain string) error {
	if err := j.Append(Entry{Kind: kindSeeded, Brain: brain}); err != nil {
		return err
	}
	return j.Sync()
}

// MarkOwn records one of evalctl's own questions.
func (j *Journal) MarkOwn(q result.OwnQuestion) error {
	return j.Append(Entry{Kind: kindOwn, Own: &q})
}

// OwnQuestions returns evalctl's own questions in order.
func (j *Journal) OwnQuestions() []result.OwnQuestion { return slices.Clone(j.own) }

// Unchained reports whether the lines are not linked, because an older version created the journal.
// Changes to such a file go unnoticed.
func (j *Journal) Unchained() bool { return j.chain.Plain() }

// Reopened reports whether another process began the run.
func (j *Journal) Reopened() bool { return j.reopened }

// MarkEmbedded records the daemon's embeddings in the run so far.
func (j *Journal) MarkEmbedded(e result.Embeddings) error {
	return j.Append(Entry{Kind: kindEmbedded, Embedded: &e})
}

// Embedded returns the last marked embeddings, nil if there are none.
func (j *Journal) Embedded() *result.Embeddings {
	if j.embedded == nil {
		return nil
	}
	return new(*j.embedded)
}

// MarkObserved records what the run has observed of its target so far, in all its parts.
func (j *Journal) MarkObserved(o result.Observations) error {
	return j.Append(Entry{Kind: kindObserved, Observed: &o})
}

// Observed returns the last marked observations.
func (j *Journal) Observed() result.Observations { return j.observed }

// Resume must be called before a resumed run asks questions. It separates earlier requests to the
// judge from later ones, and a Follower sees that the run goes on.
func (j *Journal) Resume() error {
	if len(j.calls.open) == 0 && !j.reopened {
		return nil
	}
	return j.Append(Entry{Kind: kindResumed})
}

// Backup returns the new path of the unfinished journal that this one replaced, empty if there was
// none.
func (j *Journal) Backup() string { return j.backup }

// Discard undoes Create: it removes the journal of a run that has asked nothing, and restores the
// one it replaced.
func (j *Journal) Discard() error {
	if j.backup == "" {
		return j.Remove()
	}
	return errors.Join(os.Rename(j.backup, j.path), j.Close())
}

// Close closes the journal and releases its lock, but keeps the file.
func (j *Journal) Close() error {
	return j.file.Close()
}

// Remove closes the journal and deletes its file. Call it after writing the result.
func (j *Journal) Remove() error {
	return errors.Join(os.Remove(j.path), j.Close())
}
