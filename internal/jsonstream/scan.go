package jsonstream

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

// skipText returns the index of the quote that ends the text which goes on at i, or len(p).
func (s *scanner) skipText(p []byte, i int) int {
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
