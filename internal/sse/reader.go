package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxEvent is the default limit of one event, in bytes.
const MaxEvent = 16 << 20

// ErrTooLarge means that an event exceeded the reader's limit.
var ErrTooLarge = errors.New("event too large")

// ErrNoBlankLine means that the stream ended after a line of an event. Then it was probably not
// cut off: the server does not end its last event.
var ErrNoBlankLine = fmt.Errorf("event stream ended inside an event, after a line: %w", io.ErrUnexpectedEOF)

const (
	byteOrderMark = "\xef\xbb\xbf"
	longestField  = len("event")
	readSize      = 4 << 10
)

// linePart is the part of a line that the next byte belongs to.
type linePart int

const (
	inName linePart = iota
	afterColon
	inValue
)

// Reader parses a byte stream into events. It keeps one event at a time, in buffers that it reuses.
// It is not safe for concurrent use.
type Reader struct {
	src   *bufio.Reader
	limit int
	err   error // what every further Next returns

	firstLine bool
	skipLF    bool // the last line ended with CR: an LF here belongs to it
	id        string

	part  linePart
	field []byte // name of the line's field, cut one byte after longestField
	value []byte // value of an id or event line; data goes straight to data

	inEvent bool // a field line was read since the last blank line
	hasData bool
	hasName bool
	name    string
	data    []byte
	size    int // bytes of id, event and data values since the last blank line
}

// NewReader returns a reader of the events in src. An event whose id, event and data values
// together exceed limit bytes ends the stream with ErrTooLarge; 0 means MaxEvent. Comments and
// unknown fields are skipped without being stored or counted.
func NewReader(src io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = MaxEvent
	}
	return &Reader{src: bufio.NewReaderSize(src, readSize), limit: limit, firstLine: true}
}

// Reset makes the reader read another stream with the same limit and buffers. Data that Next
// returned before is no longer valid.
func (r *Reader) Reset(src io.Reader) {
	r.src.Reset(src)
	*r = Reader{
		src: r.src, limit: r.limit, firstLine: true,
		field: r.field[:0], value: r.value[:0], data: r.data[:0],
	}
}

// Next returns the next event that has data. Its Data is valid until the next call. Bytes are
// returned as they arrived: invalid UTF-8 is not replaced.
//
// The end of the stream is io.EOF. If the stream ends inside an event or a line, the error is
// io.ErrUnexpectedEOF, also ErrNoBlankLine, and the incomplete event is dropped. After an error,
// every further call returns the same error.
func (r *Reader) Next() (Event, error) {
	for r.err == nil {
		if _, err := r.src.Peek(1); err != nil {
			r.err = r.endOfStream(err)
			break
		}
		chunk, _ := r.src.Peek(r.src.Buffered())
		n, complete, err := r.consume(chunk)
		if _, derr := r.src.Discard(n); err == nil {
			err = derr
		}
		r.err = err
		if complete {
			return r.dispatch(), nil
		}
	}
	return Event{}, r.err
}

func (r *Reader) endOfStream(err error) error {
	if !errors.Is(err, io.EOF) {
		return fmt.Errorf("read event stream: %w", err)
	}
	switch inLine := r.part != inName || len(r.field) > 0; {
	case inLine:
		return fmt.Errorf("event stream ended inside an event: %w", io.ErrUnexpectedEOF)
	case r.inEvent:
		return ErrNoBlankLine
	}
	return io.EOF
}

// consume reads bytes of chunk up to and including the line end that completes an event, or all of
// them, and returns how many it read.
func (r *Reader) consume(chunk []byte) (n int, complete bool, err error) {
	for n < len(chunk) && !complete && err == nil {
		rest := chunk[n:]
		if r.skipLF {
			r.skipLF = false
			if rest[0] == '\n' {
				n++
				continue
			}
		}
		switch r.part {
		case inName:
			complete, err = r.nameByte(rest[0])
			n++
		case afterColon:
			r.part = inValue
			if rest[0] == ' ' {
				n++
			}
		case inValue:
			end := lineEnd(rest)
			err = r.take(rest[:end])
			n += end
			if err == nil && end < len(rest) {
				r.endLine(rest[end])
				n++
			}
		}
	}
	return n, complete, err
}

// nameByte consumes one byte of a line before its colon. It reports whether the byte ended a blank
// line that completes an event.
func (r *Reader) nameByte(c byte) (complete bool, err error) {
	switch {
	case c == ':':
		r.part = afterColon
		return false, r.beginValue()
	case c != '\n' && c != '\r':
		if len(r.field) <= longestField {
			r.field = append(r.field, c)
		}
		if r.firstLine && string(r.field) == byteOrderMark {
			r.firstLine = false
			r.field = r.field[:0]
		}
		return false, nil
	case len(r.field) > 0: // a field without a colon has an empty value
		err = r.beginValue()
		r.endLine(c)
		return false, err
	}
	r.endLine(c)
	r.inEvent = false
	if !r.hasData {
		r.resetEvent()
	}
	return r.hasData, nil
}

func (r *Reader) beginValue() error {
	r.inEvent = r.inEvent || len(r.field) > 0 // an empty name is a comment
	r.value = r.value[:0]
	if string(r.field) != "data" {
		return nil
	}
	if r.hasData {
		return r.take([]byte{'\n'})
	}
	r.hasData = true
	return nil
}

// take stores a piece of the current line's value.
func (r *Reader) take(piece []byte) error {
	var held *[]byte
	switch string(r.field) {
	case "data":
		held = &r.data
	case "event", "id":
		held = &r.value
	default:
		return nil
	}
	if r.size += len(piece); r.size > r.limit {
		return fmt.Errorf("%w: over the limit of %d bytes", ErrTooLarge, r.limit)
	}
	*held = append(*held, piece...)
	return nil
}

func (r *Reader) endLine(c byte) {
	r.skipLF = c == '\r'
	r.firstLine = false
	switch string(r.field) {
	case "event":
		r.hasName = len(r.value) > 0
		if string(r.value) != r.name { // a repeated name costs no allocation
			r.name = string(r.value)
		}
	case "id":
		if bytes.IndexByte(r.value, 0) < 0 && string(r.value) != r.id {
			r.id = string(r.value)
		}
	}
	r.part = inName
	r.field = r.field[:0]
}

func (r *Reader) dispatch() Event {
	e := Event{ID: r.id, Name: "message", Data: r.data}
	if r.hasName {
		e.Name = r.name
	}
	r.resetEvent()
	return e
}

func (r *Reader) resetEvent() {
	r.hasData, r.hasName = false, false
	r.data = r.data[:0]
	r.size = 0
}

// lineEnd returns the index of the first CR or LF in b, or len(b).
func lineEnd(b []byte) int {
	if i := bytes.IndexAny(b, "\r\n"); i >= 0 {
		return i
	}
	return len(b)
}
