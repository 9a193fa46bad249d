package jsonobj

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// The functions here accept the same texts as encoding/json and are more than twice as fast. All
// answers of a daemon and all lines of a dataset pass through them. Each one skips something at the
// start of b and returns the rest; ok is false if b does not start with it.

// maxDepth is how deep values may be nested, as in encoding/json.
const maxDepth = 10_000

// skipValue skips a value with the space before it.
func skipValue(b []byte, depth int) (rest []byte, ok bool) {
	b = skipSpace(b)
	if len(b) == 0 {
		return nil, false
	}
	switch b[0] {
	case '{':
		return skipObject(b, depth, nil)
	case '[':
		return skipArray(b, depth, nil)
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

// skipObject skips an object, and appends its members to members if that is not nil.
func skipObject(b []byte, depth int, members *Object) (rest []byte, ok bool) {
	if depth == 0 || len(b) == 0 || b[0] != '{' {
		return nil, false
	}
	b = skipSpace(b[1:])
	if len(b) > 0 && b[0] == '}' {
		return b[1:], true
	}
	for {
		if len(b) == 0 || b[0] != '"' {
			return nil, false
		}
		key := b
		if b, ok = skipString(b); !ok {
			return nil, false
		}
		key = key[:len(key)-len(b)]
		if b = skipSpace(b); len(b) == 0 || b[0] != ':' {
			return nil, false
		}
		b = skipSpace(b[1:])
		value := b
		if b, ok = skipValue(b, depth-1); !ok {
			return nil, false
		}
		if members != nil {
			*members = append(*members, Member{decodeKey(key), value[:len(value)-len(b)]})
		}
		b = skipSpace(b)
		switch {
		case len(b) > 0 && b[0] == '}':
			return b[1:], true
		case len(b) == 0 || b[0] != ',':
			return nil, false
		}
		b = skipSpace(b[1:])
	}
}

// skipArray skips an array. It yields the elements if yield is not nil, and stops with ok set to
// false when yield returns false.
func skipArray(b []byte, depth int, yield func(json.RawMessage) bool) (rest []byte, ok bool) {
	if depth == 0 || len(b) == 0 || b[0] != '[' {
		return nil, false
	}
	b = skipSpace(b[1:])
	if len(b) > 0 && b[0] == ']' {
		return b[1:], true
	}
	for {
		element := b
		if b, ok = skipValue(b, depth-1); !ok {
			return nil, false
		}
		if yield != nil && !yield(element[:len(element)-len(b)]) {
			return nil, false
		}
		b = skipSpace(b)
		switch {
		case len(b) > 0 && b[0] == ']':
			return b[1:], true
		case len(b) == 0 || b[0] != ',':
			return nil, false
		}
		b = skipSpace(b[1:])
	}
}

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

// escapeLen returns the length of the escape at the start of b, 0 if there is none.
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

// skipWord skips a literal.
func skipWord(b []byte, word string) (rest []byte, ok bool) {
	if len(b) < len(word) || string(b[:len(word)]) != word {
		return nil, false
	}
	return b[len(word):], true
}

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

// skipDigits skips one or more digits.
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

// decodeKey returns a key without its quotes, as a slice of raw if it has no escapes.
func decodeKey(raw []byte) []byte {
	if inside := raw[1 : len(raw)-1]; plain(inside) {
		return inside
	}
	return []byte(unquote(raw))
}

// unquote decodes a valid JSON string.
func unquote(raw []byte) (s string) {
	if inside := raw[1 : len(raw)-1]; plain(inside) {
		return string(inside)
	}
	_ = json.Unmarshal(raw, &s) // cannot fail: raw is a string
	return s
}

// plain reports whether inside, the text between the quotes of a JSON string, needs no decoding.
func plain(inside []byte) bool {
	return bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside)
}
