package pdf

import (
	"bytes"
	"strconv"
)

// Kinds of token.
const (
	tokenEnd      = 0
	tokenNumber   = 'n'
	tokenName     = '/'
	tokenString   = '('
	tokenOperator = 'o'
	tokenArray    = '['
	tokenArrayEnd = ']'
	tokenDict     = '<'
	tokenDictEnd  = '>'
)

type token struct {
	kind byte
	num  float64
	text []byte // of a name, a string or an operator
}

// lexer splits a content stream or a CMap into tokens.
type lexer struct {
	data []byte
	pos  int
	// depth is the depth of parentheses in a literal string that was partly returned, or 0.
	depth int
}

// maxLiteral is the most bytes of a literal string in one token. A longer string is several tokens,
// which are shown as one. It is even, because codes may have two bytes.
const maxLiteral = 64 << 10

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return isSpace(c)
}

func (l *lexer) next() token {
	if l.depth > 0 {
		return token{kind: tokenString, text: l.literal()}
	}
	for l.pos < len(l.data) {
		c := l.data[l.pos]
		switch {
		case isSpace(c) || c == '{' || c == '}' || c == ')':
			l.pos++
		case c == '%':
			if i := bytes.IndexAny(l.data[l.pos:], "\r\n"); i >= 0 {
				l.pos += i
			} else {
				l.pos = len(l.data)
			}
		case c == '(':
			l.pos++
			l.depth = 1
			return token{kind: tokenString, text: l.literal()}
		case c == '<' || c == '>':
			if l.pos+1 < len(l.data) && l.data[l.pos+1] == c {
				l.pos += 2
				return token{kind: c}
			}
			l.pos++
			if c == '<' {
				return token{kind: tokenString, text: l.hex()}
			}
		case c == '[' || c == ']':
			l.pos++
			return token{kind: c}
		case c == '/':
			l.pos++
			return token{kind: tokenName, text: unescapeName(l.word())}
		default:
			word := l.word()
			if n, ok := number(word); ok {
				return token{kind: tokenNumber, num: n}
			}
			return token{kind: tokenOperator, text: word}
		}
	}
	return token{}
}

// word returns the bytes up to the next delimiter.
func (l *lexer) word() []byte {
	start := l.pos
	for l.pos < len(l.data) && !isDelimiter(l.data[l.pos]) {
		l.pos++
	}
	return l.data[start:l.pos]
}

func number(word []byte) (float64, bool) {
	if len(word) == 0 || word[0] > '9' || len(word) > 40 {
		return 0, false
	}
	n, sign, digits := 0.0, 1.0, 0
	scale := 0.0
	for i, c := range word {
		switch {
		case c >= '0' && c <= '9':
			digits++
			n = n*10 + float64(c-'0')
			scale *= 10
		case c == '.' && scale == 0:
			scale = 1
		case i == 0 && c == '+':
		case c == '-' && digits == 0:
			sign = -1
		default:
			return 0, false
		}
	}
	if scale > 1 {
		n /= scale
	}
	return sign * n, digits > 0
}

func unescapeName(name []byte) []byte {
	if bytes.IndexByte(name, '#') < 0 {
		return name
	}
	var out []byte
	for i := 0; i < len(name); i++ {
		if name[i] == '#' && i+2 < len(name) {
			if n, err := strconv.ParseUint(string(name[i+1:i+3]), 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, name[i])
	}
	return out
}

// literal returns the rest of the string in parentheses, or its next part.
func (l *lexer) literal() []byte {
	var out []byte
	for ; l.pos < len(l.data) && len(out) < maxLiteral; l.pos++ {
		c := l.data[l.pos]
		switch c {
		case '(':
			l.depth++
		case ')':
			if l.depth--; l.depth == 0 {
				l.pos++
				return out
			}
		case '\\':
			l.pos++
			out = l.escaped(out)
			continue
		}
		out = append(out, c)
	}
	if l.pos >= len(l.data) {
		l.depth = 0
	}
	return out
}

// escaped appends the character after a backslash, and leaves the position at its last byte.
func (l *lexer) escaped(out []byte) []byte {
	if l.pos >= len(l.data) {
		return out
	}
	c := l.data[l.pos]
	switch c {
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case '\n':
		return out
	case '\r':
		if l.pos+1 < len(l.data) && l.data[l.pos+1] == '\n' {
			l.pos++
		}
		return out
	}
	if c < '0' || c > '7' {
		return append(out, c)
	}
	n := 0
	for i := 0; i < 3 && l.pos < len(l.data) && l.data[l.pos] >= '0' && l.data[l.pos] <= '7'; i++ {
		n = n*8 + int(l.data[l.pos]-'0')
		l.pos++
	}
	l.pos--
	return append(out, byte(n))
}

// hex returns the string in angle brackets whose first digit is at the position.
func (l *lexer) hex() []byte {
	var out []byte
	high, odd := byte(0), false
	for ; l.pos < len(l.data); l.pos++ {
		c := l.data[l.pos]
		var digit byte
		switch {
		case c >= '0' && c <= '9':
			digit = c - '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			digit = c | 0x20 - 'a' + 10
		case c == '>':
			l.pos++
			if odd {
				out = append(out, high<<4)
			}
			return out
		default:
			continue
		}
		if odd {
			out = append(out, high<<4|digit)
		}
		high, odd = digit, !odd
	}
	return out
}

// skipImage skips the data of an inline image, after the operator BI.
func (l *lexer) skipImage() {
	for {
		i := bytes.Index(l.data[l.pos:], []byte("EI"))
		if i < 0 {
			l.pos = len(l.data)
			return
		}
		start := l.pos + i
		l.pos = start + 2
		if start > 0 && isSpace(l.data[start-1]) && (l.pos == len(l.data) || isSpace(l.data[l.pos])) {
			return
		}
	}
}
