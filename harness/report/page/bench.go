package page

import (
	"fmt"

	"evalctl/harness/bench/record"
	tables "evalctl/harness/bench/table"
)

// addBench adds the verdicts and the tables of a bench.
func (d *document) addBench(f *record.File) {
	d.Title = "Bench of " + name(f.SDK)
	d.Tool = toolOf(f.Tool)
	d.Band = benchBand(f)
	if len(f.Verdicts) > 0 {
		t := &table{Caption: "What was required", Columns: columns("verdict", "sentence")}
		for _, v := range f.Verdicts {
			mark := cell{Text: "holds", Mark: "✓", Class: "pass"}
			if !v.Held {
				mark = cell{Text: "does not hold", Mark: "✗", Class: "fail"}
			}
			t.row(mark, cell{Text: line(v.Sentence, foundLength)})
		}
		d.add(section{ID: "required", Title: "Required", Blocks: []block{{Table: t}}})
	}
	for i, found := range tables.Of(f) {
		d.add(benchSection(i, found))
	}
	if tables.Near(f) {
		d.Warnings = append(d.Warnings, tables.NearNote)
	}
}

func benchSection(i int, found tables.Table) section {
	heads := make([]string, len(found.Columns))
	for j, head := range found.Rows[0] {
		heads[j] = name(head)
		if found.Columns[j] == 'r' {
			heads[j] = ">" + heads[j]
		}
	}
	t := &table{Caption: found.Title, Columns: columns(heads...)}
	for _, row := range found.Rows[1:] {
		texts := make([]string, len(row))
		for j, text := range row {
			texts[j] = name(text)
		}
		t.row(cells(texts...)...)
	}
	s := section{ID: fmt.Sprintf("bench-%d", i+1), Title: found.Title, Blocks: []block{{Table: t}}}
	for _, sentence := range found.Below {
		s.add(block{Text: line(sentence, foundLength)})
	}
	return s
}

// benchBand returns the verdict: what was required holds.
func benchBand(f *record.File) band {
	b := band{Class: "none", Mark: "≡", Word: "Measured", Heading: "Bench of " + name(f.SDK),
		Sentence: fmt.Sprintf("%s in %d blocks of %g s", count(len(f.Targets), "target"), len(f.Blocks), f.Plan.BlockSeconds)}
	if len(f.Verdicts) > 0 {
		b.Class, b.Mark, b.Word = "pass", "✓", "Pass"
	}
	for _, v := range f.Verdicts {
		if !v.Held {
			b.Class, b.Mark, b.Word = "fail", "✗", "Fail"
			b.More = append(b.More, line(v.Sentence, foundLength))
		}
	}
	if f.Stopped != "" {
		b.Class, b.Mark, b.Word = "warn", "‖", "Stopped"
		b.More = append(b.More, "The bench was stopped: "+name(string(f.Stopped)))
	}
	return b
}
