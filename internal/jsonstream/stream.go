// Package jsonstream splits a JSON text that is too large for memory into its values. It only
// balances brackets and quotes. Whether a value is valid JSON is left to its decoder, so that each
// byte is decoded once. Unlike the tokens of encoding/json, a value is read whole or skipped, and
// every error has its place.
package jsonstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// bufferSize is the size of one read of the source.
const bufferSize = 256 << 10

// Reader reads the values of a JSON text in their order. Its errors begin with an offset, as in At.
// After an error it must not be used. It is not safe for concurrent use.
type Reader struct {
	src  io.Reader
	buf  []byte
	next int    // the first unread byte of buf
	base int64  // the offset of buf[0]
	text []byte // the last value that was kept
	// keys has decoded keys by their spelling: an array of objects repeats a few of them.
	keys map[string]string
}

// New returns a Reader of src, whose first byte is at this offset of a file. The Reader's offsets
// count from the beginning of the file.
func New(src io.Reader, offset int64) *Reader {
	return &Reader{src: src, buf: make([]byte, 0, bufferSize), base: offset, keys: map[string]string{}}
}

// Offset returns the offset of the next unread byte.
func (r *Reader) Offset() int64 { return r.base + int64(r.next) }

// Peek skips space and returns the byte after it, which stays unread: the first byte of a value.
func (r *Reader) Peek() (byte, error) {
	for {
		if err := r.fill(); err != nil {
			return 0, r.end(err)
		}
		switch c := r.buf[r.next]; c {
		case ' ', '\t', '\n', '\r':
			r.next++
		default:
			return c, nil
		}
	}
}

// Members calls each with the decoded keys of an object, including repeated ones. Before each
// returns nil, it must read the value with another method of r. An error of each ends the reading
// and is returned.
func (r *Reader) Members(each func(key string) error) error {
	ended, err := r.begin('{', '}')
	for err == nil && !ended {
		var key string
		if key, err = r.key(); err == nil {
			err = each(key)
		}
		if err == nil {
			ended, err = r.separator('}')
		}
	}
	return err
}

// Elements calls each at the first byte of every value of a list. Before each returns nil, it must
// read the value with another method of r. An error of each ends the reading and is returned.
func (r *Reader) Elements(each func() error) error {
	ended, err := r.begin('[', ']')
	for err == nil && !ended {
		if _, err = r.Peek(); err == nil {
			err = each()
		}
		if err == nil {
			ended, err = r.separator(']')
		}
	}
	return err
}

// Value skips space and returns the value after it, which may be invalid JSON. The bytes are valid
// until the next call of a method of r.
func (r *Reader) Value() ([]byte, error) {
	if err := r.read(true); err != nil {
		return nil, err
	}
	return r.text, nil
}

// Skip skips space and the value after it.
func (r *Reader) Skip() error { return r.read(false) }

// End returns an error unless nothing but space follows.
func (r *Reader) End() error {
	c, err := r.Peek()
	switch {
	case err == nil:
		return r.errorf("%q after the end of the JSON object; the file must contain nothing else", c)
	case errors.Is(err, ErrTruncated):
		return nil
	}
	return err
}

// ErrTruncated is wrapped by the error for a text that ends too early.
var ErrTruncated = errors.New("the file ends before its JSON does; it was cut off: copy it again")

// fill makes sure that there is unread input. The error is io.EOF at the end.
func (r *Reader) fill() error {
	for r.next == len(r.buf) {
		r.base += int64(len(r.buf))
		n, err := r.src.Read(r.buf[:cap(r.buf)])
		r.buf, r.next = r.buf[:n], 0
		if n == 0 && err != nil {
			return err
		}
	}
	return nil
}

// end returns the error for a text that cannot be read any further.
func (r *Reader) end(err error) error {
	if errors.Is(err, io.EOF) {
		err = ErrTruncated
	}
	return At(r.Offset(), err)
}

func (r *Reader) errorf(format string, args ...any) error {
	return At(r.Offset(), fmt.Errorf(format, args...))
}

// expect skips space and reads c.
func (r *Reader) expect(c byte) error {
	got, err := r.Peek()
	if err == nil && got != c {
		err = r.errorf("%q where %q should be", got, c)
	}
	if err == nil {
		r.next++
	}
	return err
}

// begin reads the bracket with which a list or an object begins, and the last one if it is empty.
func (r *Reader) begin(first, last byte) (empty bool, err error) {
	if err := r.expect(first); err != nil {
		return false, err
	}
	c, err := r.Peek()
	if err == nil && c == last {
		r.next++
	}
	return c == last, err
}

// separator reads the byte after a value in a list or an object: a comma, or last, which ends it.
func (r *Reader) separator(last byte) (ended bool, err error) {
	c, err := r.Peek()
	if err == nil && c != ',' && c != last {
		err = r.errorf("%q where ',' or %q should be", c, last)
	}
	if err == nil {
		r.next++
	}
	return c == last, err
}

// key reads a key and the colon after it.
func (r *Reader) key() (key string, err error) {
	c, err := r.Peek()
	if err == nil && c != '"' {
		err = r.errorf("%q where a key should be", c)
	}
	if err == nil {
		err = r.read(true)
	}
	if err == nil {
		err = r.expect(':')
	}
	if err != nil {
		return "", err
	}
	if key, known := r.keys[string(r.text)]; known {
		return key, nil
	}
	return r.decodeKey()
}

// decodeKey decodes and remembers the key in r.text.
func (r *Reader) decodeKey() (string, error) {
	var key string
	if err := json.Unmarshal(r.text, &key); err != nil {
		return "", r.errorf("the key before it is not valid: %w", err)
	}
	if len(r.keys) < maxKeys && len(key) <= maxKey {
		r.keys[string(r.text)] = key
	}
	return key, nil
}

// maxKeys and maxKey bound the keys that are remembered, and the bytes of each.
const (
	maxKeys = 256
	maxKey  = 64
)

// read reads a value, into r.text if keep is set.
func (r *Reader) read(keep bool) error {
	if _, err := r.Peek(); err != nil {
		return err
	}
	r.text = r.text[:0]
	start := r.Offset()
	for s := (scanner{}); !s.done; {
		if err := r.fill(); err != nil {
			return r.end(err)
		}
		n := s.scan(r.buf[r.next:])
		if keep {
			r.text = append(r.text, r.buf[r.next:r.next+n]...)
		}
		r.next += n
	}
	if r.Offset() == start {
		return r.errorf("%q where a value should be", r.buf[r.next])
	}
	return nil
}
