package nightly

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/markdown"
)

// verdict writes the verdict on an arm in one line. A pass rate is called one only if the replay
// says something about the memory.
func (m *measured) verdict(w io.Writer) {
	if m.res == nil {
		fmt.Fprintf(w, "- **%s: no result.** %s\n", markdown.Code(m.Name), markdown.Span(cmp.Or(m.Problem, "it was not measured"), textLength))
		return
	}
	g, n := m.res.Gate, m.res.Counts
	fmt.Fprintf(w, "- **%s: %s.** ", markdown.Code(m.Name), verdictWords(g))
	switch g.Verdict {
	case result.Pass, result.Fail:
		fmt.Fprintf(w, "Pass rate %s, 95%% CI %s (Wilson), %d of %s passed. ",
			markdown.Rate(m.res.PassRate), interval(m.res.Interval), n.Passed, markdown.Count(n.Total, "question"))
		if g.Floor > 0 {
			fmt.Fprintf(w, "The floor is %.3f: %d required. ", g.Floor, g.Required)
		}
	case result.Inconclusive:
		fmt.Fprintf(w, "Stopped (%s) after %d of %s, of which %d passed: this is not a score. ",
			markdown.Code(string(g.Stopped)), n.Finished(), markdown.Count(m.res.Planned, "question"), n.Passed)
	case result.Invalid:
		fmt.Fprintf(w, "This is not a score: %s. ", markdown.Span(g.Sentence, textLength))
	}
	if t := g.ProofText(); t != "" && g.Verdict == result.Pass && g.Floor > 0 {
		fmt.Fprintf(w, "That is %s. ", t)
	}
	fmt.Fprint(w, m.controls())
	if p := m.res.Panel; p != nil && p.Low != nil && p.High != nil {
		fmt.Fprintf(w, " Over %s the pass rate is %.3f to %.3f, the headline being %s; they disagree about %s, Fleiss' kappa %s.",
			markdown.Count(len(p.Recipes), "recipe"), *p.Low, *p.High, markdown.Code(p.Headline),
			markdown.Count(len(p.Disputed), "answer"), p.Fleiss)
	}
	if m.Problem != "" {
		fmt.Fprintf(w, " Problem: %s", markdown.Span(m.Problem, textLength))
	}
	fmt.Fprintln(w)
}

func verdictWords(g *result.Gate) string {
	if g.Floor == 0 && g.Verdict == result.Pass {
		return "measured" // there is nothing to pass or fail
	}
	return string(g.Verdict)
}

// controls says how the scorer did on answers that are known to be right or wrong.
func (m *measured) controls() string {
	if m.res.Replay == nil || m.res.Replay.Controls == nil {
		return "The scorer needs no controls."
	}
	c := m.res.Replay.Controls
	right, wrong := c.Judged()
	s := fmt.Sprintf("On controls the scorer passed %d of %d wrong answers (false positives %s) "+
		"and failed %d of %d right ones (false negatives %s)",
		wrong-c.WrongFailed, wrong, markdown.Rate(c.FalsePositiveRate),
		right-c.RightPassed, right, markdown.Rate(c.FalseNegativeRate))
	if note := c.Note(); note != "" {
		return s + ": " + note + "."
	}
	if c.Unscored > 0 {
		s += fmt.Sprintf("; %d got no verdict", c.Unscored)
	}
	if len(c.Unjudged) > 0 {
		s += fmt.Sprintf(": %s", markdown.Span(c.Unjudged[0].Reason, textLength))
	}
	return s + "."
}

// falseRates returns the scorer's rates of false positives and false negatives.
func falseRates(res *result.Result) string {
	if res.Replay == nil || res.Replay.Controls == nil {
		return markdown.None
	}
	c := res.Replay.Controls
	return markdown.Rate(c.FalsePositiveRate) + " / " + markdown.Rate(c.FalseNegativeRate)
}

// quality writes the figures by question type, and what they add up to.
func (m *measured) quality(w io.Writer) {
	fmt.Fprint(w, "### Quality\n\n")
	metrics := metricsOf(m.res)
	if !scored(m.res) {
		fmt.Fprint(w, "These figures are of the questions that have finished. They are not a score.\n\n")
	}
	t := markdown.NewTable("lrrrrrr"+strings.Repeat("r", len(metrics)),
		slices.Concat([]string{"question type", "n", "passed", "pass rate", "95% Wilson"}, metrics, []string{"p50", "p95"})...)
	if m.res.Replay != nil {
		for _, s := range m.res.Replay.Strata {
			t.Row(slices.Concat(
				[]string{markdown.Cell(s.Name), fmt.Sprint(s.Counts.Total), fmt.Sprint(s.Counts.Passed), markdown.Rate(s.PassRate), interval(s.Interval)},
				values(s.Retrieval, metrics),
				[]string{p50(s.Latency), p95(s.Latency)})...)
		}
	}
	var overall result.Metrics
	if m.res.Retrieval != nil {
		overall = m.res.Retrieval.Macro
	}
	t.Row(slices.Concat(
		[]string{"**all**", fmt.Sprint(m.res.Total), fmt.Sprint(m.res.Passed), markdown.Rate(m.res.PassRate), interval(m.res.Interval)},
		values(overall, metrics),
		[]string{p50(m.res.Latency), p95(m.res.Latency)})...)
	t.Write(w)
	m.notes(w)
}

func p50(q result.Quantiles) string { return percentile(q.P50, q.N, result.NeededForP50) }

func p95(q result.Quantiles) string { return percentile(q.P95, q.N, result.NeededForP95) }

// percentile formats a percentile of n values, or how many it needs.
func percentile(ms *float64, n, needed int) string {
	if ms == nil && n > 0 {
		return fmt.Sprintf("needs %d", needed)
	}
	return markdown.Milliseconds(ms)
}

// notes writes what a reader must know of the table of the types.
func (m *measured) notes(w io.Writer) {
	n, r := m.res.Counts, m.res.Replay
	fmt.Fprintf(w, "Passed: %s.\n", m.res.Identity.PassedText())
	fmt.Fprintf(w, "%d scored, %s and %d unscored (both count as not passed). Scorer's false positives / negatives on controls: %s.\n",
		n.Scored, markdown.Count(n.Errors, "error"), n.Unscored, falseRates(m.res))
	if ret := m.res.Retrieval; ret != nil && len(ret.Ks) > 0 {
		k := ret.Ks[len(ret.Ks)-1]
		fmt.Fprintf(w, "Retrieval is measured over the %s with gold documents: any@%d is the share of them with gold "+
			"among the first %[2]d documents, all@%[2]d that with all gold among them.\n", markdown.Count(ret.Questions, "question"), k)
	}
	if r == nil {
		fmt.Fprintln(w)
		return
	}
	fmt.Fprintf(w, "%d of %s were answered at the first attempt, of which %d passed.\n",
		r.FirstAttempt, markdown.Count(m.res.Planned, "question"), r.FirstAttemptPassed)
	if r.Macro != nil {
		fmt.Fprintf(w, "The mean of the types is %s.\n", markdown.Rate(r.Macro))
	}
	if r.Alone != nil {
		fmt.Fprintf(w, "Alone: %s.\n", markdown.Span(r.Alone.Text(), sentenceLength))
	}
	if e := r.Weighted; e != nil && r.Sample.Size < r.Sample.Population {
		fmt.Fprintf(w, "For the whole benchmark, weighted by type, the pass rate is estimated as %s, 95%% CI %s (stratified Wilson).\n", markdown.Rate(&e.Mean), interval(&e.Interval))
	}
	if e := r.Errata; e != nil {
		fmt.Fprintf(w, "Errata exclude %s and correct the gold of %d. By the dataset's own gold, %d of %d passed: %s, 95%% CI %s (Wilson).\n",
			markdown.Count(e.Excluded, "question"), e.Corrected, e.Original.Passed, e.Original.Total,
			markdown.Rate(e.OriginalPassRate), interval(e.OriginalInterval))
	}
	for _, warning := range r.ModelRequests.Warnings() {
		fmt.Fprintf(w, "%s.\n", markdown.Span(warning, textLength))
	}
	if r.Restarts > 0 {
		fmt.Fprintf(w, "The daemon was restarted during the replay (seen %s).\n", markdown.Count(r.Restarts, "time"))
	}
	fmt.Fprintln(w)
}

// scored reports whether the pass rate of a result says something about the memory.
func scored(res *result.Result) bool {
	return res.PassRate != nil && (res.Gate.Verdict == result.Pass || res.Gate.Verdict == result.Fail)
}

// metricsOf returns the retrieval metrics that are shown: those of the whole top-k.
func metricsOf(res *result.Result) []string {
	if res.Retrieval == nil || len(res.Retrieval.Ks) == 0 {
		return nil
	}
	k := res.Retrieval.Ks[len(res.Retrieval.Ks)-1]
	return []string{
		fmt.Sprintf("any@%d", k), fmt.Sprintf("all@%d", k), fmt.Sprintf("recall@%d", k),
		fmt.Sprintf("ndcg@%d", min(k, 10)),
	}
}

func values(m result.Metrics, names []string) []string {
	var out []string
	for _, name := range names {
		v, ok := m[name]
		if !ok {
			out = append(out, markdown.None)
			continue
		}
		out = append(out, markdown.Rate(&v))
	}
	return out
}

// meanings explains the causes of losses.
var meanings = map[result.Cause]string{
	result.CauseDaemon:        "the daemon returned no usable answer",
	result.CauseReaderError:   "the model that answers failed",
	result.CauseUnscored:      "the judge returned no usable verdict",
	result.CauseJudgeSuspect:  "the answer contains the reference and was judged wrong",
	result.CauseAbstain:       "it declined to answer, or answered where it should decline",
	result.CauseRankBurial:    "gold was ranked below top-k",
	result.CauseMissRetrieval: "gold was not found",
	result.CauseUnknown:       "it is not known what is gold",
	result.CauseReader:        "the gold was retrieved and the answer is wrong",
}

// losses writes what lost the questions that did not pass, and the verdicts.
func (m *measured) losses(w io.Writer) {
	r := m.res.Replay
	if r == nil {
		return
	}
	causes := slices.SortedFunc(maps.Keys(r.Losses), func(a, b result.Cause) int {
		return cmp.Or(cmp.Compare(r.Losses[b], r.Losses[a]), cmp.Compare(a, b))
	})
	t := markdown.NewTable("lrl", "lost by", "questions", "meaning")
	for _, c := range causes {
		t.Row(markdown.Cell(string(c)), fmt.Sprint(r.Losses[c]), meanings[c])
	}
	if len(causes) > 0 {
		fmt.Fprint(w, "### Losses\n\n")
		t.Write(w)
	}
	var verdicts []string
	for _, v := range slices.Sorted(maps.Keys(r.Verdicts)) {
		verdicts = append(verdicts, fmt.Sprintf("%s %d", markdown.Code(string(v)), r.Verdicts[v]))
	}
	if len(verdicts) > 0 {
		fmt.Fprintf(w, "Verdicts: %s.\n\n", strings.Join(verdicts, ", "))
	}
}
