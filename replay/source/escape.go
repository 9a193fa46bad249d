package source

import (
	"encoding/binary"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// escapes maps the letter of a one-letter escape to its character.
var escapes = [256]rune{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// unescape decodes the escape at the start of b and returns its length, 0 if it is invalid. An
// unpaired surrogate becomes U+FFFD.
func unescape(b []byte) (r rune, n int) {
	if len(b) < 2 {
		return 0, 0
	}
	if b[1] != 'u' {
		if escapes[b[1]] == 0 {
			return 0, 0
		}
		return escapes[b[1]], 2
	}
	first, ok := codeUnit(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(first) {
		return first, 6
	}
	if second, ok := codeUnit(b[6:]); ok {
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return r, 12
		}
	}
	return utf8.RuneError, 6
}

// codeUnit returns the value of the \uXXXX at the start of b.
func codeUnit(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unquote decodes a string that checkString has accepted.
func unquote(raw []byte, info stringInfo) (s string, err error) {
	if !info.escaped {
		return string(raw[1 : len(raw)-1]), nil
	}
	err = json.Unmarshal(raw, &s)
	return s, err
}

// plainPrefix returns the number of leading bytes of b that a JSON string contains unescaped: ASCII
// without control characters and backslashes.
func plainPrefix(b []byte) int {
	// Check eight bytes at a time. The highest bit of each byte of special is set if this byte or a
	// lower one is not plain.
	const low, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		backslash := x ^ low*'\\'
		if special := x | (x - low*' ') | (backslash-low)&^backslash; special&high != 0 {
			break
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] < utf8.RuneSelf && b[i] != '\\' {
		i++
	}
	return i
}
