package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// rate returns the pass rate and the verdict, which come last on a terminal.
func (run *Run) rate() form.Section {
	res := &run.Result
	s := form.Section{ID: "rate", Title: "Pass rate", Place: form.Last}
	s.Show(form.Terminal, form.Gap{})
	run.passRate(&s)
	g := res.Gate
	if g != nil && (res.Replay == nil || g.Floor > 0 || g.Verdict != result.Pass) {
		run.gate(&s)
	}
	if g != nil && res.Replay == nil && g.Passed < g.Total {
		s.FactIn(form.Terminal, "lost at", "%s", g.Loss)
	}
	s.FactIn(form.Terminal, "file", "%s", form.Path(run.Path))
	if g != nil {
		s.FactIn(form.Pages, "without a score", "errors %d of %d allowed (%s)  unscored %d of %d allowed (%s)",
			g.MaxErrors.Count, g.MaxErrors.Allowed, g.MaxErrors.Max, g.MaxUnscored.Count, g.MaxUnscored.Allowed, g.MaxUnscored.Max)
	}
	if res.MeanScore != nil {
		mean := rate(res.MeanScore) + " over the scored questions"
		if res.MeanScoreInterval != nil {
			mean += ", " + levelOf(res.MeanScoreInterval)
		}
		s.FactIn(form.Pages&run.ifScored(), "mean score", "%s", mean)
	}
	return s
}

// passRate adds the pass rate with its interval.
func (run *Run) passRate(s *form.Section) {
	res := &run.Result
	if res.PassRate == nil {
		s.Fact("pass rate", "none: no question finished")
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
	s.FactIn(run.ifScored(), "pass rate", "%.3f  %d/%d   95%% CI %s (Wilson)   counted: %s", *res.PassRate, res.Passed, res.Total, within(res.Interval), counted)
	s.Fact("passed", "%s", res.Identity.PassedText())
}

// leftOut says why questions do not count.
func leftOut(res *result.Result) string {
	if r := res.Replay; r != nil && r.Errata != nil && r.Errata.Excluded > 0 {
		if res.Counts.NoGold == r.Errata.Excluded {
			return "excluded by errata"
		}
		return "without expected_paths or excluded by errata"
	}
	return "without expected_paths excluded"
}

// gate adds the verdict of a gate.
func (run *Run) gate(s *form.Section) {
	res, g := &run.Result, run.Result.Gate
	switch g.Verdict {
	case result.Pass, result.Fail:
		if g.Stopped != "" {
			s.Fact("floor", "%.3f  %s  %s", g.Floor, form.Toned(form.Bad, "FAIL"), form.Data(g.Sentence))
			return
		}
		floors(s, g)
	case result.Inconclusive:
		s.Fact("stopped", "%s after %d of %s: this is not a score", form.Name(g.Stopped), res.Counts.Finished(), figure.Count(res.Planned, "question"))
	case result.Invalid:
		s.Fact("invalid", "%s", form.Data(g.Sentence))
	}
}

// passWord is PASS or FAIL.
func passWord(good bool) form.Text {
	if good {
		return form.Toned(form.Good, "PASS")
	}
	return form.Toned(form.Bad, "FAIL")
}

// maxChanged is the number of ids of questions that changed in the report. The result file has all.
const maxChanged = 20

// floors adds how a finished run compares with its floors and its baseline.
func floors(s *form.Section, g *result.Gate) {
	s.Fact("floor", "%.3f  %s  %s", g.Floor, passWord(g.Mode.Met(g.Passed, g.Required, g.Proof)), g.FloorText())
	for _, tag := range g.Tags {
		s.Fact("floor", "%.3f  %s  tag %s: %s", tag.Floor, passWord(tag.Met), form.Name(tag.Tag), tag.Text(g.Mode))
	}
	b := g.Baseline
	if b == nil {
		return
	}
	s.Fact("baseline", "%s  %s", passWord(b.Verdict == result.NotWorse), form.Data(b.Text()))
	text := form.F("%s  sha256 %s", form.Path(b.Path), short(b.SHA256))
	if b.Unpaired > 0 {
		text = form.F("%s  %s left out", text, figure.Count(b.Unpaired, "unpaired question"))
		if b.Unscored > 0 {
			text = form.F("%s (%d unscored)", text, b.Unscored)
		}
	}
	if len(b.Differs) > 0 {
		text = form.F("%s  differs in %s", text, form.Join(", ", form.Names(b.Differs)...))
	}
	s.Fact("", "%s", text)
	for _, list := range []struct {
		name string
		ids  []string
	}{{"broke", b.Broke}, {"fixed", b.Fixed}} {
		if len(list.ids) > 0 {
			s.Fact(list.name, "%d: %s", len(list.ids), someOf(list.ids, maxChanged, " "))
		}
	}
}

// groups returns the pass rates of groups of questions, and how certain the rate is.
func (run *Run) groups() form.Section {
	res := &run.Result
	s := form.Section{ID: "groups", Title: "Groups of questions"}
	panel(&s, res.Panel)
	if text := res.Identity.Dataset.SelectionText(); text != "" {
		s.FactIn(run.unlessReplay()&form.Terminal, "selection", "%s", form.Data(text))
	}
	if f := res.FirstTryRate; f != nil {
		s.FactIn(run.ifScored(), "first try", "%d of %d passed: %.3f   %s tried again", f.Passed, f.Total, f.PassRate, figure.Count(f.TriedAgain, "question"))
	}
	run.clustered(&s)
	run.repeats(&s)
	run.strata(&s)
	run.table(&s, "tag", res.TagRows(), run.Verbose, run.unlessReplay()&run.ifScored())
	run.table(&s, "check", res.CheckRows(), true, run.unlessReplay())
	run.replayed(&s)
	if res.Grounded+res.GroundedIDsOnly > 0 || res.Passed > 0 && res.Identity.Scenario.Reads() && res.Identity.Imported == nil && !res.Mapped.Unretrieved() {
		s.FactIn(run.unlessReplay(), "grounded", "%s", res.GroundedText())
	}
	if res.Leaks != nil {
		s.Fact("leaks", "%s", form.Data(res.Leaks.Text()))
	}
	s.Show(form.Pages, run.losses())
	return s
}

// table adds the results of groups of questions. A terminal shows those in which questions did not pass, or
// all.
func (run *Run) table(s *form.Section, of string, rows []result.TagRow, all bool, in form.Forms) {
	res := &run.Result
	interval, floor := result.Interval{Method: result.MethodWilson, Confidence: 0.95}, math.NaN()
	if res.Clustered != nil {
		interval.Method = result.MethodClustered
	}
	if res.Gate != nil {
		floor = res.Gate.Floor
	}
	t := form.NewTable(form.F("Pass rates by %s. Bar: the rate. Whisker: its interval. Dashed line: the floor", of),
		of, ">n", ">pass", ">rate", "#0 to 1", ">"+interval.Name(), ">errors", ">unscored")
	row := func(in form.Forms, what any, n result.Counts, r *float64, i *result.Interval, floor float64) {
		t.RowIn(in, what, n.Total, n.Passed, rate(r), rateBar(r, i, floor), withMethod(i, interval.Method), n.Errors, n.Unscored)
	}
	if of == "tag" {
		all := form.Pages
		if res.Replay != nil && len(res.Replay.Strata) > 0 {
			all = form.HTML // strata have it
		}
		row(all, "all questions", res.Counts, res.PassRate, res.Believed(), floor)
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

// isStratum reports whether a tag has the questions of a stratum of a replay.
func (run *Run) isStratum(tag string) bool {
	name, ok := strings.CutPrefix(tag, "type:")
	return ok && run.Result.Replay != nil && slices.ContainsFunc(run.Result.Replay.Strata, func(s result.Stratum) bool { return s.Name == name })
}

// withMethod is within for a column whose title names a method. It names any other one.
func withMethod(i *result.Interval, titled string) form.Text {
	if i == nil || i.Method == titled {
		return form.F("%s", within(i))
	}
	return form.F("%s %s", within(i), methodName(i.Method))
}

// fewClusters is the number of clusters below which a clustered standard error is imprecise
// (Miller 2024).
const fewClusters = 20

// clustered adds the interval of the pass rate that respects that questions of a cluster, or
// repeats of a question, are alike.
func (run *Run) clustered(s *form.Section) {
	c, in := run.Result.Clustered, run.unlessReplay()&run.ifScored()
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
	switch {
	case c.SE == nil && c.Interval == nil:
		s.FactIn(in, "clustered", "no interval: all questions are in one cluster of %s", by)
	case c.Interval == nil:
		s.FactIn(in, "clustered", "no interval: every cluster of %s has the same pass rate  (%s)", by, clusters)
	default:
		s.FactIn(in, "clustered", "%s %s, clusters: %s  (%s)   believe this one: Wilson's takes them as independent", c.Interval.Name(), within(c.Interval), by, clusters)
	}
	if c.SE != nil {
		s.FactIn(in&form.Pages, "", "standard error %.4f, %.4f if all were independent", *c.SE, c.NaiveSE)
	}
}

// listedFlaky is the maximum number of flaky questions in the report.
const listedFlaky = 10

// repeats adds how the repeats of questions differ.
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
		t.Row(at.K, rate(&at.PassAt), rate(&at.PassHat))
	}
	s.Show(form.Pages, t)
}

// strata adds the table by question type of a replay, which pages have by tag.
func (run *Run) strata(s *form.Section) {
	res := &run.Result
	if res.Replay == nil || len(res.Replay.Strata) == 0 {
		return
	}
	columns := []any{"stratum", ">n", ">pass", ">rate", ">95% Wilson", "|>p50", "|>p95"}
	var metrics []string
	if res.Retrieval != nil {
		k := res.Identity.TopK
		metrics = []string{fmt.Sprintf("any@%d", k), fmt.Sprintf("all@%d", k), fmt.Sprintf("recall@%d", k), fmt.Sprintf("ndcg@%d", min(k, 10))}
		columns = append(columns, ">"+metrics[0], ">all", ">recall", ">nDCG")
	}
	t := form.NewTable(form.Text{}, columns...)
	all := result.Stratum{Name: "overall", Counts: res.Counts, PassRate: res.PassRate, Interval: res.Interval, Latency: res.Latency}
	if res.Retrieval != nil {
		all.WithGold, all.Retrieval = res.Retrieval.Questions, res.Retrieval.Macro
	}
	for _, stratum := range append(slices.Clone(res.Replay.Strata), all) {
		row := []any{form.Name(stratum.Name), stratum.Counts.Total, stratum.Counts.Passed, rate(stratum.PassRate), within(stratum.Interval),
			percentile(stratum.Latency.P50, nil, result.NeededForP50), percentile(stratum.Latency.P95, nil, result.NeededForP95)}
		for _, m := range metrics {
			cell := none
			if v, ok := stratum.Retrieval[m]; ok && stratum.WithGold > 0 {
				cell = rate(&v)
			}
			row = append(row, cell)
		}
		t.Row(row...)
	}
	s.Show(form.Terminal|form.Markdown, t)
}

// replayed adds what only a replay knows: estimates for the whole benchmark, errata, the check of the judge, and
// what lost questions.
func (run *Run) replayed(s *form.Section) {
	r, n := run.Result.Replay, run.Result.Counts.Total
	if r == nil {
		return
	}
	var parts []string
	if w := r.Weighted; w != nil && r.Sample.Size < r.Sample.Population {
		parts = append(parts, fmt.Sprintf("all %d questions %.3f [%.3f %.3f] (%s)", r.Sample.Population, w.Mean, w.Interval.Low, w.Interval.High, w.Interval.Name()))
	}
	if r.Macro != nil {
		parts = append(parts, fmt.Sprintf("mean of the strata %.3f", *r.Macro))
	}
	if len(parts) > 0 {
		s.Fact("estimate", "%s", form.Parts(parts...))
	}
	if e := r.Errata; e != nil && e.OriginalPassRate != nil {
		s.Fact("original", "%.3f  %d/%d   95%% CI %s (Wilson) by the dataset's own gold (errata: %d excluded, %d corrected)",
			*e.OriginalPassRate, e.Original.Passed, e.Original.Total, within(e.OriginalInterval), e.Excluded, e.Corrected)
	}
	controls(s, r.Controls)
	lost, causes := 0, []form.Text{{}}
	for _, cause := range slices.SortedFunc(maps.Keys(r.Losses), func(a, b result.Cause) int {
		return cmp.Or(cmp.Compare(r.Losses[b], r.Losses[a]), strings.Compare(string(a), string(b)))
	}) {
		causes = append(causes, form.F("%s %d", form.Name(strings.ReplaceAll(string(cause), "_", "-")), r.Losses[cause]))
		lost += r.Losses[cause]
	}
	if causes[0] = form.F("%d of %d", lost, n); lost > 0 {
		s.FactIn(form.Terminal, "losses", "%s", form.Parts(causes...))
	}
	var verdicts []form.Text
	for _, v := range sortedKeys(r.Verdicts) {
		verdicts = append(verdicts, form.F("%s %d", form.Name(v), r.Verdicts[v]))
	}
	if len(verdicts) > 0 {
		s.FactIn(form.Pages, "verdicts", "%s", form.Parts(verdicts...))
	}
}

// maxFailedControls is how many misjudged controls are listed.
const maxFailedControls = 5

// controls adds how the scorer did on answers that are known to be right or wrong.
func controls(s *form.Section, c *result.Controls) {
	if c == nil {
		return
	}
	word := form.Toned(form.Good, "VALID")
	switch {
	case !c.Valid():
		word = form.Toned(form.Bad, "INVALID")
	case !c.Enough():
		word = form.Toned(form.Bad, "NOT JUDGED")
	}
	right, wrong := c.Judged()
	parts := []form.Text{form.F("%s  %d/%d right passed, %d/%d wrong failed", word, c.RightPassed, right, c.WrongFailed, wrong)}
	if c.FalsePositiveRate != nil {
		parts = append(parts, form.F("false positives %.3f", *c.FalsePositiveRate))
	}
	if c.FalseNegativeRate != nil {
		parts = append(parts, form.F("false negatives %.3f", *c.FalseNegativeRate))
	}
	if c.Unscored > 0 {
		parts = append(parts, form.F("%d without a verdict", c.Unscored))
	}
	s.Fact("controls", "%s", form.Parts(parts...))
	failed := func(what string, list []result.FailedControl, most int) {
		for _, f := range list[:min(len(list), most)] {
			s.Fact("", "%s: %s, %s \"%s\": %s", what, form.Name(f.ID), form.Name(f.Kind), form.Data(terminal.Clip(f.Answer, 60)), form.Data(terminal.Clip(f.Reason, 240)))
		}
		if more := len(list) - most; more > 0 {
			s.Fact("", "… and %d more, see the result file", more)
		}
	}
	failed("misjudged", c.Failed, maxFailedControls)
	failed("no verdict", c.Unjudged, 1) // most often all for the same reason
	if note := c.Note(); note != "" {
		s.Warn(form.Everywhere, "%s", note)
	}
}

// losses says which stage lost the questions that did not pass.
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

// listedDisputes is how many disputed answers a terminal lists.
const listedDisputes = 8

// panel adds what the recipes of a panel say: first the answers on which they disagree.
func panel(s *form.Section, p *result.Panel) {
	if p == nil {
		return
	}
	n := len(p.Disputed)
	s.Show(form.Terminal, form.Gap{})
	s.Fact("disputed", "%s on which the recipes disagree", figure.Count(n, "answer"))
	for _, d := range p.Disputed[:min(n, listedDisputes)] {
		s.FactIn(form.Terminal, "", "%s", form.Data(d.String()))
	}
	if n > listedDisputes {
		s.FactIn(form.Terminal, "", "… and %d more, all in the result", n-listedDisputes)
	}
	disputed := form.NewTable(form.F("Disputed answers, the most evenly split first"), "disputed", "passed by", "failed by")
	for _, d := range p.Disputed {
		disputed.Row(form.Name(d.ID), form.Join(", ", form.Names(d.Passed)...), form.Join(", ", form.Names(d.Failed)...))
	}
	s.Show(form.Pages, disputed)
	s.Show(form.Terminal, form.Gap{})
	recipes := form.NewTable(form.F("Pass rates by recipe, with their 95%% intervals"), "recipe", ">passed", ">pass rate", "#0 to 1", ">unscored")
	for i, r := range p.Recipes {
		name := form.F("%s", form.Name(r.Recipe))
		if i == 0 {
			name = form.F("%s (headline)", name)
		}
		recipes.Row(name, fmt.Sprintf("%d/%d", r.Counts.Passed, r.Counts.Total), rateWithin(r.PassRate, r.Interval), rateBar(r.PassRate, r.Interval, math.NaN()), r.Counts.Unscored)
	}
	s.Show(form.Everywhere, recipes)
	t := form.NewTable(form.F("Agreement of recipes"), "agreement", ">answers", ">agree", ">kappa", ">AC1")
	for _, a := range p.Pairs {
		t.Row(form.F("%s, %s", form.Name(a.First), form.Name(a.Second)), a.N, rate(a.Agreement), a.Kappa, a.AC1)
	}
	if len(p.Recipes) > 2 {
		t.Row("all, Fleiss' kappa", p.Judged, "", p.Fleiss, p.AC1)
	}
	s.Show(form.Everywhere, t)
	if p.Low != nil && p.High != nil {
		s.Fact("span", "%.3f to %.3f over %s; the headline is %s", *p.Low, *p.High, figure.Count(len(p.Recipes), "recipe"), form.Name(p.Headline))
	}
}
