package nightly

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/report"
	"evalctl/harness/result"
	"evalctl/internal/markdown"
)

// comparisonSize is the size in bytes that the figures of a comparison may have.
const comparisonSize = 1 << 18

// sentences writes how the arms compare, in words.
func sentences(w io.Writer, compared *compare.Arms) {
	if compared == nil {
		return
	}
	for _, s := range compared.Sentences() {
		fmt.Fprintf(w, "- %s\n", markdown.Span(s, 2*textLength))
	}
	fmt.Fprintln(w)
}

// comparison writes the arms side by side, and how they compare. The error is that of w.
func comparison(w io.Writer, arms []*measured, compared *compare.Arms) error {
	fmt.Fprintln(w)
	have := withResult(arms)
	if compared == nil || len(have) < 2 {
		return nil
	}
	fmt.Fprint(w, "## Comparison\n\n")
	overview(w, have)
	return report.Markdown(w, report.Compared{Arms: compared}, comparisonSize)
}

// withResult returns the arms that have a result.
func withResult(arms []*measured) (have []*measured) {
	for _, m := range arms {
		if m.res != nil {
			have = append(have, m)
		}
	}
	return have
}

// overview writes a row of figures for each arm.
func overview(w io.Writer, arms []*measured) {
	var metrics []string
	for _, m := range arms {
		if metrics == nil { // baselines have none
			metrics = metricsOf(m.res)
		}
	}
	t := markdown.NewTable("llrrrr"+strings.Repeat("r", len(metrics))+"rrrrr",
		slices.Concat([]string{"arm", "verdict", "passed", "pass rate", "95% Wilson", "scorer's FP / FN"},
			metrics, []string{"p50", "p95", "USD spent", "list cost", "list cost per correct"})...)
	for _, m := range arms {
		usd, list, each := markdown.None, markdown.None, markdown.None
		if c := m.res.CostAccounting; c != nil {
			usd, list, each = total(c), listCost(c), perCorrect(c)
		}
		var macro result.Metrics
		if m.res.Retrieval != nil {
			macro = m.res.Retrieval.Macro
		}
		passRate, within := markdown.None, markdown.None
		if scored(m.res) {
			passRate, within = markdown.Rate(m.res.PassRate), interval(m.res.Interval)
		}
		row := []string{
			markdown.Cell(m.Name), verdictWords(m.res.Gate), fmt.Sprintf("%d/%d", m.res.Passed, m.res.Total),
			passRate, within, falseRates(m.res),
		}
		row = append(row, values(macro, metrics)...)
		t.Row(append(row, p50(m.res.Latency), p95(m.res.Latency), usd, list, each)...)
	}
	t.Write(w)
	for _, m := range arms {
		if r := m.res.Replay; r != nil && r.Together != nil {
			fmt.Fprintf(w, "%s.\n\n", markdown.Span(r.Together.Text(), sentenceLength))
			break
		}
	}
}
