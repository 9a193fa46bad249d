package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kballard/go-shellquote"
	"golang.org/x/term"
)

// terminal writes messages for people to stderr. Output for programs goes to stdout.
type terminal struct {
	w io.Writer
	// file is the file that w writes to, nil for another kind of writer.
	file *os.File
	// live reports whether w is a terminal that can redraw a line.
	live  bool
	color bool
	quiet bool
	// verbose is set if tags are printed whose questions all passed.
	verbose bool
}

func newTerminal(p *process, quiet bool) *terminal {
	t := &terminal{w: p.stderr, quiet: quiet}
	if f, ok := p.stderr.(*os.File); ok {
		t.file, t.live = f, term.IsTerminal(int(f.Fd())) && p.env("TERM") != "dumb"
	}
	t.color = t.live && p.env("NO_COLOR") == ""
	return t
}

// columns returns the current width of the terminal, 80 if w is not a terminal.
func (t *terminal) columns() int {
	if t.file != nil {
		if width, _, err := term.GetSize(int(t.file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// fieldIndent is the width of the name of a field, with the blanks around it.
const fieldIndent = 14

// field prints a field of the report: a name, padded to a fixed width, and the text.
func (t *terminal) field(name, format string, args ...any) {
	if !t.quiet {
		fmt.Fprintln(t.w, t.wrap(fmt.Sprintf("  %-10s  ", name), fmt.Sprintf(format, args...)))
	}
}

// wrap returns label and text, broken into lines that fit on the terminal. Lines after the first
// are indented by the width of label. It prefers breaks between the parts of text, which two blanks
// separate, to breaks between words. A word wider than the terminal is not broken. If the output is
// not a terminal, the line stays whole, so that it can be searched.
func (t *terminal) wrap(label, text string) string {
	if !t.live {
		return label + text
	}
	var b strings.Builder
	b.WriteString(label)
	indent := columnsOf(label)
	width, used, blanks := t.columns(), indent, 0
	add := func(text string) {
		if used > indent && used+blanks+columnsOf(text) > width {
			b.WriteString("\n" + strings.Repeat(" ", indent))
			used, blanks = indent, 0
		}
		b.WriteString(strings.Repeat(" ", blanks) + text)
		used, blanks = used+blanks+columnsOf(text), 1
	}
	for part := range strings.SplitSeq(text, "  ") {
		trimmed := strings.TrimPrefix(part, " ") // three blanks separate parts too
		blanks += len(part) - len(trimmed)
		part = trimmed
		if indent+columnsOf(part) <= width {
			add(part)
		} else {
			for word := range strings.SplitSeq(part, " ") {
				add(word)
			}
		}
		blanks = 2
	}
	return b.String()
}

// columnsOf returns the number of columns that text takes on a terminal. Colors take none.
func columnsOf(text string) int {
	return utf8.RuneCountInString(strings.NewReplacer(green, "", red, "", reset, "").Replace(text))
}

// Escape sequences that select a color.
const (
	green = "\x1b[32m"
	red   = "\x1b[31m"
	reset = "\x1b[0m"
)

func (t *terminal) blank() {
	if !t.quiet {
		fmt.Fprintln(t.w)
	}
}

// tint colors word green or red. The word must be clear without color.
func (t *terminal) tint(good bool, word string) string {
	if !t.color {
		return word
	}
	if good {
		return green + word + reset
	}
	return red + word + reset
}

// Whether printable keeps line feeds or replaces them with blanks.
const (
	oneLine   = false
	keepLines = true
)

// printable makes text from documents, daemons and models safe to print. Control characters and
// invisible formatting characters, which could control the terminal or reorder a line, are replaced
// with visible escapes.
func printable(s string, lines bool) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case r == '\n' && lines:
			b.WriteByte('\n')
		case r == '\n', r == '\t', r == '\r':
			b.WriteByte(' ')
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// short returns printable text on one line, cut to at most n characters.
func short(s string, n int) string {
	return clip(printable(strings.TrimSpace(s), oneLine), n)
}

// clip cuts s to at most n characters. n must be at least 1.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// commandLine returns a command to copy into a shell. What a shell would not read as text is
// quoted: ids and paths may come from others.
func commandLine(words ...string) string { return printable(shellquote.Join(words...), oneLine) }
