package page

import (
	"html/template"
	"strings"
)

// band is the head of a page: what was measured and its verdict.
type band struct {
	// Class is pass, fail, warn or none. Mark and Word say the same.
	Class, Mark, Word string
	Heading           string
	// About says what was measured. It may be empty.
	About string
	// Rate is the main figure, Figure says of what. Both may be empty.
	Rate, Figure string
	Sentence     string
	// More has further sentences, such as how certain the verdict is.
	More []string
}

// section is a part of a page with a heading.
type section struct {
	ID, Title string
	Blocks    []block
}

func (s *section) add(blocks ...block) { s.Blocks = append(s.Blocks, blocks...) }

// block is one of several kinds of content: the field that is set.
type block struct {
	Text string
	// Warning is a text that a reader must not miss.
	Warning string
	Facts   []fact
	Table   *table
	Chart   *chart
	// Files can be saved.
	Files []file
	Items []item
	// Questions can be filtered and sorted.
	Questions *questions
}

// fact is a name with its value.
type fact struct{ Name, Value string }

// Lines reports whether the value has several lines.
func (f fact) Lines() bool { return strings.Contains(f.Value, "\n") }

// item can be opened to show its facts.
type item struct {
	Class, Head string
	Facts       []fact
}

// chart is a drawing with a caption that says what it shows.
type chart struct {
	SVG     template.HTML
	Caption string
}

// file is a text that the page contains.
type file struct {
	Name, Text string
	URL        template.URL
}

// table is a table whose first column names the rows.
type table struct {
	Caption string
	Columns []column
	Rows    [][]cell
}

// column is the head of a column. Number aligns its cells to the right.
type column struct {
	Name   string
	Number bool
}

// cell is a cell of a table: a text with a mark before it, a bar, or a link.
type cell struct {
	Text string
	// Mark is a sign that Text says in words, Class its colour.
	Mark, Class string
	Bar         template.HTML
	URL         string
}

// cells returns cells of texts.
func cells(texts ...string) []cell {
	out := make([]cell, len(texts))
	for i, text := range texts {
		out[i].Text = text
	}
	return out
}

func (t *table) row(cells ...cell) { t.Rows = append(t.Rows, cells) }
