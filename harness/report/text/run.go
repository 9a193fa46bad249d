// Package text prints what was measured on a terminal. Texts of datasets, daemons and models are data:
// they are cut, made safe to print, and never interpreted.
package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// PricesOf says of which day the prices are of a cost, as far as that is known.
func PricesOf(date string) string {
	if date == "" {
		return ""
	}
	return "  prices of " + terminal.Line(date)
}

// printDaemonEnv prints which variables a started daemon got.
func printDaemonEnv(t *terminal.Terminal, e *result.DaemonEnv) {
	if text := e.Text(nil); text != "" {
		t.Field("daemon env", "%s", terminal.Line(text))
	}
}

// PassedOn warns before anything is asked of what a started daemon may pay with.
func PassedOn(t *terminal.Terminal, e *result.DaemonEnv) {
	if e != nil && len(e.Passed) > 0 {
		printDaemonEnv(t, &result.DaemonEnv{Passed: e.Passed})
	}
}

// Run prints the details of a finished run with the questions that did not pass. Its verdict,
// with the reason and the file, comes last. The first warned warnings have been printed already.
func Run(t *terminal.Terminal, res result.Result, f Failures, warned int, path string, verbose bool) {
	if t.Quiet() {
		return
	}
	printPanel(t, res)
	printFailures(t, res.Identity, f)
	printSelection(t, res)
	printFirstTry(t, res)
	printClustered(t, res)
	printRepeats(t, res)
	printTags(t, res, verbose)
	printRates(t, res, "check", res.CheckRows(), true)
	if res.Grounded+res.GroundedIDsOnly > 0 || res.Passed > 0 && res.Identity.Scenario.Reads() && res.Identity.Imported == nil && !res.Mapped.Unretrieved() {
		t.Field("grounded", "%s", res.GroundedText())
	}
	if res.Leaks != nil {
		t.Field("leaks", "%s", res.Leaks.Text())
	}
	if res.Retrieval != nil {
		printRetrieval(t, res)
		Warnings(t, res.Retrieval.Warnings[min(warned, len(res.Retrieval.Warnings)):])
	}
	printLatency(t, res)
	if res.Cost.JudgeRequests > 0 {
		limit := "(no cap)"
		if res.Cost.CapUSD != nil {
			limit = "of " + res.Cost.CapUSD.String()
		}
		doubt := ""
		if n := res.Cost.UsageEstimated; n > 0 {
			doubt = "  tokens estimated for " + figure.Count(n, "question")
		}
		if n := res.Cost.UsageImplausible; n > 0 {
			doubt += fmt.Sprintf("  %s counted tokens that cannot be, charged as the worst case", figure.Count(n, "request"))
		}
		t.Field("cost", "judge %s %s  %s  %d tokens in  %d out%s%s", res.Cost.Amount(), limit,
			figure.Count(res.Cost.JudgeRequests, "request"), res.Cost.InputTokens, res.Cost.OutputTokens, doubt,
			PricesOf(res.Cost.PricesDate))
	}
	if c := res.ReaderCost; c != nil && (c.USD == nil || *c.USD > 0) { // not what costs nothing
		t.Field("reader", "%s  %d tokens in  %d out  reported for %s; the daemon pays", terminal.Line(res.ReaderCost.Text()),
			res.ReaderUsage.InputTokens, res.ReaderUsage.OutputTokens, figure.Count(res.ReaderUsage.Reported, "answer"))
	}
	if e := res.Embeddings; e != nil {
		t.Field("embedded", "%s", e.Text(terminal.Line))
	}
	if total := res.Cost.TotalUSD; total != nil && *total > res.Cost.SpentUSD {
		t.Field("total", "%s with what the daemon pays", *total)
	}
	if text := res.OwnText(); text != "" && res.Identity.Scenario.Reads() {
		t.Field("own", "%s", text)
	}
	printDaemonEnv(t, res.Settings.DaemonEnv)
	modes := ran("mode", res.EffectiveModes)
	if res.ModesUnknown > 0 {
		modes = append(modes, fmt.Sprintf("mode not reported ×%d", res.ModesUnknown))
	}
	modes = append(modes, ran("fusion", res.Fusions)...)
	ran := append(modes, ran("reader", res.ReaderModels)...)
	if len(ran) > 0 {
		t.Field("ran", "%s", strings.Join(ran, "  "))
	}
	t.Blank()
	Rate(t, res)
	Verdict(t, res)
	t.Field("file", "%s", terminal.Line(path))
}

// printSelection says that not all questions were asked, or not in the order of the file.
func printSelection(t *terminal.Terminal, res result.Result) {
	if text := res.Identity.Dataset.SelectionText(); text != "" {
		t.Field("selection", "%s", terminal.Line(text))
	}
}

// ran returns how many questions ran with each mode or model, by name.
func ran(what string, counts map[string]int) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s %s ×%d", what, terminal.Line(k), counts[k]))
	}
	return out
}

// Rate prints the pass rate with its interval.
func Rate(t *terminal.Terminal, res result.Result) {
	if res.PassRate == nil {
		t.Field("pass rate", "none: no question finished")
		return
	}
	n := res.Counts
	counted := fmt.Sprintf("%d scored", n.Scored)
	var lost []string
	if n.Errors > 0 {
		counted += fmt.Sprintf(" + %s (as fail)", figure.Count(n.Errors, "error"))
		lost = append(lost, "errors")
	}
	if n.Unscored > 0 {
		counted += fmt.Sprintf(" + %d unscored (as fail)", n.Unscored)
		lost = append(lost, "unscored")
	}
	if n.NoGold > 0 {
		counted += fmt.Sprintf("; %d %s", n.NoGold, leftOut(res))
	}
	if n.NotMeasurable > 0 {
		counted += fmt.Sprintf("; %d not measurable excluded", n.NotMeasurable)
	}
	if n.Scored > 0 && n.Scored < n.Total {
		counted += fmt.Sprintf("; %.3f excluding %s", float64(n.Passed)/float64(n.Scored), strings.Join(lost, " and "))
	}
	t.Field("pass rate", "%.3f  %d/%d   95%% CI %s (Wilson)   counted: %s",
		*res.PassRate, res.Passed, res.Total, intervalText(res.Interval), counted)
	t.Field("passed", "%s", res.Identity.PassedText())
}

// leftOut says why questions do not count.
func leftOut(res result.Result) string {
	if r := res.Replay; r != nil && r.Errata != nil && r.Errata.Excluded > 0 {
		if res.Counts.NoGold == r.Errata.Excluded {
			return "excluded by errata"
		}
		return "without expected_paths or excluded by errata"
	}
	return "without expected_paths excluded"
}

// Verdict prints the verdict of the run's gate, and where questions were lost.
func Verdict(t *terminal.Terminal, res result.Result) {
	printGate(t, res)
	if g := res.Gate; g.Passed < g.Total {
		t.Field("lost at", "%s", g.Loss)
	}
}

// printGate prints the verdict of a gate.
func printGate(t *terminal.Terminal, res result.Result) {
	g := res.Gate
	switch g.Verdict {
	case result.Pass, result.Fail:
		if g.Stopped != "" {
			t.Field("floor", "%.3f  %s  %s", g.Floor, t.Tint(false, "FAIL"), g.Sentence)
			return
		}
		printFloors(t, g)
	case result.Inconclusive:
		t.Field("stopped", "%s after %d of %s: this is not a score",
			terminal.Short(string(g.Stopped), 40), res.Counts.Finished(), figure.Count(res.Planned, "question"))
	case result.Invalid:
		t.Field("invalid", "%s", terminal.Line(g.Sentence))
	}
}

// printFloors prints how a finished run compares with its floors and its baseline.
func printFloors(t *terminal.Terminal, g *result.Gate) {
	word := map[bool]string{true: "PASS", false: "FAIL"}
	met := g.Mode.Met(g.Passed, g.Required, g.Proof)
	t.Field("floor", "%.3f  %s  %s", g.Floor, t.Tint(met, word[met]), g.FloorText())
	for _, tag := range g.Tags {
		t.Field("floor", "%.3f  %s  tag %s: %s", tag.Floor, t.Tint(tag.Met, word[tag.Met]), terminal.Short(tag.Tag, 32), tag.Text(g.Mode))
	}
	if b := g.Baseline; b != nil {
		good := b.Verdict == result.NotWorse
		t.Field("baseline", "%s  %s", t.Tint(good, word[good]), b.Text())
		printVersus(t, b)
	}
}

// maxChanged is the number of ids of questions that changed in the report. The result file has all.
const maxChanged = 20

// printVersus prints what was compared with a baseline, and which questions changed.
func printVersus(t *terminal.Terminal, b *result.BaselineGate) {
	text := fmt.Sprintf("%s  sha256 %s", terminal.Line(b.Path), terminal.Short(b.SHA256, 9))
	if b.Unpaired > 0 {
		text += fmt.Sprintf("  %s left out", figure.Count(b.Unpaired, "unpaired question"))
		if b.Unscored > 0 {
			text += fmt.Sprintf(" (%d unscored)", b.Unscored)
		}
	}
	if len(b.Differs) > 0 {
		text += "  differs in " + strings.Join(b.Differs, ", ")
	}
	t.Field("", "%s", text)
	for _, list := range []struct {
		name string
		ids  []string
	}{{"broke", b.Broke}, {"fixed", b.Fixed}} {
		if len(list.ids) == 0 {
			continue
		}
		line := fmt.Sprint(len(list.ids), ":")
		for _, id := range list.ids[:min(len(list.ids), maxChanged)] {
			line += " " + terminal.Short(id, 40)
		}
		if more := len(list.ids) - maxChanged; more > 0 {
			line += fmt.Sprintf(" and %d more", more)
		}
		t.Field(list.name, "%s", line)
	}
}

// printTags prints a table of the results by tag: of the tags in which questions did not pass, or with
// --verbose of all.
func printTags(t *terminal.Terminal, res result.Result, verbose bool) {
	printRates(t, res, "tag", res.TagRows(), verbose)
}

// printRates prints a table of groups of questions, without those that all passed unless all is set.
func printRates(t *terminal.Terminal, res result.Result, of string, figures []result.TagRow, all bool) {
	method := result.MethodWilson
	if res.Clustered != nil {
		method = result.MethodClustered
	}
	within := result.Interval{Method: method, Confidence: 0.95}
	rows := [][]string{{of, "n", "pass", "rate", within.Name(), "errors", "unscored"}}
	for _, c := range figures {
		if c.PassRate == nil || c.Passed == c.Total && !all {
			continue
		}
		rows = append(rows, []string{
			terminal.Short(c.Tag, 32), fmt.Sprint(c.Total), fmt.Sprint(c.Passed), fmt.Sprintf("%.3f", *c.PassRate),
			withMethod(c.Interval, method), fmt.Sprint(c.Errors), fmt.Sprint(c.Unscored),
		})
	}
	if len(rows) > 1 {
		t.Table(rows)
	}
}

// withMethod is intervalText for a column whose title names a method. It names any other one.
func withMethod(i *result.Interval, titled string) string {
	if i == nil || i.Method == titled {
		return intervalText(i)
	}
	name, known := result.MethodName(i.Method)
	if !known {
		name = terminal.Short(name, 24)
	}
	return intervalText(i) + " " + name
}

// printLatency prints the percentiles with their intervals: of the answering attempts, and, if that is
// longer, as the callers felt them.
func printLatency(t *terminal.Terminal, res result.Result) {
	name, n, within := "latency", 0, ""
	for _, l := range res.Timings() {
		FieldParts(t, name, percentiles(l))
		name, n = "", l.N
		if l.P50Interval != nil {
			within = "   brackets: " + l.P50Interval.Name()
		}
	}
	if n == 0 {
		return
	}
	text := "n=" + fmt.Sprint(n) + within
	if res.Felt != nil {
		text += "   with waits: failed attempts and pauses included"
	}
	FieldParts(t, "", strings.Split(text, "   "))
	if res.Retried > 0 {
		t.Field("", "%s needed more than one attempt", figure.Count(res.Retried, "question"))
	}
}

// percentiles formats the percentiles, or how many answers they need. p99 is left out if it needs
// more, because p95 is then the highest to know.
func percentiles(q result.Timing) []string {
	parts := []string{
		q.Name, percentile("p50", q.P50, q.P50Interval, result.NeededForP50),
		percentile("p95", q.P95, q.P95Interval, result.NeededForP95),
	}
	if q.P99 != nil {
		parts = append(parts, percentile("p99", q.P99, q.P99Interval, result.NeededForP99))
	}
	return parts
}

func percentile(name string, ms *float64, i *result.Interval, needed int) string {
	switch {
	case ms == nil:
		return fmt.Sprintf("%s needs %d", name, needed)
	case i == nil:
		return name + " " + figure.Duration(*ms)
	}
	return fmt.Sprintf("%s %s [%s %s]", name, figure.Duration(*ms), durationLike(i.Low, *ms), durationLike(i.High, *ms))
}

// durationLike is duration without the unit, if that is the unit of the other time.
func durationLike(ms, other float64) string {
	number, unit, _ := strings.Cut(figure.Duration(ms), " ")
	if _, same, _ := strings.Cut(figure.Duration(other), " "); unit == same {
		return number
	}
	return number + " " + unit
}

// printFirstTry prints the pass rate of the first tries.
func printFirstTry(t *terminal.Terminal, res result.Result) {
	if f := res.FirstTryRate; f != nil {
		t.Field("first try", "%d of %d passed: %.3f   %s tried again", f.Passed, f.Total, f.PassRate, figure.Count(f.TriedAgain, "question"))
	}
}

// Escaped prints the processes that a daemon had left behind, which were ended with it, or that such
// processes are not found.
func Escaped(t *terminal.Terminal, processes []string, known bool) {
	switch {
	case !known:
		t.Field("left", "whether the daemon left processes behind is not known: only Linux shows those that leave its "+
			"process group and its environment")
	case len(processes) > 0:
		t.Field("left", "processes of the daemon that had left its process group and its environment were ended: %s",
			terminal.Line(strings.Join(processes, ", ")))
	}
}
