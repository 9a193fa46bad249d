package redact

// skips says how far a search may advance where no secret ends. It is the table of Wu and Manber:
// most bytes of a text are never looked at, so texts without secrets cost little.
type skips struct {
	window int            // length of the shortest form
	by     *[1 << 16]byte // by two bytes that end a window, nil for windows of one byte
}

// mostSkip is the highest number that the table has.
const mostSkip = 255

func newSkips(forms []string) skips {
	s := skips{window: len(forms[0])}
	for _, f := range forms {
		s.window = min(s.window, len(f))
	}
	if s.window < 2 {
		return s
	}
	s.by = new([1 << 16]byte)
	for i := range s.by {
		s.by[i] = byte(min(mostSkip, s.window-1))
	}
	for _, f := range forms {
		for i := 1; i < s.window; i++ {
			pair := int(f[i-1])<<8 | int(f[i])
			s.by[pair] = min(s.by[pair], byte(min(mostSkip, s.window-1-i)))
		}
	}
	return s
}

// find returns the first secret in text from pos on, and its mark, "" if there is none.
func find[T string | []byte](r *Redactor, text T, pos int) (start, end int, mark string) {
	for pos+r.window <= len(text) {
		if r.by != nil {
			last := pos + r.window - 1
			if skip := r.by[int(text[last-1])<<8|int(text[last])]; skip > 0 {
				pos += int(skip)
				continue
			}
		}
		for _, f := range r.forms[text[pos]] {
			if len(f.text) <= len(text)-pos && string(text[pos:pos+len(f.text)]) == f.text {
				return pos, pos + len(f.text), f.mark
			}
		}
		pos++
	}
	return 0, 0, ""
}
