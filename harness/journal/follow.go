package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/inputfile"
)

// Follower reads the progress of a run from its journal while another process writes it. It opens
// the file read-only and takes no lock, so it never disturbs the run. It is not safe for concurrent
// use.
type Follower struct {
	path  string
	info  os.FileInfo // of the file that was read
	at    int64       // the offset read so far
	state Progress
	slots []questionState
}

// questionState is the state of a question.
type questionState struct {
	answered, finished bool
	outcome            result.Outcome // if it is finished
	passed             bool
}

// Progress is the progress of a run.
type Progress struct {
	Identity  result.Identity
	StartedAt time.Time
	// Planned is the number of questions, and Answered how many have an answer or an error. Counts
	// are the outcomes of finished questions.
	Planned  int
	Answered int
	Counts   result.Counts
	// Seeded is the number of brains with all their documents.
	Seeded int
	// Stopped is set if the run ended early, or finished with questions that may be retried, and
	// has not been resumed.
	Stopped bool
	// Failed are the most recent questions that did not pass, at most LastFailed, newest first.
	// Only ID, Outcome, Reason and Error are set.
	Failed []result.Record
	// ChangedAt is the time of the last line.
	ChangedAt time.Time
}

// LastFailed is the maximum length of Progress.Failed.
const LastFailed = 20

// NewFollower follows the journal at path.
func NewFollower(path string) *Follower { return &Follower{path: path} }

// followedLine has the parts of a line that are decoded. The rest of a record may be large.
type followedLine struct {
	Kind   string `json:"kind"`
	Index  int    `json:"index"`
	Record *struct {
		ID      string          `json:"id"`
		Passed  bool            `json:"passed"`
		Outcome result.Outcome  `json:"outcome"`
		Reason  string          `json:"reason"`
		Error   *result.Failure `json:"error"`
	} `json:"record"`
}

// Read reads the lines added since the last call. An incomplete last line is left for the next
// call. The error names the file and the offset of a bad line; it is fs.ErrNotExist once the run
// has finished and its journal was removed.
func (f *Follower) Read() (Progress, error) {
	file, err := inputfile.Open(f.path, inputfile.Streamed)
	if err != nil {
		return Progress{}, fmt.Errorf("open journal: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Progress{}, fmt.Errorf("read %s: %w", f.path, err)
	}
	if f.info == nil || !os.SameFile(f.info, info) || info.Size() < f.at {
		f.at, f.state, f.slots = 0, Progress{}, nil // another run
	}
	f.info, f.state.ChangedAt = info, info.ModTime()
	r := bufio.NewReaderSize(io.NewSectionReader(file, f.at, info.Size()-f.at), 1<<20)
	for {
		line, err := inputfile.Line(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = f.accept(line)
		}
		if err != nil {
			return Progress{}, fmt.Errorf("read %s at byte %d: %w", f.path, f.at, err)
		}
		f.at += int64(len(line))
	}
	if f.slots == nil {
		return Progress{}, fmt.Errorf("read %s: it contains no run yet", f.path)
	}
	return f.state, nil
}

// accept applies a line to the state.
func (f *Follower) accept(line []byte) error {
	if f.slots == nil {
		return f.acceptStart(line)
	}
	var l followedLine
	if err := json.Unmarshal(line, &l); err != nil {
		return err
	}
	if l.Index < 0 || l.Index >= len(f.slots) {
		return errors.New("not a line of this run")
	}
	s := &f.slots[l.Index]
	if l.Kind != kindObserved { // which may follow the end
		f.state.Stopped = l.Kind == KindStopped || l.Kind == KindFinished
	}
	switch {
	case l.Kind == kindSeeded:
		f.state.Seeded++
	case l.Record == nil:
		return nil
	case l.Kind == KindReopened:
		f.reopen(s, l.Record.ID, l.Record.Outcome)
		return nil
	case !s.answered:
		s.answered = true
		f.state.Answered++
	}
	if l.Record == nil || s.finished || l.Kind != KindGrade && l.Record.Outcome != result.Errored {
		return nil
	}
	s.finished, s.outcome, s.passed = true, l.Record.Outcome, l.Record.Passed
	rec := result.Record{ID: l.Record.ID, Passed: l.Record.Passed, Outcome: l.Record.Outcome, Reason: l.Record.Reason, Error: l.Record.Error}
	f.state.Counts.Add(rec)
	if !rec.Passed && rec.Outcome.Counts() {
		f.state.Failed = append([]result.Record{rec}, f.state.Failed[:min(len(f.state.Failed), LastFailed-1)]...)
	}
	return nil
}

// reopen undoes the outcome of a question that is retried. outcome, from the line, says whether it
// already has an answer.
func (f *Follower) reopen(s *questionState, id string, outcome result.Outcome) {
	if !s.finished {
		return
	}
	f.state.Counts.Remove(result.Record{Outcome: s.outcome, Passed: s.passed})
	f.state.Failed = slices.DeleteFunc(slices.Clone(f.state.Failed), func(r result.Record) bool { return r.ID == id })
	if *s = (questionState{answered: outcome == result.Unscored}); !s.answered {
		f.state.Answered--
	}
}

// acceptStart reads the first line.
func (f *Follower) acceptStart(line []byte) error {
	var start startLine
	if err := json.Unmarshal(line, &start); err != nil || start.Kind != kindRun {
		return errors.New("it is not the journal of a run")
	}
	n := start.Identity.Dataset.Selected
	if n < 1 || n > dataset.MaxQuestions {
		return fmt.Errorf("the run has %d questions", n)
	}
	f.slots = make([]questionState, n)
	f.state.Identity, f.state.StartedAt, f.state.Planned = start.Identity, start.StartedAt, n
	return nil
}
