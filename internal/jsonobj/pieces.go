package jsonobj

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// Pieces decodes a text that arrives as several JSON strings, cut anywhere: between the halves of a
// surrogate pair, or within the bytes of a character. Its zero value is at the beginning of a text.
// It is not safe for concurrent use.
type Pieces struct {
	held []byte // the beginning of a character, as in the JSON string
}

// Next returns the text of the next string. An incomplete character at its end is left for the next
// call. A value that is not a JSON string has no text.
func (p *Pieces) Next(value json.RawMessage) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	inside := value[1 : len(value)-1]
	if len(p.held) > 0 {
		inside = append(p.held, inside...)
	}
	n := len(inside) - unfinished(inside)
	p.held = bytes.Clone(inside[n:])
	return quoted(inside[:n])
}

// Rest returns the remaining text once no string follows: a replacement character for an incomplete
// character, or nothing.
func (p *Pieces) Rest() string {
	rest := p.held
	p.held = nil
	return quoted(rest)
}

func quoted(inside []byte) string {
	if plain(inside) {
		return string(inside)
	}
	return unquote(append(append([]byte{'"'}, inside...), '"'))
}

// unfinished returns the length of an incomplete character at the end of inside, the text between
// the quotes of a JSON string, or 0.
func unfinished(inside []byte) int {
	const escape = len(`\ud83d`)
	if at := len(inside) - escape; at >= 0 && inside[at] == '\\' && inside[at+1] == 'u' && !escaped(inside[:at]) {
		if r := hex(inside[at+2:]); utf16.IsSurrogate(r) && r < 0xdc00 {
			return escape
		}
		return 0
	}
	for n := 1; n < utf8.UTFMax && n <= len(inside); n++ {
		if end := inside[len(inside)-n:]; utf8.RuneStart(end[0]) {
			if end[0] >= utf8.RuneSelf && !utf8.FullRune(end) {
				return n
			}
			return 0
		}
	}
	return 0
}

// escaped reports whether the next character belongs to the backslash at the end of a text.
func escaped(before []byte) bool {
	n := len(before) - len(bytes.TrimRight(before, `\`))
	return n%2 == 1
}

// hex returns the number that hexadecimal digits write.
func hex(digits []byte) (r rune) {
	for _, c := range digits {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		default:
			r = r<<4 | rune(c|0x20-'a'+10)
		}
	}
	return r
}
