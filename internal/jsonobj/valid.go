package jsonobj

// maxDepth is how deep values may be nested, as in encoding/json.
const maxDepth = 10_000

// isValid reports the same as json.Valid, several times as fast: all that a daemon sends and every
// line of a dataset are checked.
func isValid(data []byte) bool {
	rest, ok := skipValue(data, maxDepth)
	return ok && len(skipSpace(rest)) == 0
}

// skipValue returns what follows the JSON value that b begins with; ok is false if there is none.
func skipValue(b []byte, depth int) (rest []byte, ok bool) {
	b = skipSpace(b)
	if len(b) == 0 {
		return nil, false
	}
	switch c := b[0]; c {
	case '{':
		return skipList(b, '}', depth)
	case '[':
		return skipList(b, ']', depth)
	case '"':
		return skipString(b)
	case 't':
		return skipWord(b, "true")
	case 'f':
		return skipWord(b, "false")
	case 'n':
		return skipWord(b, "null")
	default:
		return skipNumber(b)
	}
}

// skipList is skipValue for an object or an array, which end with the byte end.
func skipList(b []byte, end byte, depth int) (rest []byte, ok bool) {
	if depth == 0 {
		return nil, false
	}
	b = skipSpace(b[1:])
	if len(b) > 0 && b[0] == end {
		return b[1:], true
	}
	for {
		if end == '}' {
			b = skipSpace(b)
			if len(b) == 0 || b[0] != '"' {
				return nil, false
			}
			if b, ok = skipString(b); !ok {
				return nil, false
			}
			b = skipSpace(b)
			if len(b) == 0 || b[0] != ':' {
				return nil, false
			}
			b = b[1:]
		}
		if b, ok = skipValue(b, depth-1); !ok {
			return nil, false
		}
		b = skipSpace(b)
		switch {
		case len(b) > 0 && b[0] == end:
			return b[1:], true
		case len(b) == 0 || b[0] != ',':
			return nil, false
		}
		b = b[1:]
	}
}

// skipString is skipValue for a string.
func skipString(b []byte) (rest []byte, ok bool) {
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return b[i+1:], true
		case c < ' ':
			return nil, false
		case c == '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return nil, false
			}
			i += n - 1
		}
	}
	return nil, false
}

// escapeLen returns the length of the escape that b begins with, 0 if it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		const length = len(`\u0000`)
		if len(b) < length {
			return 0
		}
		for _, c := range b[2:length] {
			if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return length
	}
	return 0
}

func skipWord(b []byte, word string) (rest []byte, ok bool) {
	if len(b) < len(word) || string(b[:len(word)]) != word {
		return nil, false
	}
	return b[len(word):], true
}

// skipNumber is skipValue for a number.
func skipNumber(b []byte) (rest []byte, ok bool) {
	if b[0] == '-' {
		b = b[1:]
	}
	if len(b) > 0 && b[0] == '0' { // no digit may follow
		b = b[1:]
	} else if b, ok = skipDigits(b); !ok {
		return nil, false
	}
	if len(b) > 0 && b[0] == '.' {
		if b, ok = skipDigits(b[1:]); !ok {
			return nil, false
		}
	}
	if len(b) > 0 && b[0]|0x20 == 'e' {
		b = b[1:]
		if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		return skipDigits(b)
	}
	return b, true
}

// skipDigits returns what follows one or more digits.
func skipDigits(b []byte) (rest []byte, ok bool) {
	n := 0
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	return b[n:], n > 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n' || b[0] == '\t' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}
