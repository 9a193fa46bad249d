package report

import (
	"strings"

	"evalctl/harness/compare"
	"evalctl/internal/markdown"
)

// Replay is what a replay of several arms measured, and how they compare with each other.
type Replay struct {
	Arms
	Compared *compare.Arms
}

func (r Replay) page() *Page { return &Page{Compared: r.Compared} }

// write writes how the arms compare, and then a section for each.
func (r Replay) write(p *summary) {
	p.printf("## Comparison of %s\n\n", join(markdown.Code, r.Compared.Names...))
	for _, sentence := range r.Compared.Sentences() {
		p.printf("- %s\n", markdown.Span(sentence, sentenceLength))
	}
	p.printf("\n")
	Compared{r.Compared}.write(p)
	r.Arms.write(p)
}

// Compared is how the arms of a replay compare: the figures, without the sentences of
// compare.Arms.Sentences.
type Compared struct{ *compare.Arms }

func (Compared) suites() []suite           { return nil }
func (Compared) annotations() []annotation { return nil }
func (c Compared) page() *Page             { return &Page{Compared: c.Arms} }

// write writes in what the arms differ besides their results, and the comparison if there is one.
func (c Compared) write(p *summary) {
	header := []string{"what was seen"}
	for _, name := range c.Names {
		header = append(header, markdown.Cell(name))
	}
	t := markdown.NewTable(strings.Repeat("l", len(header)), header...)
	for _, f := range c.Facts {
		row := []string{f.Name}
		for _, v := range f.Values {
			row = append(row, markdown.Cell(v))
		}
		t.Row(row...)
	}
	p.part(t.Write)
	if c.Comparison != nil {
		Comparison{c.Comparison}.tables(p)
	}
}
