package page

import (
	"slices"
	"strings"

	"evalctl/harness/compare"
)

// addArms adds what is known about the arms of a replay against each other.
func (d *document) addArms(c *compare.Arms) {
	var names []string
	for _, n := range c.Names {
		names = append(names, name(n))
	}
	d.Band = band{Class: "warn", Mark: "≠", Word: "Not comparable", Heading: "Comparison of " + strings.Join(names, ", ")}
	switch {
	case c.Comparison != nil:
		b := comparisonBand(c.Comparison)
		d.Band.Class, d.Band.Mark, d.Band.Word = b.Class, b.Mark, b.Word
	case c.Refused == nil:
		d.Band.Class, d.Band.Mark, d.Band.Word = "none", "–", "Not compared"
	}
	d.Title = d.Band.Heading
	for i, sentence := range c.Sentences() {
		if i == 0 {
			d.Band.Sentence = clean(sentence)
			continue
		}
		d.Band.More = append(d.Band.More, clean(sentence))
	}
	d.add(section{ID: "arms", Title: "Arms", Blocks: []block{{Table: factTable(c, names)}}})
	if c.Refused != nil {
		d.add(section{ID: "differs", Title: "In what the arms differ", Blocks: []block{{Table: refusedTable(c.Refused)}}})
	}
	if c.Comparison != nil {
		d.addCompared(c.Comparison)
	}
}

// factTable has what was recorded of the arms besides their results.
func factTable(c *compare.Arms, names []string) *table {
	t := &table{Caption: "What was seen of the arms besides their results", Columns: columns(append([]string{"what was seen"}, names...)...)}
	for _, f := range c.Facts {
		row := cells(f.Name)
		for _, v := range f.Values {
			row = append(row, cell{Text: name(v)})
		}
		t.row(row...)
	}
	return t
}

// refusedTable has the differences for which the arms are not compared.
func refusedTable(e *compare.IncomparableError) *table {
	head := []string{"what was measured"}
	for _, n := range e.Names {
		head = append(head, name(n))
	}
	t := &table{Caption: "Differences that were not accepted", Columns: columns(head...)}
	for _, k := range e.Keys {
		if !slices.Contains(e.Differing, k.Name) {
			continue
		}
		row := cells(name(k.Name))
		for _, v := range k.Values {
			row = append(row, cell{Text: line(compare.ValueText(v), valueLength)})
		}
		t.row(row...)
	}
	return t
}
