// Package form defines the parts of a report, and writes reports as text for terminals, as Markdown
// and as HTML. It does not depend on the measurements.
//
// A Text keeps texts of datasets, daemons and models apart from the program's own words, so that
// each form can shorten and escape them in its own way.
package form

import (
	"html/template"

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
	// Fold is content with a title that a page hides until it is opened. In Markdown it is a table.
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
