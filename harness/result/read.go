package result

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"evalctl/internal/inputfile"
	"evalctl/internal/jsonstream"
)

// Reader reads a result file one question at a time. It is safe for concurrent use, except Close.
type Reader struct {
	path      string
	file      io.ReaderAt
	res       Result
	questions int64 // the offset of the list
	count     int   // of its elements
	head      head
	close     func() error
}

// Open reads a result file except its questions, with keys in any order, and counts the questions.
// Unknown keys are ignored, so that keys may be added without a new schema version.
//
// The error names the file, and the offset of the problem. Open rejects incomplete files, other
// schema versions, and files whose counts disagree with each other, with the gate, or with the
// number of questions: a finished run has all planned questions.
func Open(path string) (*Reader, error) {
	r, err := OpenUnchecked(path)
	if err != nil {
		return nil, err
	}
	if err := r.checkCounts(); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), r.Close())
	}
	return r, nil
}

// OpenUnchecked is like Open without comparing the figures, for a caller that does so itself.
func OpenUnchecked(path string) (*Reader, error) {
	f, err := inputfile.Open(path, inputfile.Streamed)
	if errors.Is(err, inputfile.ErrFolder) {
		return nil, fmt.Errorf("%s is a folder: name the result files in it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open result: %w", err)
	}
	r := &Reader{path: path, file: f, close: f.Close}
	if err := r.readHead(); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), f.Close())
	}
	return r, nil
}

// Result returns the result. All callers share its maps and pointers.
func (r *Reader) Result() Result { return r.res }

// Members returns the keys of the file except the questions, with their raw values.
func (r *Reader) Members() map[string]json.RawMessage {
	members := map[string]json.RawMessage{}
	for _, m := range r.head {
		members[m.key] = m.text
	}
	return members
}

// RawQuestions reads the texts of the questions in file order. A text is valid until the next one
// is read, and may be invalid JSON. An error ends the sequence and comes without text.
func (r *Reader) RawQuestions() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		stream := jsonstream.New(io.NewSectionReader(r.file, r.questions, 1<<62), r.questions)
		err := stream.Elements(func() error {
			text, err := stream.Value()
			if err == nil && !yield(text, nil) {
				err = errStopped
			}
			return err
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, fmt.Errorf("read %s: %w", r.path, err))
		}
	}
}

// SHA256 returns the SHA-256 of the whole file, in hexadecimal.
func (r *Reader) SHA256() (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(r.file, 0, 1<<62)); err != nil {
		return "", fmt.Errorf("read %s: %w", r.path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.close() }

// Questions reads the questions in file order, always from the first. It needs memory for one
// question and for all ids. An error ends the sequence and comes with a zero Record; it names the
// file, the question's number from 1 and its offset. Questions without an id, with a repeated id
// and repeat, with an unexpected repeat, and with an unknown outcome or score are errors. So are
// questions that disagree with the counts.
func (r *Reader) Questions() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		numbers := make(map[askedKey]int, min(r.count, 1<<20))
		stream := jsonstream.New(io.NewSectionReader(r.file, r.questions, 1<<62), r.questions)
		number := 0
		var counts Counts
		err := stream.Elements(func() error {
			number++
			rec, err := r.nextQuestion(stream, number, numbers)
			counts.Add(rec)
			if err == nil && !yield(rec, nil) {
				err = errStopped
			}
			return err
		})
		if err == nil && number != r.count {
			err = fmt.Errorf("it has changed while it was read: %d questions were %d", number, r.count)
		}
		if err == nil && r.res.Stopped == "" && counts != r.res.Counts {
			err = fmt.Errorf("its questions count as %+v, and its counts are %+v", counts, r.res.Counts)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(Record{}, fmt.Errorf("read %s: %w", r.path, err))
		}
	}
}

// check rejects a record that no run writes.
func (r *Record) check() error {
	switch {
	case !slices.Contains([]Outcome{Scored, Errored, Unscored, NoGold, NotMeasurable, Unjudged}, r.Outcome):
		return fmt.Errorf("unknown outcome %q", r.Outcome)
	case (r.Outcome == Scored) != (r.Score != nil):
		return fmt.Errorf("outcome %s and score %s", r.Outcome, rate(r.Score))
	case r.Score != nil && !(*r.Score >= 0 && *r.Score <= 1):
		return fmt.Errorf("score %v is not between 0 and 1", *r.Score)
	case r.Passed && r.Outcome != Scored:
		return fmt.Errorf("outcome %s has passed", r.Outcome)
	}
	return nil
}

// checkRepeat rejects a repeat that does not occur in a run with so many repeats.
func (r *Record) checkRepeat(repeats int) error {
	switch {
	case repeats <= 1 && r.Repeat != 0:
		return fmt.Errorf("id %q has repeat %d in a run without repeats", r.ID, r.Repeat)
	case repeats > 1 && (r.Repeat < 1 || r.Repeat > repeats):
		return fmt.Errorf("id %q has repeat %d in a run of %d repeats", r.ID, r.Repeat, repeats)
	}
	return nil
}

// errStopped means that the caller wants no more questions.
var errStopped = errors.New("stopped")

// askedKey identifies a question of a result.
type askedKey struct {
	id     string
	repeat int
}

func (r *Reader) nextQuestion(
	stream *jsonstream.Reader, number int, numbers map[askedKey]int,
) (rec Record, err error) {
	at := stream.Offset()
	text, err := stream.Value()
	if err != nil {
		return Record{}, err
	}
	err = jsonstream.Decode(text, at, &rec)
	if err == nil && rec.ID == "" {
		err = jsonstream.At(at, errors.New("it has no id"))
	}
	key := askedKey{rec.ID, rec.Repeat}
	if err == nil && numbers[key] > 0 {
		err = jsonstream.At(at, fmt.Errorf("duplicate id %q, first used by question %d", rec.ID, numbers[key]))
	}
	if err == nil {
		if wrong := rec.checkRepeat(r.res.Identity.Dataset.Repeats); wrong != nil {
			err = jsonstream.At(at, wrong)
		}
	}
	if err == nil {
		if wrong := rec.check(); wrong != nil {
			err = jsonstream.At(at, wrong)
		}
	}
	if err != nil {
		return Record{}, fmt.Errorf("question %d: %w", number, err)
	}
	numbers[key] = number
	return rec, nil
}
