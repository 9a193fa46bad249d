package text

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// The text shows so many ids of a list, and rows of tags. The other formats have all of them.
const (
	idsShown  = 12
	tagsShown = 20
)

// Comparison prints a comparison, with what memory adds over baselines first.
func Comparison(t *terminal.Terminal, c *compare.Comparison) {
	if lead := c.MemorySentences(); len(lead) > 0 {
		printSentences(t, lead)
		t.Blank()
	}
	printComparison(t, c)
}

func printComparison(t *terminal.Terminal, c *compare.Comparison) {
	printComparability(t, c)
	t.Blank()
	printPairs(t, c)
	printLegend(t, c)
	printClusteredRates(t, c)
	printMargins(t, c)
	printRecipes(t, c)
	printPower(t, c)
	printDisagreements(t, c)
	printMeasures(t, c)
	printLatencies(t, c)
	printComparedTags(t, c)
	for _, n := range c.Notes {
		t.Field("note", "%s", terminal.Line(n))
	}
}

// shownKeys are those whose common value is shown.
var shownKeys = []string{
	"dataset", "scenario", "scorer", "judge", "judge_prompt", "mode", "effective_modes", "top_k", "reader", "corpus",
}

// printComparability prints what the runs have in common and in what they differ.
func printComparability(t *terminal.Terminal, c *compare.Comparison) {
	same, unknown := figure.Count(c.Questions.Compared, "question"), []string{}
	for _, name := range shownKeys {
		k := c.Key(name)
		switch {
		case k.Common() != "" && k.Common() != "none":
			same += "  " + strings.ReplaceAll(name, "_", " ") + " " + keyValue(k.Common())
		case k.State == compare.Unknown:
			unknown = append(unknown, name)
		}
	}
	t.Field("comparable", "%s", same)
	for _, k := range c.Keys {
		if k.State == compare.Differs {
			t.Field("differs", "%s", differingKey(c, k))
		}
	}
	if len(unknown) > 0 && len(unknown) < len(shownKeys) {
		t.Field("unknown", "not recorded by two runs: %s", strings.Join(unknown, ", "))
	}
}

func differingKey(c *compare.Comparison, k compare.Key) string {
	text := k.Name + ":"
	for i, v := range k.Values {
		text += fmt.Sprintf("  %s %s", runName(c, i), keyValue(v))
	}
	switch {
	case k.Accepted:
		text += "  (accepted)"
	case k.Note != "":
		text += fmt.Sprintf("  (%s)", k.Note)
	}
	return text
}

func runName(c *compare.Comparison, run int) string { return terminal.Short(c.Runs[run].Name, 32) }

// sideName returns the name of a side with its number of runs, if there are several.
func sideName(c *compare.Comparison, side int) string {
	if n := len(c.Runs[side].Files); n > 0 {
		return fmt.Sprintf("%s, %d runs", runName(c, side), n)
	}
	return runName(c, side)
}

// pairName returns "py vs go".
func pairName(c *compare.Comparison, p compare.Pair) string {
	return runName(c, p.Run) + " vs " + runName(c, p.Reference)
}

// printPairs prints a row for each run, with its difference from the first, and one for each other pair.
func printPairs(t *terminal.Terminal, c *compare.Comparison) {
	rows := [][]string{{
		"", "passed", "pass rate", "vs " + runName(c, 0), "only this / only other",
		fmt.Sprintf("p, Holm over %d", c.Tests), "",
	}}
	for i, r := range c.Runs {
		row := []string{sideName(c, i), fmt.Sprintf("%d/%d", r.Counts.Passed, r.Counts.Total), rateWithin(r.PassRate, r.Interval)}
		if i == 0 {
			rows = append(rows, append(row, "", "", "", ""))
			continue
		}
		p := slices.IndexFunc(c.Pairs, func(p compare.Pair) bool { return p.Reference == 0 && p.Run == i })
		rows = append(rows, append(row, tableCells(t, c.Pairs[p].Table)...))
	}
	for _, p := range c.Pairs {
		if p.Reference > 0 {
			rows = append(rows, append([]string{pairName(c, p), "", ""}, tableCells(t, p.Table)...))
		}
	}
	t.Table(rows)
}

// tableCells returns the difference, the disagreements, the p-values and the verdict.
func tableCells(t *terminal.Terminal, table compare.Table) []string {
	if table.Difference == nil {
		return []string{"–", "–", "–", "nothing to compare"}
	}
	only := fmt.Sprintf("%d / %d", table.OnlyRun, table.OnlyReference)
	p := "not tested"
	if table.P != nil {
		p = fmt.Sprintf("%s → %s", figure.Probability(*table.P), figure.Probability(*table.Adjusted))
	}
	return []string{pointsWithin(table), only, p, comparedWord(t, table.Verdict)}
}

func comparedWord(t *terminal.Terminal, v compare.Verdict) string {
	text := v.Mark() + " " + v.Words()
	if v == compare.NotSeen {
		return text
	}
	return t.Tint(v == compare.Better, text)
}

func rateWithin(rate *float64, within *result.Interval) string {
	if rate == nil || within == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.3f [%.3f %.3f]", *rate, within.Low, within.High)
}

// pointsWithin returns a difference of pass rates with its interval, in percentage points.
func pointsWithin(t compare.Table) string {
	text := figure.Points(*t.Difference) + "pp"
	if t.Interval != nil {
		text += fmt.Sprintf(" [%s %s]", figure.Points(t.Interval.Low), figure.Points(t.Interval.High))
	}
	return text
}

func printMargins(t *terminal.Terminal, c *compare.Comparison) {
	for _, p := range c.Pairs {
		m := p.Margin
		if m == nil {
			continue
		}
		word := strings.ToUpper(m.Verdict.Words())
		if m.Verdict != result.Unknown {
			word = t.Tint(m.Verdict == result.NotWorse, word)
		}
		why := "no interval"
		if m.Interval != nil {
			why = fmt.Sprintf("the interval [%s %s] %s -%.1fpp", figure.Points(m.Interval.Low), figure.Points(m.Interval.High),
				map[result.BaselineVerdict]string{
					result.NotWorse: "is above", result.Worse: "is below", result.Unknown: "contains",
				}[m.Verdict], 100*m.Margin)
		}
		if m.P != nil {
			why += fmt.Sprintf("  one-sided p %s of a loss of %.1fpp or more", figure.Probability(*m.P), 100*m.Margin)
		}
		t.Field("margin", "%s  %s  %s", pairName(c, p), word, why)
	}
}

// printPower says what could have been seen, for the pair with the largest difference that is not shown.
func printPower(t *terminal.Terminal, c *compare.Comparison) {
	var widest *compare.Pair
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if p.PowerText() != "" && (widest == nil || math.Abs(*p.Difference) > math.Abs(*widest.Difference)) {
			widest = p
		}
	}
	if widest != nil {
		t.Field("power", "%s: %s", pairName(c, *widest), widest.PowerText())
	}
}

// printDisagreements lists the questions that the first run passed and another did not, or the reverse.
func printDisagreements(t *terminal.Terminal, c *compare.Comparison) {
	first := ""
	list := func(passed, failed int, ids []string) {
		if len(ids) == 0 {
			return
		}
		first = cmp.Or(first, ids[0])
		how := "%s passed, %s did not (%d): %s"
		if c.Repeated {
			how = "%s passed more often than %s (%d): %s"
		}
		t.Field("disagree", how, runName(c, passed), runName(c, failed), len(ids), firstIDs(ids))
	}
	for _, p := range c.Pairs {
		if p.Reference == 0 {
			list(0, p.Run, p.OnlyReferenceIDs)
			list(p.Run, 0, p.OnlyRunIDs)
		}
	}
	if first == "" {
		return
	}
	command := []string{"evalctl", "diff", first}
	for i := range c.Runs {
		command = append(command, c.Runs[i].Paths()...)
	}
	t.Field("", "%s", terminal.CommandLine(command...))
}

func firstIDs(ids []string) string {
	shown := make([]string, 0, idsShown)
	for _, id := range ids[:min(len(ids), idsShown)] {
		shown = append(shown, terminal.Short(id, 40))
	}
	text := strings.Join(shown, " ")
	if more := len(ids) - idsShown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// printComparedTags prints the pass rates by tag, and how they differ from those of the first run.
func printComparedTags(t *terminal.Terminal, c *compare.Comparison) {
	if len(c.Tags) == 0 {
		return
	}
	rows := [][]string{{"tag", "n"}}
	for i := range c.Runs {
		rows[0] = append(rows[0], runName(c, i))
	}
	for _, tag := range c.Tags[:min(len(c.Tags), tagsShown)] {
		row := []string{terminal.Short(tag.Title(), 48), fmt.Sprint(tag.Questions)}
		for i, n := range tag.Counts {
			cell := "n/a"
			if rate := n.PassRate(); rate != nil {
				cell = fmt.Sprintf("%.3f", *rate)
			}
			p := slices.IndexFunc(tag.Pairs, func(p compare.TagPair) bool { return p.Reference == 0 && p.Run == i })
			if p >= 0 {
				cell += " " + tagVerdict(t, tag.Pairs[p].Verdict)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	t.Blank()
	t.Table(rows)
	more := ""
	if n := len(c.Tags) - tagsShown; n > 0 {
		more = fmt.Sprintf("  %s not shown: --tag compares one, --format json has all", figure.Count(n, "tag"))
	}
	t.Field("by tag", "against %s; p by the same test, adjusted by Holm over all %s of all tags; ~ is no difference shown%s",
		runName(c, 0), figure.Count(c.TagTests, "test"), more)
}

func tagVerdict(t *terminal.Terminal, v compare.Verdict) string {
	if v == compare.NotSeen {
		return v.Mark()
	}
	return comparedWord(t, v)
}
