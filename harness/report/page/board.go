package page

import (
	"fmt"
	"math"

	"evalctl/harness/board"
	"evalctl/harness/result"
	"evalctl/internal/svg"
)

// addBoard adds the ranked results of a folder. urls has the pages of results, by their paths.
func (d *document) addBoard(b *board.Board, urls map[string]string) {
	ranked, compared := 0, 0
	for _, g := range b.Groups {
		ranked += len(g.Rows)
		if len(g.Rows) > 1 {
			compared++
		}
	}
	d.Title = "Results in " + name(b.Root)
	d.Band = band{
		Class: "none", Mark: "≡", Word: "board", Heading: d.Title,
		Figure: count(ranked, "result") + " in " + count(len(b.Groups), "group"),
		Sentence: "Only results that measured the same thing are ranked together. " +
			"Two results share a letter if no difference between them is shown.",
	}
	for i := range b.Groups {
		d.add(boardSection(i, &b.Groups[i], urls))
	}
	if len(b.LeftOut) > 0 {
		t := table{Caption: "Files that are not ranked", Columns: columns("File", "Why")}
		for _, l := range b.LeftOut {
			t.row(cells(name(l.Path), line(l.Reason, 300))...)
		}
		d.add(section{ID: "left-out", Title: "Left out", Blocks: []block{{Table: &t}}})
	}
	d.add(section{ID: "how", Title: "How to read this", Blocks: []block{{Facts: []fact{
		{Name: "Place", Value: "From one more than the number of results that are shown to be better, " +
			"to the number of those that are not shown to be worse."},
		{Name: "Letters", Value: fmt.Sprintf("Each pair of a group has a paired test over the same questions (McNemar's, or a sign-flip "+
			"test with repeats). A difference is shown if p, adjusted over all pairs of the group (Holm), is below %.2f.", 1-confidenceOfBoard)},
		{Name: "Not shown", Value: "That no difference is shown does not mean that there is none: it may be too small for so many questions."},
	}}}})
}

const confidenceOfBoard = 0.95

func boardSection(i int, g *board.Group, urls map[string]string) section {
	s := section{ID: fmt.Sprintf("group-%d", i+1), Title: name(g.Title())}
	var facts []fact
	for _, c := range g.Common {
		facts = append(facts, fact{Name: c.Key, Value: line(c.Value, 200), Code: len(c.Value) == 64})
	}
	t := table{
		Caption: fmt.Sprintf("%s, %s, %s", count(len(g.Rows), "result"), count(g.Questions, "question"), count(g.Tests, "paired test")),
		Columns: columns("Place", "Result", "Letters", ">Passed", ">Pass rate", "", "95% interval", ">Latency p50", ">Cost", "Date"),
	}
	for _, r := range g.Rows {
		rate, within, bar := "–", "–", cell{}
		if r.PassRate != nil {
			rate = rateOf(r.PassRate)
			shown := svg.Interval{Value: *r.PassRate, Low: *r.PassRate, High: *r.PassRate}
			if r.Interval != nil {
				within = fmt.Sprintf("%.3f–%.3f", r.Interval.Low, r.Interval.High)
				shown.Low, shown.High = r.Interval.Low, r.Interval.High
			}
			bar.Bar = svg.Bar(shown, math.NaN())
		}
		passed := fmt.Sprintf("%d/%d", r.Passed, r.Total)
		if r.NotMeasurable > 0 {
			passed += fmt.Sprintf(" (%d not measurable)", r.NotMeasurable)
		}
		t.row(cell{Text: r.Places()}, cell{Text: name(r.Name), URL: urls[r.Path]}, cell{Text: r.Letters}, cell{Text: passed},
			cell{Text: rate}, bar, cell{Text: within}, cell{Text: medianOf(r.Latency)}, cell{Text: line(r.Cost, 120)},
			cell{Text: r.Entry.Date()})
	}
	s.add(block{Table: &t}, block{Facts: facts})
	return s
}

// medianOf returns the median of a latency, or that there are too few values.
func medianOf(q result.Quantiles) string {
	if q.P50 == nil {
		return "too few"
	}
	return milliseconds(*q.P50)
}
