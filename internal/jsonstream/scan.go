package jsonstream

import "bytes"

// scanner finds the end of a value that comes in pieces.
type scanner struct {
	depth    int
	quoted   bool
	escaped  bool
	unquoted bool // a number or a literal outside brackets has begun
	done     bool
}

// scan returns how many bytes of p belong to the value. It sets done at the value's end.
func (s *scanner) scan(p []byte) int {
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

// skipText returns the index of the quote that ends the text which continues at i, or len(p).
func (s *scanner) skipText(p []byte, i int) int {
	quote := -1 // the next one from i on, escaped or not
	for i < len(p) {
		if s.escaped {
			s.escaped = false
			i++
			continue
		}
		if quote < i {
			quote = indexFrom(p, i, '"')
		}
		n := bytes.IndexByte(p[i:quote], '\\')
		if n < 0 {
			return quote
		}
		s.escaped = true
		i += n + 1
	}
	return i
}

// indexFrom returns the index of the first c in p from i on, or len(p).
func indexFrom(p []byte, i int, c byte) int {
	if n := bytes.IndexByte(p[i:], c); n >= 0 {
		return i + n
	}
	return len(p)
}
