package report

import (
	"math"
	"strings"
	"testing"

	"evalctl/harness/bench/record"
	"evalctl/harness/compare"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/svg"
)

// TestPairRows: losses that are shown come first, then gains, and HTML folds the others with their
// number. Markdown says how many they are.
func TestPairRows(t *testing.T) {
	rows := pairRows{columns: []any{"pair", "verdict"}}
	for name, v := range map[string]compare.Verdict{"gain": compare.Better, "loss": compare.Worse} {
		rows.add(v, 0.1, form.Name(name), "")
	}
	for range 3 {
		rows.add(compare.NotSeen, -0.5, form.Name("unknown"), "")
	}
	rows.add(compare.Worse, -0.3, form.Name("large loss"), "")
	s := form.Section{}
	rows.in(&s, form.Pages, form.F("Differences"), "pairs")
	names := func(table *form.Table) (out string) {
		for _, r := range table.Rows {
			out += r.Cells[0].Text.String() + ","
		}
		return out
	}
	html := s.For(form.HTML)
	if len(html) != 2 {
		t.Fatalf("HTML has %d blocks", len(html))
	}
	if got, want := names(html[0].Content.(*form.Table)), "large loss,loss,gain,"; got != want {
		t.Errorf("open: %s, want %s", got, want)
	}
	fold := html[1].Content.(form.Fold)
	if got, want := names(fold.Content.(*form.Table)), "unknown,unknown,unknown,"; got != want || fold.Title != "3 rows without a difference shown: pairs" {
		t.Errorf("folded as %q: %s, want %s", fold.Title, got, want)
	}
	markdown := s.For(form.Markdown)
	if got, want := names(markdown[0].Content.(*form.Table)), "large loss,loss,gain,"; got != want {
		t.Errorf("Markdown: %s, want %s", got, want)
	}
	if got := markdown[1].Content.(form.Facts)[0].Value.String(); got != "no difference is shown in 3 of 6 rows" {
		t.Errorf("Markdown says of the others: %s", got)
	}
}

// TestBenchCharts: requests that failed are part of the distribution, and objectives are lines of
// it.
func TestBenchCharts(t *testing.T) {
	fast, slow := record.NewHistogram(), record.NewHistogram()
	for range 90 {
		fast.Add(5e6)
		slow.Add(50e6)
	}
	block := func(target int, at float64, h *record.Histogram) record.Block {
		return record.Block{Target: target, Size: 10, AtSeconds: at, Seconds: 1,
			Ops: []record.OpBlock{{Op: "search", Offered: 100, OK: 90, Dropped: 10, Latency: h}}}
	}
	b := NewBench(&record.File{
		Plan:    record.Plan{Objectives: "p99<20ms,errors<1%", Stages: make([]record.Stage, 1), Sizes: []int{10}},
		Targets: []record.Target{{Name: "a"}, {Name: "b"}},
		Blocks:  []record.Block{block(0, 1, fast), block(1, 2, slow), block(0, 3, fast)},
	}, "")
	d := b.distribution()
	if len(d.Lines) != 2 || len(d.Limits) != 1 || d.Limits[0].At != 20 || !d.Limits[0].OfX {
		t.Fatalf("lines %d, limits %+v", len(d.Lines), d.Limits)
	}
	if points := d.Lines[0].Points; math.Abs(points[len(points)-1].Y-0.9) > 0.01 {
		t.Errorf("with a tenth dropped, the distribution ends at %.3f", points[len(points)-1].Y)
	}
	if c := b.course(); len(c.Lines) != 4 || len(c.Lines[0].Points) != 2 || math.Abs(c.Lines[1].Points[0].Y-50) > 0.1 {
		t.Errorf("the course is %+v", c.Lines)
	}
}

// TestPareto: what has no latency is not drawn, and one alone is no chart.
func TestPareto(t *testing.T) {
	one := quality{name: "one", rate: new(0.5), p50: new(10.0), interval: &result.Interval{Low: 0.4, High: 0.6}}
	for _, tt := range []struct {
		all    []quality
		charts int
	}{
		{[]quality{one, {name: "two", rate: new(0.6)}}, 0},
		{[]quality{one, {name: "two", rate: new(0.6), p50: new(5.0)}}, 1},
		{[]quality{{rate: new(0.5), p50: new(1.0), cost: new(0.0)}, {rate: new(0.5), p50: new(1.0), cost: new(0.0)}}, 1},
		{[]quality{{rate: new(0.5), p50: new(1.0), cost: new(0.1)}, {rate: new(0.5), p50: new(1.0), cost: new(0.2)}}, 2},
	} {
		s := form.Section{}
		pareto(&s, tt.all)
		if len(s.Blocks) != tt.charts {
			t.Errorf("%d charts of %+v, want %d", len(s.Blocks), tt.all, tt.charts)
		}
	}
	if p := places([]quality{one}, func(q quality) *float64 { return q.p50 })[0]; p != (svg.Place{X: 10, Y: 0.5, Low: 0.4, High: 0.6, Label: "one"}) {
		t.Errorf("the point is %+v", p)
	}
}

// TestSweepPage: the page of a sweep names the highest recall, and draws recall against latency.
// A top-k that covers the brain finds everything, and is not the best.
func TestSweepPage(t *testing.T) {
	cell := func(mode string, recall, p50 float64) result.Cell {
		res := result.Result{Retrieval: &result.Retrieval{Macro: result.Metrics{"recall@5": recall}}}
		res.Counts = result.Counts{Total: 10}
		res.Latency.P50 = &p50
		return result.Cell{Mode: mode, TopK: 5, Result: res}
	}
	var page strings.Builder
	whole := cell("hybrid", 1, 4)
	whole.Result.Retrieval.Warnings = []result.Warning{{Kind: result.TopKCoversBrain}}
	w := Sweep{File: result.Sweep{SDK: "go", Planned: 3, Cells: []result.Cell{cell("bm25", 0.9, 2), cell("<b>", 0.8, 3), whole}}}
	if err := HTML(&page, Page{Document: w}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"highest recall, with bm25 top-k 5", `class="front"`, "&lt;b&gt;", "3 of 3 combinations measured"} {
		if !strings.Contains(page.String(), part) {
			t.Errorf("no %s in the page", part)
		}
	}
}
