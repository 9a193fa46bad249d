package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// terminal writes messages for people to stderr. Output for programs goes to stdout.
type terminal struct {
	w io.Writer
	// live reports whether w is a terminal that can redraw a line.
	live  bool
	color bool
	quiet bool
}

func newTerminal(p *process, quiet bool) *terminal {
	t := &terminal{w: p.stderr, quiet: quiet}
	if f, ok := p.stderr.(*os.File); ok {
		t.live = term.IsTerminal(int(f.Fd())) && p.env("TERM") != "dumb"
	}
	t.color = t.live && p.env("NO_COLOR") == ""
	return t
}

// columns returns the current width of the terminal, 80 if w is not a terminal.
func (t *terminal) columns() int {
	if f, ok := t.w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// field prints a line of the report: a name, padded to a fixed width, and the text.
func (t *terminal) field(name, format string, args ...any) {
	if !t.quiet {
		fmt.Fprintf(t.w, "  %-10s  %s\n", name, fmt.Sprintf(format, args...))
	}
}

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
		return "\x1b[32m" + word + "\x1b[0m"
	}
	return "\x1b[31m" + word + "\x1b[0m"
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
