package nightly

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/markdown"
	"evalctl/internal/stats"
)

// compare writes the arms side by side, and which questions they disagree about.
func compare(w io.Writer, arms []*measured) {
	fmt.Fprintln(w)
	var have []*measured
	for _, m := range arms {
		if m.res != nil {
			have = append(have, m)
		}
	}
	if len(have) < 2 {
		return
	}
	fmt.Fprint(w, "## Comparison\n\n")
	overview(w, have)
	pairs(w, have)
	disagreements(w, have)
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
}

// pair compares two arms over the questions that have a verdict in both. An error is a verdict: the
// daemon did not answer.
type pair struct {
	both, onlyA, onlyB, neither int
	// leftOut are the questions that only one of the arms finished, or that have no verdict in one.
	leftOut int
}

func pairOf(a, b *measured) pair {
	var p pair
	for _, id := range a.ids {
		x, y := a.outcomes[id], b.outcomes[id]
		switch {
		case !x.counts() || !y.counts():
			p.leftOut++
		case x.passed && y.passed:
			p.both++
		case x.passed:
			p.onlyA++
		case y.passed:
			p.onlyB++
		default:
			p.neither++
		}
	}
	for _, id := range b.ids {
		if _, ok := a.outcomes[id]; !ok {
			p.leftOut++
		}
	}
	return p
}

// counts reports whether the question has a verdict.
func (o outcome) counts() bool { return o.kind == result.Scored || o.kind == result.Errored }

// pairs writes for each two arms how often they differ, and how likely that is by chance.
func pairs(w io.Writer, arms []*measured) {
	t := markdown.NewTable("llrrrrrrr", "A", "B", "both passed", "only A", "only B", "neither", "A – B", "p (exact McNemar)", "left out")
	for i, a := range arms {
		for _, b := range arms[i+1:] {
			p := pairOf(a, b)
			difference := markdown.None
			if n := p.both + p.onlyA + p.onlyB + p.neither; n > 0 {
				difference = figure.Points(float64(p.onlyA-p.onlyB)/float64(n)) + " pp"
			}
			t.Row(markdown.Cell(a.Name), markdown.Cell(b.Name), fmt.Sprint(p.both), fmt.Sprint(p.onlyA), fmt.Sprint(p.onlyB),
				fmt.Sprint(p.neither), difference, markdown.Probability(stats.McNemarExact(p.onlyA, p.onlyB)), fmt.Sprint(p.leftOut))
		}
	}
	t.Write(w)
	fmt.Fprint(w, "p is the probability of at least this difference between two arms that are equally good. "+
		"It is not corrected for the number of pairs. Questions without a verdict in one of the arms are left out.\n\n")
}

// disagreements writes the questions that some arms passed and others did not.
func disagreements(w io.Writer, arms []*measured) {
	header := []string{"question", "type"}
	for _, m := range arms {
		header = append(header, markdown.Cell(m.Name))
	}
	t := markdown.NewTable(strings.Repeat("l", len(header)), header...)
	found := 0
	for _, id := range union(arms) {
		row, passed, failed := words(arms, id)
		if !passed || !failed {
			continue
		}
		if found++; found <= maxShown {
			t.Row(row...)
		}
	}
	if found == 0 {
		fmt.Fprint(w, "No question was passed by one arm and failed by another.\n\n")
		return
	}
	fmt.Fprintf(w, "<details><summary>Questions that the arms disagree about: %d</summary>\n\n", found)
	t.Write(w)
	if more := found - maxShown; more > 0 {
		fmt.Fprintf(w, "… and %d more, in the result files.\n\n", more)
	}
	fmt.Fprint(w, "</details>\n\n")
}

// union returns the ids of the questions that an arm has finished, in the order of the first arms.
func union(arms []*measured) []string {
	var ids []string
	seen := map[string]bool{}
	for _, m := range arms {
		for _, id := range m.ids {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// words returns the row of a question, and whether an arm passed it and another one did not.
func words(arms []*measured, id string) (row []string, passed, failed bool) {
	row = []string{markdown.Cell(id), ""}
	for _, m := range arms {
		o, ok := m.outcomes[id]
		if ok {
			row[1] = markdown.Cell(o.typ)
		}
		switch {
		case !ok:
			row = append(row, "not asked")
		case o.passed:
			row = append(row, "pass")
			passed = true
		case o.kind == result.Scored:
			row = append(row, "**fail**")
			failed = true
		case o.kind == result.Errored:
			row = append(row, "**error**")
			failed = true
		default:
			row = append(row, string(o.kind))
		}
	}
	return row, passed, failed
}
