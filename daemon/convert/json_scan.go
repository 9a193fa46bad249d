package convert

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
)

// The functions of this file work on JSON that is known to be valid, without white space around it.

// jsonMember is a member of an object or an element of an array, as it is written.
type jsonMember struct {
	key   string // of a member, decoded
	index int    // of an element, -1 for a member
	value []byte
}

func (m jsonMember) isElement() bool { return m.index >= 0 }

// label returns the text before the value.
func (m jsonMember) label() string {
	if m.isElement() {
		return "- "
	}
	return jsonKey(m.key) + ":"
}

func isContainer(value []byte) bool { return value[0] == '{' || value[0] == '[' }

// jsonLines returns the lines of data that are not blank as elements.
func jsonLines(data []byte) iter.Seq[jsonMember] {
	return func(yield func(jsonMember) bool) {
		m := jsonMember{index: -1}
		for line := range bytes.SplitSeq(data, []byte{'\n'}) {
			if m.value = bytes.TrimSpace(line); len(m.value) == 0 {
				continue
			}
			if m.index++; !yield(m) {
				return
			}
		}
	}
}

// jsonMembers returns the members of a container, in their order.
func jsonMembers(container []byte) iter.Seq[jsonMember] {
	return func(yield func(jsonMember) bool) {
		m := jsonMember{index: -1}
		for i := skipSpace(container, 1); i < len(container)-1; {
			if container[0] == '{' {
				end := valueEnd(container, i)
				m.key = jsonString(container[i:end])
				i = skipSpace(container, skipSpace(container, end)+1) // after the colon
			} else {
				m.index++
			}
			end := valueEnd(container, i)
			m.value = container[i:end]
			if !yield(m) {
				return
			}
			if i = skipSpace(container, end); container[i] == ',' {
				i = skipSpace(container, i+1)
			}
		}
	}
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// valueEnd returns the offset after the value that begins at start.
func valueEnd(data []byte, start int) int {
	depth := 0
	for i := start; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\t', '\r', ':':
			if depth == 0 {
				return i
			}
		}
	}
	return len(data)
}

func jsonString(literal []byte) string {
	if bytes.IndexByte(literal, '\\') < 0 {
		return string(literal[1 : len(literal)-1])
	}
	var s string
	if err := json.Unmarshal(literal, &s); err != nil {
		return string(literal)
	}
	return s
}

// jsonInline returns a value as shown on one line, if it fits there: a number, a word, a string of
// one line, an array of numbers or words, an empty container, or a value that is nested too deeply.
func jsonInline(value []byte, level int) (string, bool) {
	switch {
	case value[0] == '"':
		s := cleanText(jsonString(value))
		if strings.Contains(s, "\n") {
			return "", false
		}
		if isAmbiguous(s) {
			return string(value), true
		}
		return s, true
	case !isContainer(value):
		return string(value), true
	case level >= jsonLevels, value[0] == '[' && !bytes.ContainsAny(value[1:], "{[\""),
		skipSpace(value, 1) == len(value)-1:
		return strings.Map(oneSpace, string(value)), true
	}
	return "", false
}

func oneSpace(r rune) rune {
	if r == '\n' || r == '\r' || r == '\t' {
		return ' '
	}
	return r
}

// isAmbiguous reports whether a string would look like another value without its quotes.
func isAmbiguous(s string) bool {
	return strings.TrimSpace(s) != s || s == "" || json.Valid([]byte(s))
}

func jsonKey(key string) string {
	line := oneLine(key, len(key))
	if line == "" {
		return `""`
	}
	return line
}
