package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay"
	"evalctl/replay/ledger"
)

// replayReport prints what was found, an arm after the other, and then how they compare.
func (t *terminal) replayReport(p *replay.Plan, outcomes []replay.Outcome, compared *compare.Arms, progress *replayProgress) {
	t.blank()
	for _, o := range outcomes {
		if len(outcomes) > 1 {
			t.heading(o)
		}
		if o.Result == nil {
			t.field("failed", "%s", short(fmt.Sprint(o.Err), maxFailure))
			continue
		}
		t.losses(o.Result.Identity, t.readFailures(o.Path, progress.listed()))
		t.armReport(*o.Result, o.Path)
		if o.Err != nil && len(outcomes) > 1 {
			t.field("failed", "%s", short(o.Err.Error(), maxFailure))
		}
		t.blank()
	}
	if compared != nil {
		t.arms(outcomes, compared)
	}
}

// maxFailure is how many characters of the error of an arm are printed.
const maxFailure = 400

// heading prints the name of an arm.
func (t *terminal) heading(o replay.Outcome) {
	if !t.quiet {
		fmt.Fprintf(t.w, "  == %s ==\n", o.Arm.Name)
	}
}

// armReport prints the figures of one arm, the verdict and the file last.
func (t *terminal) armReport(res result.Result, path string) {
	r := res.Replay
	if r == nil {
		return
	}
	t.strata(res)
	t.estimates(r)
	if e := r.Errata; e != nil && e.OriginalPassRate != nil {
		t.field("original", "%.3f  %d/%d   95%% CI %s (Wilson) by the dataset's own gold (errata: %d excluded, %d corrected)",
			*e.OriginalPassRate, e.Original.Passed, e.Original.Total, intervalText(e.OriginalInterval),
			e.Excluded, e.Corrected)
	}
	t.controls(r.Controls)
	t.causes(r, res.Counts.Total)
	if res.Retrieval != nil {
		t.primary(res)
		t.warnings(res.Retrieval.Warnings)
	}
	t.latency(res)
	if r.Alone != nil {
		t.field("alone", "%s", printable(r.Alone.Text(), oneLine))
	}
	if r.FirstAttempt < res.Counts.Total {
		t.field("attempts", "%d of %s answered at the first attempt, %d of these passed", r.FirstAttempt,
			count(res.Counts.Total, "question"), r.FirstAttemptPassed)
	}
	if r.Restarts > 0 {
		t.field("warning", "the daemon was started again %s while it was measured", times(r.Restarts))
	}
	t.ingest(r.Ingest)
	if m := r.ModelRequests; m != nil {
		t.field("requests", "%s", m.Text())
		for _, warning := range m.Warnings() {
			t.field("warning", "%s", printable(warning, oneLine))
		}
	}
	t.daemonEnv(res.Settings.DaemonEnv)
	t.cost(res)
	t.blank()
	t.rate(res)
	if g := res.Gate; g.Floor > 0 || g.Verdict != result.Pass {
		t.gate(res)
	}
	t.field("file", "%s", printable(path, oneLine))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// strata prints the table by question type.
func (t *terminal) strata(res result.Result) {
	if t.quiet || len(res.Replay.Strata) == 0 {
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
	t.table(rows)
}

func stratumRow(s result.Stratum, metrics []string) []string {
	row := []string{short(s.Name, 26), fmt.Sprint(s.Counts.Total), fmt.Sprint(s.Counts.Passed), "–", "–"}
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

// estimates prints what the sample says about the whole benchmark.
func (t *terminal) estimates(r *result.Replay) {
	var parts []string
	if w := r.Weighted; w != nil && r.Sample.Size < r.Sample.Population {
		parts = append(parts, fmt.Sprintf("all %d questions %.3f [%.3f %.3f] (%s)", r.Sample.Population, w.Mean,
			w.Interval.Low, w.Interval.High, w.Interval.Name()))
	}
	if r.Macro != nil {
		parts = append(parts, fmt.Sprintf("mean of the strata %.3f", *r.Macro))
	}
	if len(parts) > 0 {
		t.fieldParts("estimate", parts)
	}
}

// controls prints how the scorer did on answers that are known to be right or wrong.
func (t *terminal) controls(c *result.Controls) {
	if c == nil {
		return
	}
	word := t.tint(true, "VALID")
	switch {
	case !c.Valid():
		word = t.tint(false, "INVALID")
	case !c.Enough():
		word = t.tint(false, "NOT JUDGED")
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
	t.fieldParts("controls", parts)
	t.failedControls("misjudged", c.Failed, maxFailedControls)
	t.failedControls("no verdict", c.Unjudged, 1) // most often all for the same reason
	if note := c.Note(); note != "" {
		t.field("warning", "%s", note)
	}
}

// failedControls prints the first limit controls that were misjudged or not judged.
func (t *terminal) failedControls(what string, list []result.FailedControl, limit int) {
	for i, f := range list {
		if i == limit {
			t.field("", "… and %d more, see the result file", len(list)-i)
			break
		}
		t.field("", "%s: %s, %s %q: %s", what, short(f.ID, 40), short(f.Kind, 24), short(f.Answer, 60), short(f.Reason, 240))
	}
}

// maxFailedControls is how many misjudged controls are printed.
const maxFailedControls = 5

// causes prints what lost questions.
func (t *terminal) causes(r *result.Replay, total int) {
	n := 0
	var parts []string
	for _, cause := range slices.SortedFunc(maps.Keys(r.Losses), func(a, b result.Cause) int {
		return cmp.Or(cmp.Compare(r.Losses[b], r.Losses[a]), strings.Compare(string(a), string(b)))
	}) {
		parts = append(parts, fmt.Sprintf("%s %d", short(strings.ReplaceAll(string(cause), "_", "-"), 40), r.Losses[cause]))
		n += r.Losses[cause]
	}
	if n > 0 {
		t.fieldParts("losses", append([]string{fmt.Sprintf("%d of %d", n, total)}, parts...))
	}
}

// primary prints the primary retrieval metrics with their intervals.
func (t *terminal) primary(res result.Result) {
	r := res.Retrieval
	if len(r.Ks) == 0 {
		return
	}
	var parts []string
	for _, name := range r.PrimaryMetrics() {
		part := fmt.Sprintf("%s %.3f", metricName(name), r.Macro[name])
		if i, ok := r.Intervals[name]; ok {
			part += fmt.Sprintf(" [%.3f %.3f]", i.Low, i.High)
		}
		parts = append(parts, part)
	}
	if brackets := brackets(r); brackets != "" {
		parts = append(parts, brackets)
	}
	parts = append(parts, fmt.Sprintf("over %s with gold", count(r.Questions, "question")))
	t.fieldParts("retrieval", parts)
}

func (t *terminal) ingest(i *result.Ingest) {
	if i == nil {
		return
	}
	what := count(i.Sessions, "session")
	if i.Sessions == 0 {
		what = count(i.Documents, "document")
	}
	t.field("ingest", "%s  %s (%d reused)  %s  %.1f s", short(i.Mode, 24), count(i.Brains, "brain"), i.Reused, what, i.Seconds)
}

// cost prints the cost accounting of one arm.
func (t *terminal) cost(res result.Result) {
	c := res.CostAccounting
	if c == nil {
		return
	}
	parts := []string{c.Amount() + ofCap(c.CapUSD)}
	if c.TotalUSD > 0 {
		judge := c.JudgeUSD.String()
		if res.Cost.UnpricedModel != "" {
			judge = "unknown"
		}
		parts = append(parts, fmt.Sprintf("ingest %s, actor %s, judge %s, embed %s", c.IngestUSD, c.ActorUSD,
			judge, c.EmbedUSD))
	}
	if c.List == nil {
		parts = append(parts, perCorrect(c)...)
	}
	if asked := c.CacheHits + c.CacheMisses; asked > 0 {
		parts = append(parts, fmt.Sprintf("cache hits %.0f%% (%d of %d) saved %s",
			100*float64(c.CacheHits)/float64(asked), c.CacheHits, asked, c.CachedSavingsUSD))
	}
	if len(c.Unpriced) > 0 {
		parts = append(parts, "not counted, price unknown: "+printable(strings.Join(c.Unpriced, ", "), oneLine))
	}
	if c.Unmetered {
		parts = append(parts, "the daemon's own models are not counted")
	}
	t.fieldParts("cost", parts)
	t.listCost(c)
}

// listCost prints what the arm would have cost alone, unless it is free.
func (t *terminal) listCost(c *result.CostAccounting) {
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
		sum += fmt.Sprintf(" + filling %s, not recorded", count(l.ReusedUnrecorded, "reused brain"))
	}
	t.fieldParts("list cost", append([]string{sum}, perCorrect(c)...))
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

// ofCap returns the cap as it follows an amount.
func ofCap(limit *llm.USD) string {
	if limit == nil {
		return " (no cap)"
	}
	return " of " + limit.String()
}

// spent prints what all arms cost together.
func (t *terminal) spent(p *replay.Plan, l ledger.Books) {
	if len(p.Arms) > 1 && l.Spent() > 0 {
		t.field("total", "%s%s", l.Spent(), ofCap(l.Cap()))
	}
}
