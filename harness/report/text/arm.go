package text

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
)

// Arms prints what memory adds over baselines, what was found, an arm after the other, and then how
// they compare, which comparison prints.
func Arms(t *terminal.Terminal, outcomes []Arm, compared *compare.Arms, comparison func(*compare.Comparison)) {
	t.Blank()
	if compared != nil && len(compared.Lead()) > 0 && !t.Quiet() {
		printSentences(t, compared.Lead())
		t.Blank()
	}
	for _, o := range outcomes {
		if len(outcomes) > 1 {
			printHeading(t, o)
		}
		if o.Result == nil {
			t.Field("failed", "%s", terminal.Short(fmt.Sprint(o.Err), maxFailure))
			continue
		}
		Losses(t, o.Result.Identity, ReadFailures(t, o.Path, max(3, ListedFailures/2/len(outcomes))))
		ArmReport(t, *o.Result, o.Path)
		if o.Err != nil && len(outcomes) > 1 {
			t.Field("failed", "%s", terminal.Short(o.Err.Error(), maxFailure))
		}
		t.Blank()
	}
	if compared != nil {
		printArms(t, outcomes, compared, comparison)
	}
}

// maxFailure is how many characters of the error of an arm are printed.
const maxFailure = 400

// Arm is what became of an arm of a replay.
type Arm struct {
	Name string
	// Result is nil if the arm has none, Path is that of its file.
	Result *result.Result
	Path   string
	// Err is what ended it early.
	Err error
}

// printHeading prints the name of an arm.
func printHeading(t *terminal.Terminal, o Arm) {
	if !t.Quiet() {
		fmt.Fprintf(t, "  == %s ==\n", o.Name)
	}
}

// ArmReport prints the figures of one arm, the verdict and the file last.
func ArmReport(t *terminal.Terminal, res result.Result, path string) {
	r := res.Replay
	if r == nil {
		return
	}
	printPanel(t, res)
	printStrata(t, res)
	printEstimates(t, r)
	if e := r.Errata; e != nil && e.OriginalPassRate != nil {
		t.Field("original", "%.3f  %d/%d   95%% CI %s (Wilson) by the dataset's own gold (errata: %d excluded, %d corrected)",
			*e.OriginalPassRate, e.Original.Passed, e.Original.Total, intervalText(e.OriginalInterval),
			e.Excluded, e.Corrected)
	}
	printControls(t, r.Controls)
	printCauses(t, r, res.Counts.Total)
	if res.Retrieval != nil {
		printPrimary(t, res)
		Warnings(t, res.Retrieval.Warnings)
	}
	printLatency(t, res)
	if r.Alone != nil {
		t.Field("alone", "%s", terminal.Line(r.Alone.Text()))
	}
	if r.FirstAttempt < res.Counts.Total {
		t.Field("attempts", "%d of %s answered at the first attempt, %d of these passed", r.FirstAttempt,
			figure.Count(res.Counts.Total, "question"), r.FirstAttemptPassed)
	}
	if r.Restarts > 0 {
		t.Field("warning", "the daemon was started again %s while it was measured", times(r.Restarts))
	}
	printIngest(t, r.Ingest)
	if m := r.ModelRequests; m != nil {
		t.Field("requests", "%s", m.Text())
		for _, warning := range m.Warnings() {
			t.Field("warning", "%s", terminal.Line(warning))
		}
	}
	printDaemonEnv(t, res.Settings.DaemonEnv)
	printCost(t, res)
	t.Blank()
	Rate(t, res)
	if g := res.Gate; g.Floor > 0 || g.Verdict != result.Pass {
		printGate(t, res)
	}
	t.Field("file", "%s", terminal.Line(path))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// printStrata prints the table by question type.
func printStrata(t *terminal.Terminal, res result.Result) {
	if t.Quiet() || len(res.Replay.Strata) == 0 {
		return
	}
	header := []string{"stratum", "n", "pass", "rate", "95% Wilson"}
	var metrics []string
	if res.Retrieval != nil {
		k := res.Identity.TopK
		for _, name := range []string{"any", "all", "recall"} {
			metrics = append(metrics, fmt.Sprintf("%s@%d", name, k))
		}
		metrics = append(metrics, fmt.Sprintf("ndcg@%d", min(k, 10)))
		header = append(header, metrics[0], "all", "recall", "nDCG")
	}
	rows := [][]string{header}
	for _, s := range res.Replay.Strata {
		rows = append(rows, stratumRow(s, metrics))
	}
	all := result.Stratum{Name: "overall", Counts: res.Counts, PassRate: res.PassRate, Interval: res.Interval}
	if res.Retrieval != nil {
		all.WithGold, all.Retrieval = res.Retrieval.Questions, res.Retrieval.Macro
	}
	rows = append(rows, stratumRow(all, metrics))
	t.Table(rows)
}

func stratumRow(s result.Stratum, metrics []string) []string {
	row := []string{terminal.Short(s.Name, 26), fmt.Sprint(s.Counts.Total), fmt.Sprint(s.Counts.Passed), "–", "–"}
	if s.PassRate != nil {
		row[3] = fmt.Sprintf("%.3f", *s.PassRate)
		row[4] = intervalText(s.Interval)
	}
	for _, m := range metrics {
		if v, ok := s.Retrieval[m]; ok && s.WithGold > 0 {
			row = append(row, fmt.Sprintf("%.3f", v))
		} else {
			row = append(row, "–")
		}
	}
	return row
}

// printEstimates prints what the sample says about the whole benchmark.
func printEstimates(t *terminal.Terminal, r *result.Replay) {
	var parts []string
	if w := r.Weighted; w != nil && r.Sample.Size < r.Sample.Population {
		parts = append(parts, fmt.Sprintf("all %d questions %.3f [%.3f %.3f] (%s)", r.Sample.Population, w.Mean,
			w.Interval.Low, w.Interval.High, w.Interval.Name()))
	}
	if r.Macro != nil {
		parts = append(parts, fmt.Sprintf("mean of the strata %.3f", *r.Macro))
	}
	if len(parts) > 0 {
		FieldParts(t, "estimate", parts)
	}
}

// printControls prints how the scorer did on answers that are known to be right or wrong.
func printControls(t *terminal.Terminal, c *result.Controls) {
	if c == nil {
		return
	}
	word := t.Tint(true, "VALID")
	switch {
	case !c.Valid():
		word = t.Tint(false, "INVALID")
	case !c.Enough():
		word = t.Tint(false, "NOT JUDGED")
	}
	right, wrong := c.Judged()
	parts := []string{fmt.Sprintf("%s  %d/%d right passed, %d/%d wrong failed", word, c.RightPassed, right,
		c.WrongFailed, wrong)}
	if c.FalsePositiveRate != nil {
		parts = append(parts, fmt.Sprintf("false positives %.3f", *c.FalsePositiveRate))
	}
	if c.FalseNegativeRate != nil {
		parts = append(parts, fmt.Sprintf("false negatives %.3f", *c.FalseNegativeRate))
	}
	if c.Unscored > 0 {
		parts = append(parts, fmt.Sprintf("%d without a verdict", c.Unscored))
	}
	FieldParts(t, "controls", parts)
	printFailedControls(t, "misjudged", c.Failed, maxFailedControls)
	printFailedControls(t, "no verdict", c.Unjudged, 1) // most often all for the same reason
	if note := c.Note(); note != "" {
		t.Field("warning", "%s", note)
	}
}

// printFailedControls prints the first limit controls that were misjudged or not judged.
func printFailedControls(t *terminal.Terminal, what string, list []result.FailedControl, limit int) {
	for i, f := range list {
		if i == limit {
			t.Field("", "… and %d more, see the result file", len(list)-i)
			break
		}
		t.Field("", "%s: %s, %s %q: %s", what, terminal.Short(f.ID, 40), terminal.Short(f.Kind, 24), terminal.Short(f.Answer, 60), terminal.Short(f.Reason, 240))
	}
}

// maxFailedControls is how many misjudged controls are printed.
const maxFailedControls = 5

// printCauses prints what lost questions.
func printCauses(t *terminal.Terminal, r *result.Replay, total int) {
	n := 0
	var parts []string
	for _, cause := range slices.SortedFunc(maps.Keys(r.Losses), func(a, b result.Cause) int {
		return cmp.Or(cmp.Compare(r.Losses[b], r.Losses[a]), strings.Compare(string(a), string(b)))
	}) {
		parts = append(parts, fmt.Sprintf("%s %d", terminal.Short(strings.ReplaceAll(string(cause), "_", "-"), 40), r.Losses[cause]))
		n += r.Losses[cause]
	}
	if n > 0 {
		FieldParts(t, "losses", append([]string{fmt.Sprintf("%d of %d", n, total)}, parts...))
	}
}

// printPrimary prints the primary retrieval metrics with their intervals.
func printPrimary(t *terminal.Terminal, res result.Result) {
	r := res.Retrieval
	if len(r.Ks) == 0 {
		return
	}
	parts := primaryParts(r)
	if brackets := brackets(r); brackets != "" {
		parts = append(parts, brackets)
	}
	parts = append(parts, fmt.Sprintf("over %s with gold", figure.Count(r.Questions, "question")))
	FieldParts(t, "retrieval", parts)
}

func printIngest(t *terminal.Terminal, i *result.Ingest) {
	if i == nil {
		return
	}
	what := figure.Count(i.Sessions, "session")
	if i.Sessions == 0 {
		what = figure.Count(i.Documents, "document")
	}
	t.Field("ingest", "%s  %s (%d reused)  %s  %.1f s", terminal.Short(i.Mode, 24), figure.Count(i.Brains, "brain"), i.Reused, what, i.Seconds)
}

// printCost prints the cost accounting of one arm.
func printCost(t *terminal.Terminal, res result.Result) {
	c := res.CostAccounting
	if c == nil {
		return
	}
	parts := []string{c.Amount() + OfCap(c.CapUSD)}
	if c.TotalUSD > 0 {
		var phases []string
		for _, p := range res.CostParts() {
			phases = append(phases, p.Name+" "+p.String())
		}
		parts = append(parts, strings.Join(phases, ", "))
	}
	if c.List == nil {
		parts = append(parts, perCorrect(c)...)
	}
	if asked := c.CacheHits + c.CacheMisses; asked > 0 {
		parts = append(parts, fmt.Sprintf("cache hits %.0f%% (%d of %d) saved %s",
			100*float64(c.CacheHits)/float64(asked), c.CacheHits, asked, c.CachedSavingsUSD))
	}
	if len(c.Unpriced) > 0 {
		parts = append(parts, "not counted, price unknown: "+terminal.Line(strings.Join(c.Unpriced, ", ")))
	}
	if c.Unmetered {
		parts = append(parts, "the daemon's own models are not counted")
	}
	FieldParts(t, "cost", parts)
	printListCost(t, c)
}

// printListCost prints what the arm would have cost alone, unless it is free.
func printListCost(t *terminal.Terminal, c *result.CostAccounting) {
	l := c.List
	if l == nil || l.USD != nil && *l.USD == 0 {
		return
	}
	sum := fmt.Sprintf("%s = spent %s + saved by the cache %s", c.ListText(), c.Amount(), c.SavedText())
	if l.SharedUSD > 0 {
		sum += fmt.Sprintf(" + the check of the judge %s", l.SharedUSD)
	}
	if l.ReusedUSD > 0 {
		sum += fmt.Sprintf(" + filling reused brains %s", l.ReusedUSD)
	}
	if l.ReusedUnrecorded > 0 {
		sum += fmt.Sprintf(" + filling %s, not recorded", figure.Count(l.ReusedUnrecorded, "reused brain"))
	}
	FieldParts(t, "list cost", append([]string{sum}, perCorrect(c)...))
}

// perCorrect returns what a correct answer cost, nothing if that is not known or nothing.
func perCorrect(c *result.CostAccounting) []string {
	if c.PerCorrectUSD == nil || *c.PerCorrectUSD == 0 || c.PerCorrectInterval == nil || len(c.Unpriced) > 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s per correct answer [%s %s] (%s)", c.PerCorrectUSD.Round(),
		dollars(c.PerCorrectInterval.Low), dollars(c.PerCorrectInterval.High), c.PerCorrectInterval.Name())}
}

// dollars formats an amount in dollars with four significant digits.
func dollars(f float64) string { return llm.USD(math.Round(f * float64(llm.Dollar))).Round().String() }

// OfCap returns the cap as it follows an amount.
func OfCap(limit *llm.USD) string {
	if limit == nil {
		return " (no cap)"
	}
	return " of " + limit.String()
}
