package report_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"evalctl/harness/bench/record"
	"evalctl/harness/history"
	"evalctl/harness/report"
	"evalctl/internal/goldentest"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
)

// months is a trend of two lines of results and one of benches: a line that changed, with questions
// that turned, and one whose result is alone.
func months() report.Trend {
	long := &history.Line{Dataset: "data/core.jsonl", Older: 3, Questions: []history.Turn{
		{Kind: history.Fixed, ID: "q-fixed", Since: "2026-09-22", Nights: 2, Before: 3, States: "---++"},
		{Kind: history.Flaky, ID: "q-\x1bflaky", Since: "2026-09-20", States: strings.Repeat("+~", 20)},
	}}
	for i, passed := range []int{5, 6, 6, 2, 1, 2} {
		long.Nights = append(long.Nights, nightOf(fmt.Sprintf("2026-09-%d", 20+i), passed))
	}
	long.Nights[3].Changed, long.Nights[5].Others = []string{"daemon.version", "mode"}, 2
	long.Changes = []history.Change{{Date: "2026-09-23", Before: 0.944, After: 0.278, NightsBefore: 3, NightsAfter: 3, P: 0.004, Changed: long.Nights[3].Changed}}
	for i := range 22 {
		long.Questions = append(long.Questions, history.Turn{Kind: history.Broke, ID: fmt.Sprintf("q-%02d", i), Since: "2026-09-23", Nights: 3, Before: 3, States: "+++---"})
	}
	alone := &history.Line{Dataset: "data/other.jsonl", Nights: []history.Night{nightOf("2026-09-24", -1)}, Missing: []string{"judge"},
		Unread: []history.Unreadable{{Path: "go.json", Reason: "go.json: cut"}}}
	loads := []history.Load{
		{Rate: &record.Quantity{Value: 350, Low: ptr(300.0), High: ptr(400.0)}, P50: &record.Quantity{Value: 2}, P99: &record.Quantity{Value: 9}, NullP99: &record.Quantity{Value: 1}, Daemon: "1.0"},
		{Rate: &record.Quantity{Value: 29.5}, P99: &record.Quantity{Value: 11}},
	}
	return report.Trend{Trend: history.Trend{Root: "results", Lines: []*history.Line{long, alone}, Benches: []*history.BenchLine{
		{Target: "go", Op: "a\x1bsk", Arrival: "8 clients", Documents: 50, Older: 2, Nights: []history.BenchNight{{Date: "2026-09-24", Load: loads[1]}, {Date: "2026-09-25", Load: loads[0]}}},
	}}}
}

// TestTrendForms compares each form of a trend with a golden file, or writes it with -update.
func TestTrendForms(t *testing.T) {
	for name, environment := range map[string]string{"wide": "", "narrow": "80"} {
		var out bytes.Buffer
		report.Text(terminal.New(&out, func(string) string { return environment }, false), months())
		goldentest.Compare(t, "testdata/trend-"+name+".golden", out.String())
	}
	var out bytes.Buffer
	if err := report.Markdown(&out, months(), report.MaxSummary); err != nil {
		t.Fatal(err)
	}
	goldentest.Compare(t, "testdata/trend.md", out.String())
	out.Reset()
	if err := report.HTML(&out, report.Page{Document: months()}); err != nil {
		t.Fatal(err)
	}
	nodes := parse(t, out.String())
	checkSafe(t, nodes)
	charts := 0
	for _, n := range nodes {
		if n.Data == "svg" {
			charts++
		}
	}
	if charts != 2 { // the pass rates of one line, and the bench: nothing has cost anything
		t.Errorf("%d charts", charts)
	}
}

// TestCostByNight: all nights have cost money, and one night is no line.
func TestCostByNight(t *testing.T) {
	chart := func(dates ...string) string {
		l := &history.Line{}
		for i, date := range dates {
			night := nightOf(date, 5-6*(i%2)) // every other night is without a score
			night.Entry.Result.Cost.SpentUSD = llm.Dollar
			l.Nights = append(l.Nights, night)
		}
		var out bytes.Buffer
		if err := report.HTML(&out, report.Page{Document: trendOf(l, "")}); err != nil {
			t.Fatal(err)
		}
		_, chart, _ := strings.Cut(out.String(), `aria-label="Cost by night`)
		chart, _, _ = strings.Cut(chart, "</svg>")
		return chart
	}
	if got := chart("2026-09-20"); got != "" {
		t.Errorf("a chart of one night: %s", got)
	}
	for _, want := range []struct {
		dates  []string
		labels string
	}{
		{[]string{"2026-09-20", "2026-09-21"}, ">09-20</text>,>09-21</text>"},
		{[]string{"2025-01-10", "2025-09-20", "2026-09-21"}, ">2025-04</text>,>2025-11</text>,>2026-05</text>"},
	} {
		got := chart(want.dates...)
		labels := regexp.MustCompile(`>[0-9]+-[0-9]+</text>`).FindAllString(got, -1)
		if strings.Join(labels, ",") != want.labels || strings.Count(got, `class="point"`) != len(want.dates) {
			t.Errorf("the labels are %v of %d points in %s", labels, strings.Count(got, `class="point"`), got)
		}
	}
}

// TestPastOfADay has the days between the nights.
func TestPastOfADay(t *testing.T) {
	var out bytes.Buffer
	past := report.Past{Arm: "go", Past: history.Past{LeftOut: 2, Differing: []string{"judge"},
		Line: &history.Line{Nights: []history.Night{nightOf("2026-09-20", 5), nightOf("2026-09-22", 3)}}}}
	if err := report.Markdown(&out, past, report.MaxSummary); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"`go` · █·▁ · from 0.50 (▁) to 0.83 (█).\n", "<details><summary>3 nights</summary>\n\n| night |",
		"| 2026-09-21 | – | – | – | missing | – |  |\n", "\n\n</details>\n", "2 results left out, with another judge, or none recorded.\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}
