package convert

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// inline collects the text of a block as Markdown. Runs of white space are one space.
type inline struct {
	b      []byte
	space  bool // a space is due before further text
	glued  bool // other text is directly before b
	inLink bool
	inCell bool
	strong bool // within strong emphasis
	em     bool
	struck bool // within text that is no longer valid
	quoted bool
	formed int // length of b after the last fraction, root or script of a formula
}

// take returns the text so far and begins a new block.
func (l *inline) take() string {
	text := strings.Trim(string(l.b), " \n")
	l.b, l.space, l.formed = l.b[:0], false, 0
	return text
}

// raw adds Markdown.
func (l *inline) raw(s string) {
	if l.space && len(l.b) > 0 && l.b[len(l.b)-1] != '\n' {
		l.b = append(l.b, ' ')
	}
	l.space = false
	l.b = append(l.b, s...)
}

// text adds text, escaped.
func (l *inline) text(s string) {
	words := splitWords(s)
	for i, word := range words {
		if i > 0 {
			l.space = true
		}
		if word != "" {
			l.raw(l.escape(word, i == len(words)-1))
		}
	}
}

// splitWords splits s at runs of white space. The first and the last word are empty if s begins or
// ends with white space. Characters that only matter for hyphenation are removed.
func splitWords(s string) []string {
	if strings.ContainsAny(s, "\u00ad\u200b\ufeff") || strings.ContainsFunc(s, isControl) {
		s = strings.Map(func(r rune) rune {
			if r == '\u00ad' || r == '\u200b' || r == '\ufeff' || isControl(r) {
				return -1
			}
			return r
		}, s)
	}
	words := strings.Fields(s)
	if s == "" {
		return nil
	}
	if first, _ := utf8.DecodeRuneInString(s); unicode.IsSpace(first) {
		words = append([]string{""}, words...)
	}
	if last, _ := utf8.DecodeLastRuneInString(s); unicode.IsSpace(last) {
		words = append(words, "")
	}
	return words
}

func isControl(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }

// escape returns a word as Markdown. Characters without a special meaning in their place are not
// escaped, because words are found and quoted as they are written. More of the word may follow if
// it is open.
func (l *inline) escape(s string, open bool) string {
	if !strings.ContainsAny(s, "\\`*_[]<&~|") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		next := at(s, i+1)
		last := i == len(s)-1
		var special bool
		switch c := s[i]; c {
		case '`':
			special = true
		case '\\':
			special = last || isPunct(next)
		case '*':
			special = len(s) > 1 || open || l.strong || l.em
		case '_':
			special = !isWord(at(s, i-1)) || !isWord(next)
		case '[':
			special = l.inLink
		case ']':
			special = l.inLink || last && open || next == '(' || next == '[' || next == ':'
		case '<':
			special = last && open || isWord(next) || next == '/' || next == '!' || next == '?'
		case '&':
			name := strings.TrimLeft(s[i+1:], "#0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
			special = open && name == "" || strings.HasPrefix(name, ";")
		case '~':
			// Before a word it would need another one after a word.
			special = i > 0 || last && open || next == '~' || l.strong || l.em || !l.space && (l.glued || len(l.b) > 0)
		case '|':
			special = l.inCell
		}
		if special {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isPunct(c byte) bool { return c > ' ' && c < 0x7f && !isWord(c) }

// escapeStart escapes the beginning of a line of text if it would begin another block.
func escapeStart(line string) string {
	switch c := line[0]; {
	case c >= '0' && c <= '9':
		rest := strings.TrimLeft(line, "0123456789")
		if n := len(line) - len(rest); n <= 9 && rest != "" && (rest[0] == '.' || rest[0] == ')') && at(rest, 1) == ' ' {
			return line[:n] + `\` + rest
		}
	case c == '>', c == '#', c == '|', strings.IndexByte("+-*", c) >= 0 && at(line, 1) == ' ',
		strings.HasPrefix(line, "~~~"), strings.Trim(line, "-=+|: ") == "":
		return `\` + line
	}
	return line
}

// escapeHeading escapes the end of a heading that would be taken for a part of its mark.
func escapeHeading(text string) string {
	if cut := strings.TrimRight(text, "#"); cut != text && (cut == "" || strings.HasSuffix(cut, " ")) {
		return cut + `\` + text[len(cut):]
	}
	return text
}

// escapeText returns the words of a line as Markdown.
func escapeText(line string) string {
	var l inline
	l.text(line)
	return l.take()
}
