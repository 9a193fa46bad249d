// Package form has what a report consists of, and writes it in each form: as text for terminals, as
// Markdown and as HTML. It knows nothing of what was measured.
//
// Texts of datasets, daemons and models are data: a Text has them apart from the program's own
// words, and each form cuts and escapes them in its way.
package form

import (
	"fmt"
	"html/template"
	"strings"

	"evalctl/internal/terminal"
)

// Report is what is reported, in the order of a page. A terminal shows what is First, then the
// rest, and what is Last: the verdict.
type Report struct {
	Verdict Verdict
	Links   []Link
	// Warnings are what a reader must know before any figure.
	Warnings []Text
	Sections []Section
	// Tool names the program that measured.
	Tool string
}

// Verdict is the head of a page.
type Verdict struct {
	Tone Tone
	// Mark and Word say the same as Tone.
	Mark, Word string
	// Title names what is reported, Headline says the verdict in a line. An empty Headline is Word
	// with Title.
	Title, Headline Text
	// About says what was measured. It may be empty.
	About Text
	// Rate is the main figure, Figure says of what. Both may be empty.
	Rate, Figure string
	// Sentences are the reasons, the most important first.
	Sentences []Text
}

// FirstSentences is how many sentences of a verdict an HTML page shows, the others are folded.
const FirstSentences = 3

// Section is a part of a report with a heading.
type Section struct {
	ID, Title string
	Place     Place
	// Folded hides the section of an HTML page until it is opened.
	Folded bool
	Blocks []Block
}

// Add adds the blocks that are not empty.
func (s *Section) Add(blocks ...Block) {
	for _, b := range blocks {
		empty := false
		switch c := b.Content.(type) {
		case *Table:
			empty = len(c.Rows) == 0
		case Plot:
			empty = len(c.Rows) == 0
		}
		if !empty {
			s.Blocks = append(s.Blocks, b)
		}
	}
}

// Fact adds a fact to the facts at the end of the section. An empty name adds to the fact before.
// The parts are separated by two blanks on a terminal, which breaks lines between them.
func (s *Section) Fact(name, format string, args ...any) {
	s.FactIn(Everywhere, name, format, args...)
}

// FactIn is Fact for some of the forms.
func (s *Section) FactIn(in Forms, name, format string, args ...any) {
	f := Fact{name, F(format, args...), in}
	if n := len(s.Blocks); n > 0 {
		if facts, ok := s.Blocks[n-1].Content.(Facts); ok {
			s.Blocks[n-1].Content = append(facts, f)
			return
		}
	}
	s.Blocks = append(s.Blocks, Block{Everywhere, Facts{f}})
}

// Note adds a sentence.
func (s *Section) Note(in Forms, format string, args ...any) {
	s.Blocks = append(s.Blocks, Block{in, Note(F(format, args...))})
}

// Warn adds a sentence that a reader must not miss.
func (s *Section) Warn(in Forms, format string, args ...any) {
	s.Blocks = append(s.Blocks, Block{in, Warning(F(format, args...))})
}

// Show adds a content for some of the forms.
func (s *Section) Show(in Forms, c any) { s.Add(Block{in, c}) }

// For returns the blocks of a form that are not empty, with what it shows of them. Facts without
// anything between them are one block.
func (s *Section) For(in Forms) (out []Block) {
	for _, b := range s.Blocks {
		empty := b.In&in == 0
		switch c := b.Content.(type) {
		case Facts:
			facts := c.For(in)
			b.Content, empty = facts, empty || len(facts) == 0
		case *Table:
			table := c.For(in)
			b.Content, empty = table, empty || len(table.Rows) == 0
		case List:
			empty = empty || c.N == 0
		case Gap, Sentences, Print:
			empty = empty || in != Terminal
		}
		if empty {
			continue
		}
		if facts, ok := b.Content.(Facts); ok && len(out) > 0 {
			if before, ok := out[len(out)-1].Content.(Facts); ok {
				out[len(out)-1].Content = append(before[:len(before):len(before)], facts...)
				continue
			}
		}
		out = append(out, b)
	}
	return out
}

// Place says when a terminal shows a section.
type Place int

// The places.
const (
	First Place = iota - 1
	Between
	Last
)

// Forms are some of the forms.
type Forms int

// The forms.
const (
	Terminal Forms = 1 << iota
	Markdown
	HTML
	Everywhere = Terminal | Markdown | HTML
	Pages      = Markdown | HTML
)

// Block is content for some of the forms: Facts, Note, Warning, *Table, List, Chart, Plot, Fold,
// Sentences, Gap or Print.
type Block struct {
	In      Forms
	Content any
}

type (
	// Facts are names with their values.
	Facts []Fact
	// Note is a sentence.
	Note Text
	// Warning is a sentence that a reader must not miss.
	Warning Text
	// Gap is a blank line of a terminal.
	Gap struct{}
	// Sentences come first on a terminal.
	Sentences []Text
	// Print is what only a terminal shows.
	Print func(*terminal.Terminal)
	// List is a list of items, which pages fold.
	List struct {
		Title string
		N     int
		Item  func(i int) Item
		More  Text // where the items are that do not fit
		Most  int  // how many a terminal shows, 0 for all
		// Folded is how many items Markdown lists, 0 for as many as fit.
		Folded int
	}
	// Chart is a drawing with a caption that says what it shows.
	Chart struct {
		SVG     func() template.HTML
		Caption string
	}
	// Plot has values with their intervals on one scale, a row each.
	Plot struct {
		Caption string
		Rows    []PlotRow
		Axis    func() template.HTML
	}
	// Fold has what an HTML page hides until it is opened, under a title.
	Fold struct {
		Title   string
		Content any
	}
)

// PlotRow is a value of a Plot with its name and its figure. A row without Draw is a heading.
type PlotRow struct {
	Name, Value Text
	Tone        Tone
	// Mark is a sign that Value says in words.
	Mark string
	Draw func() template.HTML
}

// Fact is a name with its value.
type Fact struct {
	Name  string
	Value Text
	In    Forms
}

// For returns the facts of a form. Pages have those without a name joined to the ones before.
func (facts Facts) For(in Forms) (out Facts) {
	for _, f := range facts {
		switch n := len(out); {
		case f.In&in == 0:
		case f.Name == "" && n > 0 && in != Terminal:
			out[n-1].Value = F("%s  %s", out[n-1].Value, f.Value)
		default:
			out = append(out, f)
		}
	}
	return out
}

// Item is a line with further ones below it.
type Item struct {
	Tone  Tone // for HTML
	Head  Text
	Below Facts
}

// Link is a link to another page. A URL with a scheme other than http and https is replaced by one
// that leads nowhere.
type Link struct{ Text, URL string }

// Table is a table whose first column names the rows.
type Table struct {
	Caption Text
	Columns []Column
	Rows    []Row
	// Most is how many rows a terminal shows, 0 for all.
	Most int
}

// Column is the head of a column.
type Column struct {
	Name Text
	// Number aligns the cells to the right.
	Number bool
	In     Forms
}

// NewTable returns a table with columns, which are Columns, data, Texts or strings. ">" before a
// string marks numbers, "#" a column that only HTML has, "|" one that terminals do not have.
func NewTable(caption Text, columns ...any) *Table {
	t := &Table{Caption: caption}
	for _, v := range columns {
		c, ok := v.(Column)
		if !ok {
			c = columnOf(v)
		}
		t.Columns = append(t.Columns, c)
	}
	return t
}

func columnOf(v any) Column {
	c := Column{Name: textOf(v), In: Everywhere}
	name, ok := v.(string)
	if !ok {
		return c
	}
	c.Number = strings.Contains(prefix(name), ">")
	switch {
	case strings.Contains(prefix(name), "#"):
		c.In = HTML
	case strings.Contains(prefix(name), "|"):
		c.In = Pages
	}
	c.Name = textOf(name[len(prefix(name)):])
	return c
}

// prefix returns the signs before the name of a column.
func prefix(name string) string { return name[:len(name)-len(strings.TrimLeft(name, ">#|"))] }

// Row is a row for some of the forms.
type Row struct {
	In    Forms
	Cells []Cell
}

// Row adds a row of Cells, Texts, data, or anything that fmt.Sprint formats.
func (t *Table) Row(cells ...any) { t.RowIn(Everywhere, cells...) }

// RowIn is Row for some of the forms.
func (t *Table) RowIn(in Forms, cells ...any) {
	row := Row{in, make([]Cell, len(cells))}
	for i, c := range cells {
		if known, ok := c.(Cell); ok {
			row.Cells[i] = known
		} else {
			row.Cells[i].Text = textOf(c)
		}
	}
	t.Rows = append(t.Rows, row)
}

// For returns the table with the columns and the rows of a form.
func (t *Table) For(in Forms) *Table {
	out := &Table{Caption: t.Caption, Most: t.Most}
	for _, c := range t.Columns {
		if c.In&in != 0 {
			out.Columns = append(out.Columns, c)
		}
	}
	for _, r := range t.Rows {
		if r.In&in == 0 {
			continue
		}
		row := Row{In: in}
		for i, c := range r.Cells {
			if t.Columns[i].In&in != 0 {
				row.Cells = append(row.Cells, c)
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// Cell is a text with a mark before it, a bar, or a link.
type Cell struct {
	Text Text
	Tone Tone
	// Mark is a sign that Text says in words, for HTML.
	Mark string
	// Bar draws the value, for HTML.
	Bar func() template.HTML
	URL string
}

// Tone says whether something is as it should be.
type Tone string

// The tones, which are classes of HTML.
const (
	Plain Tone = ""
	None  Tone = "none"
	Good  Tone = "pass"
	Bad   Tone = "fail"
	Doubt Tone = "warn"
)

// Text is words of the program with data in them. The zero value is empty.
type Text struct {
	format string
	args   []any
}

// Texts of others, which each form cuts and escapes.
type (
	// Name is short, such as an id.
	Name string
	// Data may be long.
	Data string
	// Path is not cut on a terminal.
	Path string
	// Message has several lines.
	Message string
)

// F returns a text like fmt.Sprintf. Arguments that are texts of others or a Text are for %s.
func F(format string, args ...any) Text { return Text{format, args} }

func textOf(v any) Text {
	if t, ok := v.(Text); ok {
		return t
	}
	return Text{"%v", []any{v}}
}

// Empty reports whether there is no text.
func (t Text) Empty() bool { return t.format == "" }

// Join returns the texts, which may be strings and data, with a separator between them.
func Join[T any](separator string, texts ...T) Text {
	var out Text
	for i, text := range texts {
		if i > 0 {
			out.format += separator
		}
		out.format += "%v"
		out.args = append(out.args, text)
	}
	return out
}

// Names are several names.
func Names(list []string) []Name {
	out := make([]Name, len(list))
	for i, n := range list {
		out[i] = Name(n)
	}
	return out
}

// Toned returns a word with a tone.
func Toned(tone Tone, word string) Text { return F("%s", toned{tone, word}) }

type toned struct {
	tone Tone
	word string
}

// Escape is how a form shows the parts of a text.
type Escape struct {
	Own, Name, Data, Path, Message func(string) string
	Tone                           func(Tone, string) string
}

// With returns the text as a form shows it.
func (t Text) With(e Escape) string {
	args := make([]any, len(t.args))
	for i, a := range t.args {
		switch a := a.(type) {
		case Name:
			args[i] = e.Name(string(a))
		case Data:
			args[i] = e.Data(string(a))
		case Path:
			args[i] = e.Path(string(a))
		case Message:
			args[i] = e.Message(string(a))
		case Text:
			args[i] = a.With(e)
		case toned:
			args[i] = e.Tone(a.tone, e.Own(a.word))
		case string:
			args[i] = e.Own(a)
		case fmt.Stringer:
			args[i] = e.Own(a.String())
		default:
			args[i] = a
		}
	}
	return fmt.Sprintf(e.Own(t.format), args...)
}
