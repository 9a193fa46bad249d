// Package terminal writes messages for people: fields and tables that fit the width of a terminal,
// in color if it has colors. Texts of others are made safe to print.
package terminal

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/kballard/go-shellquote"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"golang.org/x/term"

	"evalctl/internal/printable"
)

// Terminal writes to a terminal, or to a file or pipe in its place. It is an io.Writer, which
// writes even if the terminal is quiet.
type Terminal struct {
	w io.Writer
	// file is the file that w writes to, nil for another kind of writer.
	file  *os.File
	live  bool
	color bool
	quiet bool
	// columns is the width that $COLUMNS asks for, 0 for none.
	columns int
}

// New returns the terminal that w writes to. env returns variables of the environment. It may be
// nil for a file, whose lines may have any length. Methods of a quiet terminal print nothing.
func New(w io.Writer, env func(string) string, quiet bool) *Terminal {
	t := &Terminal{w: w, quiet: quiet}
	if f, ok := w.(*os.File); ok {
		t.file, t.live = f, Is(f) && env("TERM") != "dumb"
	}
	t.color = t.live && env("NO_COLOR") == ""
	if env == nil {
		return t
	}
	if n, err := strconv.Atoi(env("COLUMNS")); err == nil && n >= leastColumns {
		t.columns = n
	}
	return t
}

// Is reports whether a stream, such as stdin, is a terminal.
func Is(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Buffered calls write with a terminal that buffers, and returns the first error of writing.
func (t *Terminal) Buffered(write func(*Terminal)) error {
	w := bufio.NewWriter(t.w)
	buffered := *t
	buffered.w = w
	write(&buffered)
	return w.Flush()
}

// Write writes to the terminal.
func (t *Terminal) Write(p []byte) (int, error) { return t.w.Write(p) }

// Live reports whether lines can be redrawn: the output is a terminal, not a file or pipe.
func (t *Terminal) Live() bool { return t.live }

// Quiet reports whether only errors are to be printed.
func (t *Terminal) Quiet() bool { return t.quiet }

// leastColumns is the smallest width that $COLUMNS can ask for.
const leastColumns = 20

// wraps reports whether lines have a largest width.
func (t *Terminal) wraps() bool { return t.live || t.columns > 0 }

// Columns returns $COLUMNS, or else the current width of the terminal, 80 if w is not a terminal.
func (t *Terminal) Columns() int {
	if t.columns > 0 {
		return t.columns
	}
	if t.file != nil {
		if width, _, err := term.GetSize(int(t.file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// FieldIndent is the width of the name of a field, with the blanks around it.
const FieldIndent = 14

// Field prints a field of the report: a name, padded to a fixed width, and the text.
func (t *Terminal) Field(name, format string, args ...any) {
	if !t.quiet {
		fmt.Fprintln(t.w, t.Wrap(fmt.Sprintf(fieldLabel, name), fmt.Sprintf(format, args...)))
	}
}

// Command prints a field whose text is a command. It stays on one line, because a shell would
// run the lines of a copy one by one.
func (t *Terminal) Command(name, command string) {
	if !t.quiet {
		fmt.Fprintf(t.w, fieldLabel+"%s\n", name, command)
	}
}

// fieldLabel formats the name of a field.
const fieldLabel = "  %-10s  "

// Wrap returns label and text, broken into lines that fit on the terminal. Lines after the first
// are indented by the width of label. It prefers breaks between the parts of text, which two blanks
// separate, to breaks between words. A word wider than the terminal is not broken. If the output is
// not a terminal, the line stays whole, so that it can be searched.
func (t *Terminal) Wrap(label, text string) string {
	if !t.wraps() {
		return label + text
	}
	var b strings.Builder
	b.WriteString(label)
	indent := columnsOf(label)
	width, used, blanks := t.Columns(), indent, 0
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

// columnsOf returns the number of columns that text takes on a terminal, as tables count them:
// colors take none, Chinese characters two.
func columnsOf(text string) int { return twwidth.Width(text) }

// Cut cuts text to so many columns.
func Cut(text string, columns int) string {
	if columnsOf(text) <= columns {
		return text
	}
	return twwidth.Truncate(text, columns, "…")
}

// Escape sequences that select a color.
const (
	green = "\x1b[32m"
	red   = "\x1b[31m"
	reset = "\x1b[0m"
)

// Blank prints an empty line.
func (t *Terminal) Blank() {
	if !t.quiet {
		fmt.Fprintln(t.w)
	}
}

// Tint colors word green or red. The word must be clear without color.
func (t *Terminal) Tint(good bool, word string) string {
	if !t.color {
		return word
	}
	if good {
		return green + word + reset
	}
	return red + word + reset
}

// Line makes text from documents, daemons and models safe to print on one line. Control characters
// and invisible formatting characters, which could control the terminal or reorder a line, are
// replaced with visible escapes, white space with blanks. The first character of text that a system
// of continuous integration would take for a command in its log is escaped too.
func Line(s string) string { return escaped(s, ' ') }

// Lines is Line for a text of several lines.
func Lines(s string) string { return escaped(s, '\n') }

func escaped(s string, feed byte) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case r == '\n':
			b.WriteByte(feed)
		case r == '\t', r == '\r':
			b.WriteByte(' ')
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	out := b.String()
	if !strings.Contains(out, "::") && !strings.Contains(out, "##") {
		return out
	}
	return logCommand().ReplaceAllStringFunc(out, func(found string) string {
		at := strings.IndexAny(found, ":#")
		return found[:at] + fmt.Sprintf(`\u%04x`, found[at]) + found[at+1:]
	})
}

// logCommand matches the beginning of a command to GitHub, ::error:: at the beginning of a line or
// ##[error] anywhere, to Azure Pipelines or to TeamCity.
var logCommand = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[\s\p{Z}]*::[A-Za-z]|##(?:vso|teamcity)?\[`)
})

// Short returns Line of a text, cut to at most n characters.
func Short(s string, n int) string {
	return printable.Short(Line(strings.TrimSpace(s)), n)
}

// CommandLine returns a command to copy into a shell. Words that a shell would interpret are
// quoted: ids and paths may come from others.
func CommandLine(words ...string) string { return Line(shellquote.Join(words...)) }
