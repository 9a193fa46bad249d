// Package form defines the parts of a report, and writes reports as text for terminals, as Markdown
// and as HTML. It does not depend on the measurements.
//
// A Text keeps texts of datasets, daemons and models apart from the program's own words, so that
// each form can shorten and escape them in its own way.
package form

import (
	"fmt"
	"html/template"
	"strings"

	"evalctl/internal/terminal"
)

// Report is a report in the order of a page. A terminal shows the First sections, then the others,
// and Last the verdict.
type Report struct {
	Verdict Verdict
	Links   []Link
	// Warnings are warnings that a reader must see before any figure.
	Warnings []Text
	Sections []Section
	// Tool names the program that measured.
	Tool string
}

// Verdict is the head of a page.
type Verdict struct {
	Tone Tone
	// Mark and Word express Tone as a sign and as a word.
	Mark, Word string
	// Title names the subject of the report. Headline is the verdict in a line; if it is empty,
	// Word and Title are used.
	Title, Headline Text
	// About describes the measurement. It may be empty.
	About Text
	// Rate is the main figure, Figure its name. Both may be empty.
	Rate, Figure string
	// Sentences are the reasons, the most important first.
	Sentences []Text
}

// FirstSentences is how many sentences of a verdict an HTML page shows. The others are folded.
const FirstSentences = 3

// Section is a part of a report with a heading.
type Section struct {
	ID, Title string
	Place     Place
	// Folded hides the section of an HTML page until it is opened.
	Folded bool
	Blocks []Block
}

// Add adds the non-empty blocks.
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

// Fact adds a fact to the facts at the end of the section. An empty name continues the previous
// fact. Two blanks separate parts, between which a terminal may break lines.
func (s *Section) Fact(name, format string, args ...any) {
	s.FactIn(Everywhere, name, format, args...)
}

// FactIn is like Fact, for some forms only.
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

// Show adds a content for some forms.
func (s *Section) Show(in Forms, c any) { s.Add(Block{in, c}) }

// For returns the blocks that a form shows, without empty ones and without the facts, columns and
// rows of other forms. Adjacent facts are one block.
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

// Place is the position of a section on a terminal.
type Place int

// The places.
const (
	First Place = iota - 1
	Between
	Last
)

// Forms is a set of forms.
type Forms int

// The forms.
const (
	Terminal Forms = 1 << iota
	Markdown
	HTML
	Everywhere = Terminal | Markdown | HTML
	Pages      = Markdown | HTML
)

// Block is content for some forms: Facts, Note, Warning, *Table, List, Chart, Plot, Fold,
// Sentences, Gap or Print.
type Block struct {
	In      Forms
	Content any
}

type (
	// Facts are names with values.
	Facts []Fact
	// Note is a sentence.
	Note Text
	// Warning is a sentence that a reader must not miss.
	Warning Text
	// Gap is a blank line on a terminal.
	Gap struct{}
	// Sentences come first on a terminal.
	Sentences []Text
	// Print prints on a terminal only.
	Print func(*terminal.Terminal)
	// List is a list of items. Pages fold it.
	List struct {
		Title string
		N     int
		Item  func(i int) Item
		More  Text // where the items are that do not fit
		Most  int  // how many a terminal shows, 0 for all
		// Folded is how many items Markdown lists, 0 for as many as fit.
		Folded int
	}
	// Chart is a drawing with a caption.
	Chart struct {
		SVG     func() template.HTML
		Caption string
	}
	// Plot shows values with their intervals on one scale, one per row.
	Plot struct {
		Caption string
		Rows    []PlotRow
		Axis    func() template.HTML
	}
	// Fold is content with a title that an HTML page hides until it is opened.
	Fold struct {
		Title   string
		Content any
	}
)

// PlotRow is a value of a Plot with its name and its figure. A row without Draw is a heading.
type PlotRow struct {
	Name, Value Text
	Tone        Tone
	// Mark is a sign for something that Value says in words.
	Mark string
	Draw func() template.HTML
}

// Fact is a name with its value.
type Fact struct {
	Name  string
	Value Text
	In    Forms
}

// For returns the facts of a form. Pages join facts without a name to the previous one.
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

// Item is a line with further lines below it.
type Item struct {
	Tone  Tone // for HTML
	Head  Text
	Below Facts
}

// Link is a link to another page. A URL with a scheme other than http and https is replaced by a
// dead link.
type Link struct{ Text, URL string }

// Table is a table whose first column names the rows.
type Table struct {
	Caption Text
	Columns []Column
	Rows    []Row
	// Most limits the rows on a terminal, 0 for all.
	Most int
}

// Column is the head of a column.
type Column struct {
	Name Text
	// Number aligns the cells to the right.
	Number bool
	In     Forms
}

// NewTable returns a table with columns, which are Columns, data, Texts or strings. A string may
// have a prefix: ">" for numbers, "#" for a column only in HTML, "|" for a column that terminals
// omit.
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

// prefix returns the prefix of a column name.
func prefix(name string) string { return name[:len(name)-len(strings.TrimLeft(name, ">#|"))] }

// Row is a row for some forms.
type Row struct {
	In    Forms
	Cells []Cell
}

// Row adds a row of Cells, Texts, data, or anything that fmt.Sprint formats.
func (t *Table) Row(cells ...any) { t.RowIn(Everywhere, cells...) }

// RowIn is like Row, for some forms only.
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

// Cell is a text, with a mark, a bar, or a link.
type Cell struct {
	Text Text
	Tone Tone
	// Mark is a sign for something that Text says in words, for HTML.
	Mark string
	// Bar draws the value, for HTML.
	Bar func() template.HTML
	URL string
}

// Tone says whether something is good or bad.
type Tone string

// The tones, which are classes of HTML.
const (
	Plain Tone = ""
	None  Tone = "none"
	Good  Tone = "pass"
	Bad   Tone = "fail"
	Doubt Tone = "warn"
)

// Text is the program's words with data. The zero value is empty.
type Text struct {
	format string
	args   []any
}

// Foreign texts, which each form shortens and escapes.
type (
	// Name is short, such as an id.
	Name string
	// Data may be long.
	Data string
	// Path is not shortened on a terminal.
	Path string
	// Message has several lines.
	Message string
)

// F formats a text like fmt.Sprintf. Use %s for foreign texts and Texts.
func F(format string, args ...any) Text { return Text{format, args} }

func textOf(v any) Text {
	if t, ok := v.(Text); ok {
		return t
	}
	return Text{"%v", []any{v}}
}

// Empty reports whether the text is empty.
func (t Text) Empty() bool { return t.format == "" }

// Join joins texts, which may be strings and data, with a separator.
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

// Digest abbreviates a digest.
func Digest(sum string) Name {
	if len(sum) > 8 {
		return Name(sum[:8] + "…")
	}
	return Name(sum)
}

// Names converts a list to Names.
func Names(list []string) []Name {
	out := make([]Name, len(list))
	for i, n := range list {
		out[i] = Name(n)
	}
	return out
}

// Toned returns a word with a tone.
func Toned(tone Tone, word string) Text { return F("%s", tonedWord{tone, word}) }

type tonedWord struct {
	tone Tone
	word string
}

// Escape says how a form shows the parts of a text.
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
		case tonedWord:
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
