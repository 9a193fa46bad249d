package jsonobj

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// HalfSurrogate reports whether a valid JSON text has half of a surrogate pair, which decoders
// replace with U+FFFD.
func HalfSurrogate(raw []byte) bool {
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			return false
		}
		raw = raw[at:]
		first := codeUnit(raw)
		switch {
		case first == 0:
			raw = raw[2:]
		case !utf16.IsSurrogate(first):
			raw = raw[6:]
		case utf16.DecodeRune(first, codeUnit(raw[6:])) == utf8.RuneError:
			return true
		default:
			raw = raw[12:]
		}
	}
}

// codeUnit returns the value of the \uXXXX at the start of b, 0 for anything else.
func codeUnit(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	unit, _ := strconv.ParseUint(string(b[2:6]), 16, 16) // other digits are not valid JSON
	return rune(unit)
}
