package text

import (
	"fmt"
	"slices"

	"evalctl/harness/compare"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// printArms prints how the arms compare: in words, side by side, and with all figures.
func printArms(t *terminal.Terminal, outcomes []Arm, compared *compare.Arms, comparison func(*compare.Comparison)) {
	if t.Quiet() {
		return
	}
	fmt.Fprintln(t, "  == comparison ==")
	printSentences(t, compared.Others())
	t.Blank()
	printOverview(t, outcomes)
	if compared.Comparison != nil {
		t.Blank()
		comparison(compared.Comparison)
	}
}

func printSentences(t *terminal.Terminal, sentences []string) {
	for _, s := range sentences {
		fmt.Fprintln(t, t.Wrap("  ", terminal.Line(s)))
	}
}

// printOverview prints the arms side by side.
func printOverview(t *terminal.Terminal, outcomes []Arm) {
	rows := [][]string{{"arm", "n", "pass", "rate", "95% Wilson", "FP/FN", "recall", "any", "p50", "spent", "list cost"}}
	var together *result.Together
	for _, o := range outcomes {
		row := []string{terminal.Short(o.Name, 16), "–", "–", "–", "–", "–", "–", "–", "–", "–", "–"}
		if r := o.Result; r != nil && r.PassRate != nil {
			row[1], row[2], row[3] = fmt.Sprint(r.Total), fmt.Sprint(r.Passed), fmt.Sprintf("%.3f", *r.PassRate)
			row[4] = fmt.Sprintf("%.3f–%.3f", r.Interval.Low, r.Interval.High)
			row[5] = misjudged(r.Replay.Controls)
			if r.Retrieval != nil {
				k := r.Identity.TopK
				row[6] = fmt.Sprintf("%.3f", r.Retrieval.Macro[fmt.Sprintf("recall@%d", k)])
				row[7] = fmt.Sprintf("%.3f", r.Retrieval.Macro[fmt.Sprintf("any@%d", k)])
			}
			if r.Latency.P50 != nil {
				row[8] = figure.Duration(*r.Latency.P50)
			} else if r.Latency.N > 0 {
				row[8] = fmt.Sprintf("n<%d", result.NeededForP50)
			}
			if r.Replay.Together != nil {
				together = r.Replay.Together
			}
			if r.CostAccounting != nil {
				row[9], row[10] = r.CostAccounting.Amount(), r.CostAccounting.ListText()
			}
		}
		rows = append(rows, row)
	}
	if slices.ContainsFunc(outcomes, func(o Arm) bool { return aloneOf(o) != nil }) {
		rows = withAlone(rows, outcomes)
	}
	t.Table(rows)
	if together != nil {
		t.Field("latency", "%s", terminal.Line(together.Text()))
	}
}

// withAlone adds the medians of what was asked alone, before the costs.
func withAlone(rows [][]string, outcomes []Arm) [][]string {
	at := len(rows[0]) - 2
	rows[0] = slices.Insert(rows[0], at, "p50 alone")
	for i, o := range outcomes {
		cell := "–"
		switch a := aloneOf(o); {
		case a == nil:
		case a.Latency.P50 != nil:
			cell = figure.Duration(*a.Latency.P50)
		case a.Latency.N > 0:
			cell = fmt.Sprintf("n<%d", result.NeededForP50)
		}
		rows[i+1] = slices.Insert(rows[i+1], at, cell)
	}
	return rows
}

// aloneOf returns what an arm was asked alone, nil for nothing.
func aloneOf(o Arm) *result.Alone {
	if o.Result == nil || o.Result.Replay == nil {
		return nil
	}
	return o.Result.Replay.Alone
}

// misjudged returns the rates of false positives and false negatives among the controls.
func misjudged(c *result.Controls) string {
	if c == nil || c.FalsePositiveRate == nil || c.FalseNegativeRate == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f/%.2f", *c.FalsePositiveRate, *c.FalseNegativeRate)
}

// Losses prints the first questions of an arm that were lost, and how many more there are.
func Losses(t *terminal.Terminal, id result.Identity, f Failures) {
	if t.Quiet() {
		return
	}
	for _, r := range f.failed {
		mark := t.Tint(false, "FAIL")
		want := fmt.Sprintf("expected \"%s\"", terminal.Short(r.Reference, 48))
		if r.Reference == "" { // a scorer that needs none says what it found
			want = terminal.Short(r.Reason, 200)
		}
		text := fmt.Sprintf("%s %s  %s  got \"%s\"  → %s%s", terminal.Short(r.ID, 40), terminal.Short(r.Type, 26),
			want, terminal.Short(r.Answer, 72), terminal.Short(string(r.Cause), 40), instead(id, r))
		switch r.Outcome {
		case result.Errored:
			mark, text = t.Tint(false, "ERR "), fmt.Sprintf("%s %s  %s", terminal.Short(r.ID, 40), terminal.Short(r.Type, 26), errorText(r))
		case result.Unscored:
			mark, text = t.Tint(false, "????"), fmt.Sprintf("%s %s  %s", terminal.Short(r.ID, 40), terminal.Short(r.Type, 26), terminal.Short(r.Reason, 200))
		}
		fmt.Fprintln(t, t.Wrap("  "+mark+" ", text))
	}
	printOthers(t, f)
}
