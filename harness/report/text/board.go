package text

import (
	"fmt"
	"strings"

	"evalctl/harness/board"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Board prints the ranked results of a folder.
func Board(t *terminal.Terminal, b *board.Board) {
	for i := range b.Groups {
		if i > 0 {
			t.Blank()
		}
		boardGroup(t, &b.Groups[i])
	}
}

// NotRanked prints what a board of the results in dir leaves out.
func NotRanked(t *terminal.Terminal, b *board.Board, dir string) {
	if len(b.Groups) == 0 {
		t.Field("empty", "no result in %s can be ranked: evalctl run writes them", terminal.Line(dir))
	}
	for _, l := range b.LeftOut {
		t.Field("left out", "%s: %s", terminal.Line(l.Path), terminal.Line(l.Reason))
	}
}

func boardGroup(t *terminal.Terminal, g *board.Group) {
	t.Field("group", "%s  %s", terminal.Line(g.Title()), figure.Count(g.Questions, "question"))
	var common []string
	for _, c := range g.Common {
		if c.Value != "none" && c.Value != "no" {
			common = append(common, c.Key+" "+terminal.Short(c.Value, 24))
		}
	}
	t.Field("common", "%s", strings.Join(common, "  "))
	rows := [][]string{{"result", "letters", "place", "passed", "rate", "95%", "p50", "cost"}}
	for _, r := range g.Rows {
		rate, within, p50 := "–", "–", "too few"
		if r.PassRate != nil {
			rate = fmt.Sprintf("%.3f", *r.PassRate)
		}
		if r.Interval != nil {
			within = fmt.Sprintf("%.3f–%.3f", r.Interval.Low, r.Interval.High)
		}
		if r.Latency.P50 != nil {
			p50 = fmt.Sprintf("%.3g ms", *r.Latency.P50)
		}
		passed := fmt.Sprintf("%d/%d", r.Passed, r.Total)
		if r.NotMeasurable > 0 {
			passed += fmt.Sprintf(" (%d not measurable)", r.NotMeasurable)
		}
		rows = append(rows, []string{terminal.Short(r.Name, 40), r.Letters, r.Places(), passed, rate, within, p50, terminal.Short(r.Cost, 60)})
	}
	t.Table(rows)
	if g.Tests > 0 {
		t.Field("letters", "two results share a letter if no difference is shown (%s, Holm)", figure.Count(g.Tests, "paired test"))
	}
}
