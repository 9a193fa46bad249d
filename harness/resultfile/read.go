package resultfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"evalctl/harness/result"
	"evalctl/internal/inputfile"
	"evalctl/internal/jsonstream"
)

// Reader reads a result file one question at a time. It is safe for concurrent use, except Close.
type Reader struct {
	path      string
	file      io.ReaderAt
	res       result.Result
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

// ReadAll reads a file with all questions into memory.
func ReadAll(path string) (res result.Result, questions []result.Record, err error) {
	r, err := Open(path)
	if err != nil {
		return res, nil, err
	}
	defer r.Close()
	for rec, err := range r.Questions() {
		if err != nil {
			return res, nil, err
		}
		questions = append(questions, rec)
	}
	return r.Result(), questions, nil
}

// Result returns the result. All callers share its maps and pointers.
func (r *Reader) Result() result.Result { return r.res }

// Members returns all keys of the file as they are spelled in it, with their raw values. The list
// of questions is empty.
func (r *Reader) Members() map[string]json.RawMessage {
	members := map[string]json.RawMessage{}
	for _, m := range r.head {
		members[m.name] = m.text
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
	return inputfile.DigestOf(r.path, io.NewSectionReader(r.file, 0, 1<<62))
}

// Close closes the file.
func (r *Reader) Close() error { return r.close() }

// Questions reads the questions in file order, always from the first. It needs memory for one
// question and for all ids. An error ends the sequence and comes with a zero Record; it names the
// file, the question's number from 1 and its offset. Questions without an id, with a repeated id
// and repeat, with an unexpected repeat, and with an unknown outcome or score are errors. So are
// questions that disagree with the counts.
func (r *Reader) Questions() iter.Seq2[result.Record, error] {
	return func(yield func(result.Record, error) bool) {
		numbers := make(map[result.AskedID]int, min(r.count, 1<<20))
		stream := jsonstream.New(io.NewSectionReader(r.file, r.questions, 1<<62), r.questions)
		number := 0
		var counts result.Counts
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
			yield(result.Record{}, fmt.Errorf("read %s: %w", r.path, err))
		}
	}
}

// errStopped means that the caller wants no more questions.
var errStopped = errors.New("stopped")

func (r *Reader) nextQuestion(
	stream *jsonstream.Reader, number int, numbers map[result.AskedID]int,
) (rec result.Record, err error) {
	at := stream.Offset()
	text, err := stream.Value()
	if err != nil {
		return result.Record{}, err
	}
	err = jsonstream.Decode(text, at, &rec)
	if err == nil && rec.ID == "" {
		err = jsonstream.At(at, errors.New("it has no id"))
	}
	key := rec.Asked()
	if err == nil && numbers[key] > 0 {
		err = jsonstream.At(at, fmt.Errorf("duplicate id %q, first used by question %d", rec.ID, numbers[key]))
	}
	if err == nil {
		if wrong := checkRepeat(&rec, r.res.Identity.Dataset.Repeats); wrong != nil {
			err = jsonstream.At(at, wrong)
		}
	}
	if err == nil {
		if wrong := checkRecord(&rec); wrong != nil {
			err = jsonstream.At(at, wrong)
		}
	}
	if err != nil {
		return result.Record{}, fmt.Errorf("question %d: %w", number, err)
	}
	numbers[key] = number
	return rec, nil
}
