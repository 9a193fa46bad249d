package result

import (
	"errors"
	"fmt"
	"io"
)

// values splits a JSON text that is too large for memory into its values. It only balances brackets
// and quotes. Whether a value is valid JSON is left to its decoder, so that each byte is decoded
// once.
type values struct {
	src  io.Reader
	buf  []byte
	next int    // the first unread byte of buf
	base int64  // the offset of buf[0] in the file
	text []byte // the last value that was kept
}

// offsetError is an error at a place in a file.
type offsetError struct {
	at  int64
	err error
}

func (e *offsetError) Error() string { return fmt.Sprintf("byte %d: %v", e.at, e.err) }
func (e *offsetError) Unwrap() error { return e.err }

// newValues splits src, which begins at an offset of the file.
func newValues(src io.Reader, offset int64) *values {
	return &values{src: src, buf: make([]byte, 0, 256<<10), base: offset}
}

func (v *values) offset() int64 { return v.base + int64(v.next) }

func (v *values) errorf(format string, args ...any) error {
	return &offsetError{v.offset(), fmt.Errorf(format, args...)}
}

// fill makes sure that there is unread input. The error is io.EOF at the end.
func (v *values) fill() error {
	for v.next == len(v.buf) {
		v.base += int64(len(v.buf))
		n, err := v.src.Read(v.buf[:cap(v.buf)])
		v.buf, v.next = v.buf[:n], 0
		if n == 0 && err != nil {
			return err
		}
	}
	return nil
}

// peek skips space and returns the byte after it, which stays unread.
func (v *values) peek() (byte, error) {
	for {
		if err := v.fill(); err != nil {
			return 0, v.end(err)
		}
		switch c := v.buf[v.next]; c {
		case ' ', '\t', '\n', '\r':
			v.next++
		default:
			return c, nil
		}
	}
}

// end returns the error for a text that cannot be read any further.
func (v *values) end(err error) error {
	if errors.Is(err, io.EOF) {
		err = errTruncated
	}
	return &offsetError{v.offset(), err}
}

var errTruncated = errors.New("the file ends before its JSON does; it was cut off: copy it again")

// checkEnd returns an error unless nothing but space follows.
func (v *values) checkEnd() error {
	c, err := v.peek()
	switch {
	case err == nil:
		return v.errorf("%q after the end of the JSON object; the file must contain nothing else", c)
	case errors.Is(err, errTruncated):
		return nil
	}
	return err
}

// expect skips space and reads c.
func (v *values) expect(c byte) error {
	got, err := v.peek()
	if err == nil && got != c {
		err = v.errorf("%q where %q should be", got, c)
	}
	if err == nil {
		v.next++
	}
	return err
}

// separator reads what follows a value in a list or an object: a comma, or last, which ends it.
func (v *values) separator(last byte) (ended bool, err error) {
	c, err := v.peek()
	if err == nil && c != ',' && c != last {
		err = v.errorf("%q where ',' or %q should be", c, last)
	}
	if err == nil {
		v.next++
	}
	return c == last, err
}

// begin reads the bracket with which a list or an object begins, and the last one if it is empty.
func (v *values) begin(first, last byte) (empty bool, err error) {
	if err := v.expect(first); err != nil {
		return false, err
	}
	c, err := v.peek()
	if err == nil && c == last {
		v.next++
	}
	return c == last, err
}

// members calls each for the keys of an object, encoded as in the text and valid until the next
// read. each must read the value.
func (v *values) members(each func(key []byte) error) error {
	ended, err := v.begin('{', '}')
	for err == nil && !ended {
		var c byte
		if c, err = v.peek(); err == nil && c != '"' {
			err = v.errorf("%q where a key should be", c)
		}
		if err == nil {
			err = v.read(true)
		}
		if err == nil {
			err = v.expect(':')
		}
		if err == nil {
			err = each(v.text)
		}
		if err == nil {
			ended, err = v.separator('}')
		}
	}
	return err
}

// elements calls each before every value of a list. each must read the value.
func (v *values) elements(each func() error) error {
	ended, err := v.begin('[', ']')
	for err == nil && !ended {
		if _, err = v.peek(); err == nil {
			err = each()
		}
		if err == nil {
			ended, err = v.separator(']')
		}
	}
	return err
}

// read reads the value at the next byte, as peek leaves it, into v.text if keep is set.
func (v *values) read(keep bool) error {
	v.text = v.text[:0]
	start := v.offset()
	for s := (split{}); !s.done; {
		if err := v.fill(); err != nil {
			return v.end(err)
		}
		n := s.scan(v.buf[v.next:])
		if keep {
			v.text = append(v.text, v.buf[v.next:v.next+n]...)
		}
		v.next += n
	}
	if v.offset() == start {
		return v.errorf("%q where a value should be", v.buf[v.next])
	}
	return nil
}

// split finds the end of a value that comes in pieces.
type split struct {
	depth    int
	quoted   bool
	escaped  bool
	unquoted bool // a number or a literal outside brackets has begun
	done     bool
}

// scan returns how many bytes of p belong to the value. It sets done at the value's end.
func (s *split) scan(p []byte) int {
	for i := 0; i < len(p); i++ {
		if s.quoted {
			if i = s.skipText(p, i); i == len(p) {
				break
			}
			if s.quoted = false; s.depth == 0 {
				s.done = true
				return i + 1
			}
			continue
		}
		switch p[i] {
		case '{', '[':
			if s.unquoted {
				s.done = true
				return i
			}
			s.depth++
		case '}', ']':
			if s.depth == 0 {
				s.done = true
				return i
			}
			if s.depth--; s.depth == 0 {
				s.done = true
				return i + 1
			}
		case '"':
			if s.unquoted {
				s.done = true
				return i
			}
			s.quoted = true
		case ',', ':', ' ', '\t', '\n', '\r':
			if s.depth == 0 {
				s.done = true
				return i
			}
		default:
			s.unquoted = s.depth == 0
		}
	}
	return len(p)
}

// skipText returns the index of the quote that ends the text which goes on at i, or len(p).
func (s *split) skipText(p []byte, i int) int {
	for ; i < len(p); i++ {
		switch {
		case s.escaped:
			s.escaped = false
		case p[i] == '\\':
			s.escaped = true
		case p[i] == '"':
			return i
		}
	}
	return i
}
