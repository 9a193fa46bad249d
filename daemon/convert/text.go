package convert

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

func fromMarkdown(data []byte) (Document, error) {
	text, err := decodeText(data)
	return Document{Markdown: text}, err
}

// fromText converts text to Markdown that shows the same text, in words that can be found and
// quoted unchanged: no character is escaped. A paragraph that Markdown would show unchanged stays a
// paragraph, and its lines stay lines. Any other paragraph becomes a fenced block.
func fromText(ctx context.Context, data []byte) (Document, error) {
	text, err := decodeText(data)
	if err != nil {
		return Document{}, err
	}
	if !hasText(text) {
		return Document{}, errNoText
	}
	var (
		w     textWriter
		block []string
	)
	lines := 0
	for line := range strings.SplitSeq(cleanText(text), "\n") {
		if lines++; lines%4096 == 0 && ctx.Err() != nil {
			return Document{}, ctx.Err()
		}
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		if line != "" {
			block = append(block, line)
			continue
		}
		w.block(block)
		block = block[:0]
	}
	w.block(block)
	w.endFence()
	return Document{Markdown: w.out.String()}, nil
}

// cleanText ends lines with a line feed and removes control characters other than tabs.
func cleanText(s string) string {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = s[i] >= ' ' && s[i] < 0x7f || s[i] == '\n' || s[i] == '\t'
	}
	if clean {
		return s
	}
	s = strings.TrimPrefix(s, "\ufeff")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case r == '\r', r == '\v', r == '\f', r == '\u0085', r == '\u2028', r == '\u2029':
			return '\n'
		case r != '\n' && unicode.IsControl(r):
			return -1
		}
		return r
	}, s)
}

// textWriter writes blocks of lines.
type textWriter struct {
	out    strings.Builder
	fenced strings.Builder // lines of a fenced block that is not written yet
}

func (w *textWriter) block(lines []string) {
	if len(lines) == 0 {
		return
	}
	if isMarkup(lines) {
		if w.fenced.Len() > 0 {
			w.fenced.WriteByte('\n')
		}
		for _, line := range lines {
			w.fenced.WriteString(line)
			w.fenced.WriteByte('\n')
		}
		return
	}
	w.endFence()
	w.separate()
	for i, line := range lines {
		if i > 0 {
			w.out.WriteString("  \n") // a line break in Markdown
		}
		w.out.WriteString(line)
	}
	w.out.WriteByte('\n')
}

func (w *textWriter) endFence() {
	if w.fenced.Len() == 0 {
		return
	}
	w.separate()
	writeFenced(&w.out, "", w.fenced.String())
	w.fenced.Reset()
}

func (w *textWriter) separate() {
	if w.out.Len() > 0 {
		w.out.WriteByte('\n')
	}
}

// writeFenced writes text, which ends with a line feed, as a fenced block. The fence is longer than
// any run of backticks in the text.
func writeFenced(out *strings.Builder, info, text string) {
	fence := strings.Repeat("`", max(longestRun(text, '`'), 2)+1)
	for _, s := range []string{fence, info, "\n", text, fence, "\n"} {
		out.WriteString(s)
	}
}

// longestRun returns the length of the longest run of a byte in s.
func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if run++; s[i] != c {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// isMarkup reports whether Markdown would show a paragraph of text differently. Lists of lines that
// begin with "- " do not count: they are shown as the lists they are.
func isMarkup(lines []string) bool {
	stars, underscores, tildes := 0, 0, 0
	for _, line := range lines {
		if beginsMarkup(line) {
			return true
		}
		for i := 0; i < len(line); i++ {
			switch c := line[i]; c {
			case '\t', '`':
				return true
			case ' ':
				if strings.HasPrefix(line[i:], "   ") {
					return true // columns
				}
			case '*':
				if at(line, i-1) != ' ' || at(line, i+1) != ' ' {
					stars++
				}
			case '_':
				if !isWord(at(line, i-1)) || !isWord(at(line, i+1)) {
					underscores++
				}
			case '~':
				tildes++
			case '<':
				if next := at(line, i+1); isWord(next) || next == '/' || next == '!' || next == '?' {
					return true
				}
			case ']':
				if next := at(line, i+1); next == '(' || next == '[' || next == ':' {
					return true
				}
			case '&', '\\':
				if escape().MatchString(line[i:min(i+40, len(line))]) {
					return true
				}
			}
		}
	}
	// Emphasis needs two marks.
	return stars > 1 || underscores > 1 || tildes > 1
}

var (
	escape = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(&#?[0-9A-Za-z]+;|\\([!-/:-@\[-` + "`" + `{-~]|$))`)
	})
	// A heading, a quote, an ordered list, a list whose marks would be changed, or a line that
	// Markdown takes for a rule, for the underline of a heading, or for a table or front matter.
	blockMark = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(#{1,6}($|[ \t])|>|[0-9]{1,9}[.)]($|[ \t])|[+*]($|[ \t])|[-=+*_~|: ]+$)`)
	})
)

// beginsMarkup reports whether the beginning of a line has a meaning in Markdown.
func beginsMarkup(line string) bool {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 {
		return true
	}
	for strings.HasPrefix(text, "- ") {
		text = strings.TrimLeft(text[2:], " ")
	}
	// Most lines begin with a letter, or with a number that does not begin a list item.
	switch c := text[0]; {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return false
	case c >= '0' && c <= '9':
		after := strings.TrimLeft(text, "0123456789")
		if after == "" || after[0] != '.' && after[0] != ')' {
			return false
		}
	}
	return blockMark().MatchString(text)
}

// at returns a byte of s, and a space beyond its ends.
func at(s string, i int) byte {
	if i < 0 || i >= len(s) {
		return ' '
	}
	return s[i]
}

func isWord(c byte) bool {
	return c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
