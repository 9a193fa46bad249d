package source

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"evalctl/internal/decimal"
)

// pythonValue parses a Python literal: a string, number, True, False, None, list, tuple, or
// dictionary with string keys. The result has the types of a decoded JSON value: string, float64,
// bool, nil, []any and map[string]any. JSON is accepted too.
func pythonValue(text string) (any, error) {
	p := &pythonParser{text: text}
	v, err := p.value(0)
	if err == nil {
		if p.space(); p.at < len(p.text) {
			err = p.errorf("there is more after the value")
		}
	}
	return v, err
}

type pythonParser struct {
	text string
	at   int
}

// maxPythonDepth limits the nesting of lists.
const maxPythonDepth = 100

func (p *pythonParser) errorf(format string, args ...any) error {
	return fmt.Errorf("character %d: %w", p.at, fmt.Errorf(format, args...))
}

func (p *pythonParser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// next skips space and then c, and reports whether c was there.
func (p *pythonParser) next(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *pythonParser) value(depth int) (any, error) {
	if depth > maxPythonDepth {
		return nil, p.errorf("it is nested too deeply")
	}
	p.space()
	if p.at == len(p.text) {
		return nil, p.errorf("a value is missing")
	}
	switch c := p.text[p.at]; c {
	case '[', '(':
		p.at++
		return p.list(depth, map[byte]byte{'[': ']', '(': ')'}[c])
	case '{':
		p.at++
		return p.dict(depth)
	case '\'', '"':
		return p.string()
	}
	return p.word()
}

func (p *pythonParser) list(depth int, end byte) (any, error) {
	list := []any{}
	for !p.next(end) {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if !p.next(',') {
			if !p.next(end) {
				return nil, p.errorf("a comma or %q is missing", end)
			}
			break
		}
	}
	return list, nil
}

func (p *pythonParser) dict(depth int) (any, error) {
	dict := map[string]any{}
	for !p.next('}') {
		key, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, p.errorf("a key is not a string")
		}
		if !p.next(':') {
			return nil, p.errorf("a colon is missing")
		}
		if dict[name], err = p.value(depth + 1); err != nil {
			return nil, err
		}
		if !p.next(',') {
			if !p.next('}') {
				return nil, p.errorf("a comma or '}' is missing")
			}
			break
		}
	}
	return dict, nil
}

func (p *pythonParser) string() (any, error) {
	quote := p.text[p.at]
	p.at++
	var b strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch c {
		case quote:
			p.at++
			return b.String(), nil
		case '\\':
			if err := p.escape(&b); err != nil {
				return nil, err
			}
		default:
			b.WriteByte(c)
			p.at++
		}
	}
	return nil, p.errorf("a string has no end")
}

// escape reads an escape of a string. As in Python, an unknown escape stays as it is.
func (p *pythonParser) escape(b *strings.Builder) error {
	if p.at+1 == len(p.text) {
		return p.errorf("a string has no end")
	}
	c := p.text[p.at+1]
	if digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]; digits > 0 {
		start := p.at + 2
		if start+digits > len(p.text) {
			return p.errorf("an escape has no end")
		}
		n, err := strconv.ParseUint(p.text[start:start+digits], 16, 32)
		if err != nil || n > utf8.MaxRune {
			return p.errorf("an escape is not a number")
		}
		b.WriteRune(rune(n))
		p.at = start + digits
		return nil
	}
	plain := map[byte]string{
		'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'a': "\a", 'v': "\v", '0': "\x00", '\n': "",
		'\\': `\`, '\'': "'", '"': `"`, '/': "/",
	}
	if text, ok := plain[c]; ok {
		b.WriteString(text)
	} else {
		b.WriteByte('\\')
		b.WriteByte(c)
	}
	p.at += 2
	return nil
}

func (p *pythonParser) word() (any, error) {
	start := p.at
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n,:]})", p.text[p.at]) < 0 {
		p.at++
	}
	switch word := p.text[start:p.at]; word {
	case "True", "true":
		return true, nil
	case "False", "false":
		return false, nil
	case "None", "null":
		return nil, nil
	default:
		n, err := decimal.Parse(word)
		if err != nil {
			p.at = start
			return nil, p.errorf("%.20q is not a value", word)
		}
		return n, nil
	}
}

// errNoList means that a text is not a list of strings.
var errNoList = errors.New("it must be a list of strings")

// pythonStrings parses a Python list of strings.
func pythonStrings(text string) ([]string, error) {
	v, err := pythonValue(text)
	if err != nil {
		return nil, err
	}
	return textsOf(v)
}

// textsOf returns the strings of a list.
func textsOf(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errNoList
	}
	var out []string
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			return nil, errNoList
		}
		out = append(out, s)
	}
	return out, nil
}
