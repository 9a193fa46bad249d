package form

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"evalctl/internal/printable"
	"evalctl/internal/terminal"
)

// nameColumns limits a name on a terminal, in columns, and dataColumns a longer text.
const (
	nameColumns = 40
	dataColumns = 1000

	// of a request or a response
	messageLines   = 8
	messageColumns = 160
)

// onTerminal makes texts safe to print.
var onTerminal = Escape{
	Own:  func(s string) string { return s },
	Name: func(s string) string { return terminal.Short(s, nameColumns) },
	Data: func(s string) string { return terminal.Short(s, dataColumns) },
	Path: terminal.Line,
	Tone: func(_ Tone, word string) string { return word },
	Message: func(s string) string {
		lines := strings.Split(terminal.Lines(strings.TrimSpace(s)), "\n")
		for i, line := range lines {
			lines[i] = printable.Short(strings.TrimRight(line, " "), messageColumns)
		}
		if more := len(lines) - messageLines; more > 0 {
			lines = append(lines[:messageLines], fmt.Sprintf("… %d more lines", more))
		}
		return strings.Join(lines, "\n")
	},
}

// String returns the text as a terminal shows it, without colors.
func (t Text) String() string { return t.With(onTerminal) }

// on returns the text as this terminal shows it.
func (t Text) on(shown *terminal.Terminal) string {
	colored := onTerminal
	colored.Tone = func(tone Tone, word string) string {
		if tone != Good && tone != Bad {
			return word
		}
		return shown.Tint(tone == Good, word)
	}
	return t.With(colored)
}

// Text prints a report on a terminal, with the Last sections at the end.
func (r *Report) Text(t *terminal.Terminal) {
	if t.Quiet() {
		return
	}
	for _, place := range []Place{First, Between, Last} {
		for _, s := range r.Sections {
			if s.Place == place {
				s.Text(t)
			}
		}
	}
}

// Text prints a section on a terminal.
func (s *Section) Text(t *terminal.Terminal) {
	for _, b := range s.For(Terminal) {
		switch c := b.Content.(type) {
		case Facts:
			for _, f := range c {
				Field(t, f.Name, strings.Split(f.Value.on(t), partBreak))
			}
		case Note:
			t.Field("note", "%s", Text(c).on(t))
		case Warning:
			t.Field("warning", "%s", Text(c).on(t))
		case *Table:
			c.text(t)
		case List:
			c.text(t)
		case Gap:
			t.Blank()
		case Sentences:
			for _, one := range c {
				fmt.Fprintln(t, t.Wrap("  ", one.String()))
			}
		case Print:
			c(t)
		}
	}
}

// Field prints a field of several parts. It breaks lines between the parts to fit the terminal.
func Field(t *terminal.Terminal, name string, parts []string) {
	room := t.Columns() - terminal.FieldIndent
	line := ""
	for _, part := range parts {
		if line != "" && utf8.RuneCountInString(line)+len("  ")+utf8.RuneCountInString(part) > room {
			t.Field(name, "%s", line)
			name, line = "", ""
		}
		if line != "" {
			line += "  "
		}
		line += part
	}
	t.Field(name, "%s", line)
}

// partBreak separates parts of a fact where a terminal may begin a new field.
const partBreak = "\v"

// Parts joins the parts of a fact. A terminal breaks lines only between them.
func Parts[T any](parts ...T) Text { return Join(partBreak, parts...) }

// text prints the first rows.
func (table *Table) text(t *terminal.Terminal) {
	rows, align := table.on(t)
	if !t.Fits(rows) {
		rows, align = table.with(func(c Column) bool { return !c.Spare }).on(t)
	}
	for line := range strings.Lines(t.Fit(rows, align)) {
		fmt.Fprint(t, " "+line)
	}
	t.Blank()
}

// on returns the first rows after the head, and how the columns are aligned.
func (table *Table) on(t *terminal.Terminal) (rows [][]string, align string) {
	shown := table.Rows
	if table.Most > 0 {
		shown = shown[:min(len(shown), table.Most)]
	}
	rows = [][]string{nil}
	for _, c := range table.Columns {
		rows[0] = append(rows[0], c.Name.String())
		align += c.align()
	}
	for _, row := range shown {
		var texts []string
		for _, c := range row.Cells {
			texts = append(texts, c.text(t))
		}
		rows = append(rows, texts)
	}
	return rows, align
}

// align returns l or r.
func (c Column) align() string {
	if c.Number {
		return "r"
	}
	return "l"
}

func (c Cell) text(t *terminal.Terminal) string {
	return Toned(c.Tone, strings.TrimSpace(c.Mark+" "+c.Text.on(t))).on(t)
}

// text prints the first items and the lines below them.
func (l List) text(t *terminal.Terminal) {
	fmt.Fprintf(t, "  %s\n\n", l.Title)
	shown := l.N
	if l.Most > 0 {
		shown = min(shown, l.Most)
	}
	for i := range shown {
		item := l.Item(i)
		fmt.Fprintln(t, t.Wrap("    ", item.Head.on(t)))
		for _, f := range item.Below {
			value := f.Value.on(t)
			if f.Name != "" && strings.Contains(value, "\n") {
				value = f.Name + ":\n" + value
			} else if f.Name != "" {
				value = f.Name + ": " + value
			}
			for line := range strings.SplitSeq(value, "\n") {
				fmt.Fprintln(t, strings.TrimRight(t.Wrap("      ", line), " "))
			}
		}
	}
	if more := l.N - shown; more > 0 {
		fmt.Fprintf(t, "    … and %d more, in %s\n", more, l.More.on(t))
	}
	t.Blank()
}
