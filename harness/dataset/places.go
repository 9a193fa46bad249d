package dataset

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"

	"evalctl/internal/inputfile"
)

// place is the location of a question in its file.
type place struct {
	at         int64
	size, line int32
	digest     uint64 // of the line's text
}

// placeReader reads the lines of questions. Consecutive lines are read together.
type placeReader struct {
	d    *Dataset
	file io.ReaderAt
	held []byte
	from int64 // the offset of held
}

// readAhead is how much is read at once.
const readAhead = 64 << 10

// text returns a line's text, valid until the next call.
func (r *placeReader) text(p place) ([]byte, error) {
	begin, end := p.at-r.from, p.at-r.from+int64(p.size)
	if begin < 0 || end > int64(len(r.held)) {
		size := int(p.size)
		if !r.d.shuffled {
			size = max(size, readAhead)
		}
		if cap(r.held) < size {
			r.held = make([]byte, size)
		}
		n, err := r.file.ReadAt(r.held[:size], p.at)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read %s: %w", r.d.Path, err)
		}
		r.held, r.from = r.held[:n], p.at
		begin, end = 0, min(int64(n), int64(p.size))
	}
	text := r.held[begin:end]
	if len(text) != int(p.size) || maphash.Bytes(digestSeed, text) != p.digest {
		return nil, &LineError{File: r.d.Path, Line: int(p.line), Err: errors.New(
			"the dataset changed during the run; restore it and resume, or start a new run")}
	}
	return text, nil
}

// fromFile reads the selected questions again from the file.
func (d *Dataset) fromFile() iter.Seq2[Question, error] {
	return func(yield func(Question, error) bool) {
		f, err := inputfile.Open(d.Path, inputfile.Streamed)
		if err != nil {
			yield(Question{}, fmt.Errorf("open dataset: %w", err))
			return
		}
		defer f.Close()
		r := placeReader{d: d, file: f}
		names := questionKeys()
		for _, p := range d.places {
			var q Question
			text, err := r.text(p)
			if err == nil {
				q, err = parseQuestion(text, names)
				q.Line = int(p.line)
			}
			if err == nil {
				q.Brain, _, err = d.naming.of(q)
			}
			if !yield(q, err) || err != nil {
				return
			}
		}
	}
}
