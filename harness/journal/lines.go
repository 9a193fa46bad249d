package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/inputfile"
)

func (j *Journal) load() error {
	r := bufio.NewReaderSize(j.file, 1<<20)
	for n := 1; ; n++ {
		line, err := inputfile.Line(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", j.path, err)
		}
		err = j.accept(n, line)
		if err == nil {
			j.chain, err = j.chain.Check(line)
		}
		if err != nil {
			err = fmt.Errorf("the journal is damaged: %w; start a new run", err)
			if j.start.Kind != kindRun {
				err = errors.New("not a journal: the first line does not begin a run; resume another file or start a new run")
			}
			return &dataset.LineError{File: j.path, Line: n, Err: err}
		}
	}
	if j.start.Kind != kindRun {
		return fmt.Errorf("%s contains no run; start a new run", j.path)
	}
	if err := j.file.Truncate(j.end); err != nil {
		return fmt.Errorf("drop the unfinished last line of %s: %w", j.path, err)
	}
	return j.file.Renew(errBusy)
}

// accept reads line n, counted from 1.
func (j *Journal) accept(n int, line []byte) error {
	if n == 1 {
		return j.acceptStart(line)
	}
	var e Entry
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	if e.Index < 0 || e.Index >= len(j.slots) {
		return errors.New("not a line of this run")
	}
	s, known := j.slots[e.Index], false
	switch e.Kind {
	case KindAnswer:
		known = e.Record != nil && !s.Answered
	case KindGrade:
		known = e.Record != nil && !s.Finished
	case KindAttempt, KindSpent:
		known = e.Record == nil && e.Call != nil
	case KindSettled:
		known = e.Record == nil && e.Call != nil && j.calls.find(e) >= 0
	case KindReopened:
		known = e.Record != nil && s.Finished
	case kindOwn:
		known = e.Record == nil && e.Own != nil
	case kindEmbedded:
		known = e.Record == nil && e.Embedded != nil
	case kindObserved:
		known = e.Record == nil && e.Observed != nil
	case kindSeeded, KindStopped, KindFinished, kindResumed:
		known = e.Record == nil
	}
	outside := func(i int) bool { return i < 0 || i >= len(j.slots) }
	if slices.ContainsFunc(e.Questions, outside) {
		return errors.New("not a line of this run")
	}
	if !known {
		return fmt.Errorf("a line of kind %q has no place here", e.Kind)
	}
	if at, size := recordSpan(line); e.Record != nil && !json.Valid(line[at:at+size]) {
		return errors.New("its keys are not in the order of a journal")
	}
	return j.place(e, line)
}

func (j *Journal) acceptStart(line []byte) error {
	if err := json.Unmarshal(line, &j.start); err != nil {
		return err
	}
	if j.start.Kind != kindRun {
		return errors.New("the first line does not begin a run")
	}
	if v := j.start.Identity.SchemaVersion; v != result.SchemaVersion {
		return fmt.Errorf("it has schema version %d, this evalctl writes %d", v, result.SchemaVersion)
	}
	if ending, ok := strings.CutPrefix(j.start.File, j.start.Name); !ok || !ownEnding.MatchString(ending) {
		return fmt.Errorf("%q is not the name of a result file of %q", j.start.File, j.start.Name)
	}
	n := j.start.Identity.Dataset.Selected
	if n < 1 || n > dataset.MaxQuestions {
		return fmt.Errorf("the run has %d questions", n)
	}
	j.slots = make([]slot, n)
	j.end = int64(len(line))
	return nil
}

// recordSpan returns the position of the record in a line. Only a brace and the line feed follow
// it.
func recordSpan(line []byte) (at, size int) {
	const key = `"record":`
	if at = bytes.Index(line, []byte(key)); at < 0 {
		return 0, 0
	}
	at += len(key)
	return at, len(line) - at - len("}\n")
}

// place applies a line at the journal's end to the run's state.
func (j *Journal) place(e Entry, line []byte) error {
	s := &j.slots[e.Index]
	if e.Record != nil && s.Finished {
		was, err := j.Record(e.Index)
		if err != nil {
			return err
		}
		j.graded -= min(j.graded, was.JudgeUSD)
		j.calls.replaced(&was)
	}
	if e.Record != nil {
		at, size := recordSpan(line)
		s.at, s.size = j.end+int64(at), int32(size)
		s.Reopened = e.Kind == KindReopened && e.Record.Outcome != result.Unscored
		s.Answered = !s.Reopened
		s.Finished = e.Kind == KindGrade || e.Kind == KindAnswer && e.Record.Outcome == result.Errored
		s.Outage = s.Finished && e.Record.Outage()
		j.graded = j.graded.Plus(e.Record.JudgeUSD)
	}
	for _, i := range e.Questions {
		j.slots[i].Outage = j.slots[i].Finished
	}
	j.complete = e.Kind == KindFinished
	switch e.Kind {
	case kindSeeded:
		j.seeded[e.Brain] = true
	case kindOwn:
		j.own = append(j.own, *e.Own)
	case kindEmbedded:
		j.embedded = e.Embedded
	case kindObserved:
		j.observed = *e.Observed
	}
	j.calls.Add(e)
	j.end += int64(len(line))
	return nil
}

// maxBuffer limits the size of a line buffer that is kept.
const maxBuffer = 1 << 20

// Append appends lines in one write. Once it returns they survive the end of the process, and once
// Sync returns a crash of the machine. An answer whose grade is among the entries gets no line of
// its own.
func (j *Journal) Append(entries ...Entry) error {
	graded := func(e Entry) bool {
		return e.Kind == KindAnswer && slices.ContainsFunc(entries, func(g Entry) bool { return g.Kind == KindGrade && g.Index == e.Index })
	}
	j.linked = j.linked[:0]
	next := j.chain
	enc := json.NewEncoder(&j.buf)
	kept := make([]Entry, 0, len(entries))
	ends := make([]int, 0, len(entries))
	for _, e := range entries {
		if graded(e) {
			continue
		}
		j.buf.Reset()
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("encode journal line: %w", err)
		}
		j.linked, next = next.Link(j.linked, j.buf.Bytes())
		kept, ends = append(kept, e), append(ends, len(j.linked))
	}
	all := j.linked
	if err := j.write(all); err != nil {
		return err
	}
	j.chain = next
	start := 0
	for i, e := range kept {
		if err := j.place(e, all[start:ends[i]]); err != nil {
			return err
		}
		start = ends[i]
	}
	if j.buf.Cap() > maxBuffer {
		j.buf = bytes.Buffer{}
	}
	return nil
}

// write writes lines at the journal's end without advancing the end. It removes a partial write,
// for example on a full disk, because a later, shorter line would not cover it.
func (j *Journal) write(lines []byte) error {
	if _, err := j.file.WriteAt(lines, j.end); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", j.path, err), j.file.Truncate(j.end))
	}
	return nil
}

// Sync flushes all lines to disk.
func (j *Journal) Sync() error {
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", j.path, err)
	}
	return nil
}

// raw reads the JSON record of question i, which must be answered, from the journal's file or a
// reader of it. It reuses buf if large enough.
func (j *Journal) raw(src io.ReaderAt, i int, buf []byte) ([]byte, error) {
	size := int(j.slots[i].size)
	buf = slices.Grow(buf[:0], size)[:size]
	if _, err := src.ReadAt(buf, j.slots[i].at); err != nil {
		return nil, fmt.Errorf("read %s: %w", j.path, err)
	}
	return buf, nil
}

// Record reads the last record of question i, from 0, which must be answered.
func (j *Journal) Record(i int) (r result.Record, err error) {
	data, err := j.raw(j.file, i, nil)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("read %s at byte %d: %w", j.path, j.slots[i].at, err)
	}
	return r, nil
}
