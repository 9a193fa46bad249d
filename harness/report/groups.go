package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
)

// groups returns the pass rates of groups of questions, and the uncertainty of the rate.
func (run *Run) groups() form.Section {
	res := &run.Result
	s := form.Section{ID: "groups", Title: "Groups of questions"}
	panel(&s, res.Panel)
	if text := wording.Selection(res.Identity.Dataset); text != "" {
		s.FactIn(run.unlessReplay()&form.Terminal, "selection", "%s", form.Data(text))
	}
	if f := res.FirstTryRate; f != nil {
		s.FactIn(run.ifScored(), "first try", "%d of %d passed: %.3f   %s tried again", f.Passed, f.Total, f.PassRate, figure.Count(f.TriedAgain, "question"))
	}
	run.clustered(&s)
	run.repeats(&s)
	run.strata(&s)
	run.table(&s, "tag", tagRows(res), run.Verbose, run.unlessReplay()&run.ifScored())
	run.table(&s, "check", checkRows(res), true, run.unlessReplay())
	run.replayFigures(&s)
	if res.Grounded+res.GroundedIDsOnly > 0 { // else the daemon cites nothing
		s.FactIn(run.unlessReplay(), "grounded", "%s", groundedText(res))
	}
	if mean := wording.TypeMean(res); mean != "" {
		s.FactIn(run.unlessReplay()&run.ifScored(), "type mean", "%s", mean)
	}
	if res.Leaks != nil {
		s.Fact("leaks", "%s", form.Data(leaksText(res.Leaks)))
	}
	s.Show(form.Pages, run.losses())
	return s
}

// table adds the results of groups of questions. A terminal shows only the groups with questions
// that did not pass, unless all is set.
func (run *Run) table(s *form.Section, of string, rows []tagRow, all bool, in form.Forms) {
	res := &run.Result
	interval := result.Interval{Method: result.MethodWilson, Confidence: 0.95}
	if res.Clustered != nil {
		interval.Method = result.MethodClustered
	}
	t := form.NewTable(form.F("Pass rates by %s. Bar: the rate. Whisker: its interval. Dashed line: the floor", of),
		of, ">n", ">pass", ">rate", "#0 to 1", ">"+wording.IntervalName(&interval), ">errors", ">unscored")
	row := func(in form.Forms, what any, n result.Counts, r *float64, i *result.Interval, floor float64) {
		t.RowIn(in, what, n.Total, n.Passed, figure.Rate(r), rateBar(r, i, floor), EndsBy(i, interval.Method), n.Errors, n.Unscored)
	}
	if of == "tag" {
		all := form.Pages
		if res.Replay != nil && len(res.Replay.Strata) > 0 {
			all = form.HTML // strata have it
		}
		row(all, "all questions", res.Counts, res.PassRate, res.Believed(), run.floor())
	}
	for _, c := range rows {
		shown, least := form.Everywhere, math.NaN()
		if c.PassRate == nil || c.Passed == c.Total && !all {
			shown = form.Pages
		}
		if c.Floor != nil {
			least = c.Floor.Floor
		}
		if run.isStratum(c.Tag) {
			shown &^= form.Markdown // it is a row of strata
		}
		row(shown, form.Name(c.Tag), c.Counts, c.PassRate, c.Interval, least)
	}
	s.Show(in, t)
}

// isStratum reports whether a tag stands for a stratum of a replay.
func (run *Run) isStratum(tag string) bool {
	name, ok := strings.CutPrefix(tag, "type:")
	return ok && run.Result.Replay != nil && slices.ContainsFunc(run.Result.Replay.Strata, func(s result.Stratum) bool { return s.Name == name })
}

// EndsBy formats an interval for a column whose title names a method. It names any other
// method.
func EndsBy(i *result.Interval, titled string) form.Text {
	if i == nil || i.Method == titled {
		return form.F("%s", wording.Ends(i))
	}
	return form.F("%s %s", wording.Ends(i), methodName(i.Method))
}

// fewClusters is the number of clusters below which a clustered standard error is imprecise (Miller
// 2024).
const fewClusters = 20

// clustered adds the interval of the pass rate that allows for similar questions in a cluster, or
// similar repeats of a question.
func (run *Run) clustered(s *form.Section) {
	c, in := run.Result.Clustered, run.ifScored()
	if c == nil {
		return
	}
	by, clusters := form.F("%s", form.Name(c.Tag)), figure.Count(c.Clusters, "cluster")
	if c.Tag == "" {
		by, clusters = form.F("question"), figure.Count(c.Clusters, "question")
	}
	if c.Clusters < fewClusters {
		clusters += fmt.Sprintf("; fewer than %d is few", fewClusters)
	}
	independent := wording.Ends(run.Result.Interval)
	switch {
	case c.SE == nil && c.Interval == nil:
		s.FactIn(in, "clustered", "no interval: all questions are in one cluster of %s   as if all were independent: %s", by, independent)
	case c.Interval == nil:
		s.FactIn(in, "clustered", "no interval: every cluster of %s has the same pass rate  (%s)   as if all were independent: %s", by, clusters, independent)
	default:
		s.FactIn(in, "clustered", "%s %s, clusters: %s  (%s)   as if all were independent: %s", wording.IntervalName(c.Interval), wording.Ends(c.Interval), by, clusters, independent)
	}
	if c.SE != nil {
		s.FactIn(in&form.Pages, "", "standard error %.4f, %.4f if all were independent", *c.SE, c.NaiveSE)
	}
}

// listedFlaky limits the flaky questions in the report.
const listedFlaky = 10

// repeats adds the differences between repeats of questions.
func (run *Run) repeats(s *form.Section) {
	r := run.Result.Repeats
	if r == nil || len(r.At) == 0 {
		return
	}
	k, first, last := r.K, r.At[0], r.At[len(r.At)-1]
	s.Fact("repeats", "%d   pass@1 %.3f  pass@%d %.3f  pass^%d %.3f", k, first.PassAt, k, last.PassAt, k, last.PassHat)
	flaky := form.F("flaky %d", len(r.Flaky))
	if len(r.Flaky) > 0 {
		var names []form.Text
		for _, q := range r.Flaky[:min(len(r.Flaky), listedFlaky)] {
			names = append(names, form.F("%s %d/%d", form.Name(q.ID), q.Passed, q.Asked))
		}
		if more := len(r.Flaky) - listedFlaky; more > 0 {
			names = append(names, form.F("and %d more", more))
		}
		flaky = form.F("flaky %d (%s)", len(r.Flaky), form.Join(", ", names...))
	}
	s.Fact("", "stable %d  %s  never %d", r.Stable, flaky, r.Never)
	if r.QuestionVariance != nil && r.RunVariance != nil {
		s.Fact("", "variance  between questions %.3f  between runs %.3f", *r.QuestionVariance, *r.RunVariance)
	}
	t := form.NewTable(form.F("%s, asked %d times each", figure.Count(r.Questions, "question"), k), "attempts k", ">one passes (pass@k)", ">all pass (pass^k)")
	for _, at := range r.At {
		t.Row(at.K, figure.Rate(&at.PassAt), figure.Rate(&at.PassHat))
	}
	s.Show(form.Pages, t)
}

// strata adds the table by question type of a replay, which pages have by tag.
func (run *Run) strata(s *form.Section) {
	res := &run.Result
	if res.Replay == nil || len(res.Replay.Strata) == 0 {
		return
	}
	columns := []any{"stratum", ">n", ">pass", ">rate", ">95% CI", "|>p50", "|>p95"}
	var metrics []string
	if res.Retrieval != nil {
		k := res.Identity.TopK
		metrics = []string{fmt.Sprintf("any@%d", k), fmt.Sprintf("all@%d", k), fmt.Sprintf("recall@%d", k), fmt.Sprintf("ndcg@%d", min(k, 10))}
		columns = append(columns, ">"+metrics[0], ">all", ">recall", ">nDCG")
	}
	t := form.NewTable(form.Text{}, columns...)
	all := result.Stratum{Name: "overall", Counts: res.Counts, PassRate: res.PassRate, Interval: res.Believed(), Latency: res.Latency}
	if res.Retrieval != nil {
		all.WithGold, all.Retrieval = res.Retrieval.Questions, res.Retrieval.Macro
	}
	rows := res.Replay.Strata
	if len(rows) > 1 {
		rows = append(slices.Clone(rows), all)
	}
	for _, stratum := range rows {
		row := []any{form.Name(stratum.Name), stratum.Counts.Total, stratum.Counts.Passed, figure.Rate(stratum.PassRate), wording.Ends(stratum.Interval),
			percentile(stratum.Latency.P50, nil, result.NeededForP50), percentile(stratum.Latency.P95, nil, result.NeededForP95)}
		for _, m := range metrics {
			cell := none
			if v, ok := stratum.Retrieval[m]; ok && stratum.WithGold > 0 {
				cell = figure.Rate(&v)
			}
			row = append(row, cell)
		}
		t.Row(row...)
	}
	s.Show(form.Terminal|form.Markdown, t)
	var shown []*result.Interval
	for i := range rows {
		shown = append(shown, rows[i].Interval)
	}
	intervalMethods(s, form.Terminal|form.Markdown, shown)
}

// intervalMethods names the methods of the intervals of a table, unless all are Wilson's.
func intervalMethods(s *form.Section, in form.Forms, shown []*result.Interval) {
	wilson := func(i *result.Interval) bool { return i == nil || i.Method == result.MethodWilson }
	if !slices.ContainsFunc(shown, func(i *result.Interval) bool { return !wilson(i) }) {
		return
	}
	s.FactIn(in, "intervals", "%s", methodsOf(shown))
}

// methodsOf names the methods of intervals, each once.
func methodsOf(intervals []*result.Interval) form.Text {
	var names []form.Text
	var seen []string
	for _, i := range intervals {
		if i != nil && !slices.Contains(seen, i.Method) {
			seen, names = append(seen, i.Method), append(names, methodName(i.Method))
		}
	}
	if len(names) == 0 {
		return form.F("none")
	}
	return form.Join(" or ", names...)
}

// losses returns a table of the stages that lost questions.
func (run *Run) losses() *form.Table {
	res := &run.Result
	lost := res.Counts.Total - res.Counts.Passed
	t := form.NewTable(form.F("%s did not pass", figure.Count(lost, "question")), "lost at", ">questions", "#share", "meaning")
	row := func(stage string, n int, meaning string) {
		if n > 0 && lost > 0 {
			t.Row(form.Name(stage), n, share(float64(n), float64(lost)), meaning)
		}
	}
	if r := res.Replay; r != nil && len(r.Losses) > 0 {
		for _, cause := range sortedKeys(r.Losses) {
			row(string(cause), r.Losses[cause], causes[cause])
		}
	} else if g := res.Gate; g != nil {
		row("retrieval", g.Loss.Retrieval, "a gold document was not retrieved")
		row("reader", g.Loss.Reader, "all gold was retrieved, and the answer is wrong")
		row("error", g.Loss.Errors, "the daemon returned no usable answer")
		row("unscored", g.Loss.Unscored, "the scorer returned no usable verdict")
		row("unknown", g.Loss.Unknown, "no gold document shows where it was lost")
	}
	return t
}

var causes = map[result.Cause]string{
	result.CauseDaemon:        "the daemon returned no usable answer",
	result.CauseReaderError:   "the model that answers failed",
	result.CauseUnscored:      "the judge returned no usable verdict",
	result.CauseJudgeSuspect:  "the answer contains the reference, and is judged wrong",
	result.CauseRankBurial:    "gold is missing from the top-k and was found further down",
	result.CauseMissRetrieval: "gold is missing from the top-k and was not found further down",
	result.CauseAbstain:       "it declined with all gold retrieved, or answered where it should decline",
	result.CauseUnknown:       "it is not known what is gold",
	result.CauseReader:        "all gold was retrieved, and the answer is wrong",
}
