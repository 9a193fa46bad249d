package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/markdown"
)

// The number of characters that a page shows of a sentence and of a text.
const (
	sentenceLength = 600
	textLength     = 300
)

// write writes a section for each arm, and then what did not pass.
func (a Arms) write(p *summary) {
	for _, arm := range a {
		arm.write(p, nil)
		if arm.Run != nil {
			arm.failures(p)
		}
	}
}

// write writes the section of an arm, without the inputs that are common to several.
func (a *Arm) write(p *summary, common map[part]bool) {
	a.heading(p)
	if a.Run == nil {
		return
	}
	a.panel(p)
	a.rates(p)
	a.tags(p)
	a.checks(p)
	a.baseline(p)
	a.repeats(p)
	a.retrieval(p)
	a.latency(p)
	writeInputs(p, a.inputs(), func(in part) bool { return !common[in] })
}

// heading writes the verdict in words.
func (a *Arm) heading(p *summary) {
	name := markdown.Code(a.Name)
	if a.Run == nil {
		p.printf("## No result: %s\n\n%s\n\n", name, markdown.Span(cmp.Or(a.Problem, "it was not measured"), sentenceLength))
		return
	}
	p.printf("## %s\n\n", a.Run.verdict(name))
	p.printf("%s\n\n", markdown.Span(a.Run.Result.Gate.Sentence, sentenceLength))
	if s := selection(&a.Run.Result); s != "" {
		p.printf("**A selection was asked:** %s. The figures are those of the selection.\n\n", markdown.Span(s, textLength))
	}
	if a.Problem != "" {
		p.printf("Problem: %s\n\n", markdown.Span(a.Problem, sentenceLength))
	}
}

// verdict returns the verdict on a run in a few words.
func (run *Run) verdict(name string) string {
	res, g := &run.Result, run.Result.Gate
	passed := fmt.Sprintf("%s passed %d of %s (%s)", name, g.Passed, markdown.Count(g.Total, "question"), markdown.Rate(res.PassRate))
	switch {
	case g.Verdict == result.Inconclusive:
		return fmt.Sprintf("Inconclusive: %s was stopped after %d of %s", name, res.Counts.Finished(), markdown.Count(res.Planned, "question"))
	case g.Verdict == result.Invalid:
		return fmt.Sprintf("Invalid: the result of %s is not a score", name)
	case g.Verdict == result.Fail && res.Stopped != "":
		return fmt.Sprintf("Fail: %s was stopped after %d of %s, %d of them passed, floor %v", name,
			res.Counts.Finished(), markdown.Count(res.Planned, "question"), g.Passed, g.Floor)
	case g.Verdict == result.Fail:
		return fmt.Sprintf("Fail: %s, floor %v", passed, g.Floor)
	case g.Floor == 0 && g.Baseline == nil && len(g.Tags) == 0:
		return "Measured: " + passed // there was nothing to pass or fail
	}
	return fmt.Sprintf("Pass: %s, floor %v", passed, g.Floor)
}

// scored reports whether the pass rate says something about the memory.
func (run *Run) scored() bool {
	v := run.Result.Gate.Verdict
	return run.Result.Stopped == "" && (v == result.Pass || v == result.Fail)
}

// rates writes the pass rate of all questions, and how certain it is.
func (a *Arm) rates(p *summary) {
	res := &a.Run.Result
	n := res.Counts
	t := markdown.NewTable("rrrrrrr", "questions", "passed", "pass rate", withinTitle(res), "mean score", "errors", "unscored")
	rate, within, mean := markdown.None, markdown.None, markdown.None
	if a.Run.scored() {
		rate, within, mean = markdown.Rate(res.PassRate), within95(res, res.Believed()), markdown.Rate(res.MeanScore)
	}
	t.Row(fmt.Sprint(n.Total), fmt.Sprint(n.Passed), rate, within, mean, fmt.Sprint(n.Errors), fmt.Sprint(n.Unscored))
	p.part(t.Write)
	p.printf("Passed: %s.\n\n", res.Identity.PassedText())
	if n.Errors+n.Unscored > 0 {
		p.printf("Errors and unscored questions count as not passed. Without them %d of %d passed: %s.\n\n",
			n.Passed, n.Scored, markdown.Share(n.Passed, n.Scored))
	}
	if f := res.FirstTryRate; f != nil && a.Run.scored() {
		p.printf("%s.\n\n", f.Text())
	}
	if n.NotMeasurable > 0 {
		p.printf("%s not measurable, because the target lacks an operation, not counted.\n\n", markdown.Count(n.NotMeasurable, "question"))
	}
	if l := a.Run.Result.Leaks; l != nil {
		p.printf("**Leaks:** %s.\n\n", markdown.Span(l.Text(), textLength))
	}
	if n.NoGold > 0 {
		p.printf("%s without gold, or excluded by errata, not counted.\n\n", markdown.Count(n.NoGold, "question"))
	}
	if c := res.Clustered; c != nil && a.Run.scored() {
		a.clusters(p, c)
	}
	if lost := res.Gate.Loss.String(); lost != "" {
		p.printf("Lost at: %s.\n\n", strings.ReplaceAll(lost, "  ", ", "))
	}
}

// clusters says why the interval of the pass rate is not Wilson's.
func (a *Arm) clusters(p *summary, c *result.Clustered) {
	of, what := "repeats of one question", markdown.Count(c.Clusters, "question")
	if c.Tag != "" {
		of, what = "questions of one cluster "+markdown.Code(c.Tag), markdown.Count(c.Clusters, "cluster")
	}
	why := "takes the questions as independent"
	if c.Interval == nil {
		why += "; these determine no interval"
	}
	p.printf("Because %s are alike, the interval is over %s. Wilson's, %s, %s.\n\n", of, what, interval(a.Run.Result.Interval), why)
}

// checks writes the figures by check.
func (a *Arm) checks(p *summary) {
	a.table(p, "check", a.Run.Result.CheckRows(), true, false)
}

// tags writes the figures by tag, with the floors of tags.
func (a *Arm) tags(p *summary) {
	rows := a.Run.Result.TagRows()
	floors := slices.ContainsFunc(rows, func(r result.TagRow) bool { return r.Floor != nil })
	a.table(p, "tag", rows, a.Run.scored(), floors)
}

// table writes the figures of tags or checks, without rates unless these are scores.
func (a *Arm) table(p *summary, of string, rows []result.TagRow, scored, floors bool) {
	res := &a.Run.Result
	align, header := "lrrrrrr", []string{of, "questions", "passed", "pass rate", withinTitle(res), "errors", "unscored"}
	if floors {
		align, header = align+"rl", append(header, "floor", "verdict")
	}
	p.rows(markdown.NewTable(align, header...), len(rows), of+"s", func(i int) []string {
		f := &rows[i]
		rate, within := markdown.None, markdown.None
		if scored {
			rate, within = markdown.Rate(f.PassRate), within95(res, f.Interval)
		}
		row := []string{markdown.Cell(f.Tag), fmt.Sprint(f.Total), fmt.Sprint(f.Passed), rate, within, fmt.Sprint(f.Errors), fmt.Sprint(f.Unscored)}
		switch {
		case !floors:
			return row
		case f.Floor == nil:
			return append(row, markdown.None, "")
		case f.Floor.Met:
			return append(row, fmt.Sprint(f.Floor.Floor), "reached")
		}
		return append(row, fmt.Sprint(f.Floor.Floor), "**not reached**")
	})
}

// baselineWords are the verdicts on a run compared with its baseline.
var baselineWords = map[result.BaselineVerdict]string{
	result.NotWorse: "not worse", result.Worse: "**worse**", result.Unknown: "**unknown**",
}

// baseline writes the comparison with the baseline.
func (a *Arm) baseline(p *summary) {
	b := a.Run.Result.Gate.Baseline
	if b == nil {
		return
	}
	marginP := markdown.None
	if b.MarginP != nil {
		marginP = markdown.Probability(*b.MarginP)
	}
	t := markdown.NewTable("lrrrrrrrl", "baseline", "pairs", "difference", "95% CI (paired Newcombe)", "passed only now", "passed only then",
		"margin", "p (one-sided, of that loss or more)", "verdict")
	t.Row(markdown.Cell(b.Path), fmt.Sprint(b.Pairs()), points(b.Difference), pointsInterval(b.Interval), fmt.Sprint(b.OnlyRun),
		fmt.Sprint(b.OnlyBaseline), fmt.Sprint(b.Margin), marginP, baselineWords[b.Verdict])
	p.part(t.Write)
	if b.Unpaired > 0 {
		p.printf("%s in one of the results only, or without a score in one, not compared.\n\n", markdown.Count(b.Unpaired, "question"))
	}
	p.ids("The baseline differs in ", b.Differs)
	p.ids("Broke since the baseline: ", b.Broke)
	p.ids("Passed since the baseline: ", b.Fixed)
}

// ids writes a list of ids, of which it shows the first.
func (p *summary) ids(title string, ids []string) {
	if len(ids) == 0 {
		return
	}
	var parts []string
	for _, id := range ids[:min(len(ids), maxRows)] {
		parts = append(parts, markdown.Code(id))
	}
	if more := len(ids) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	p.printf("%s%s.\n\n", title, strings.Join(parts, ", "))
}

// repeats writes what repeats of the questions show.
func (a *Arm) repeats(p *summary) {
	r := a.Run.Result.Repeats
	if r == nil {
		return
	}
	p.printf("Each of %s was asked %d times: %d passed each time, %d never, %d are flaky.\n\n",
		markdown.Count(r.Questions, "question"), r.K, r.Stable, r.Never, len(r.Flaky))
	t := markdown.NewTable("rrr", "attempts", "one passes (pass@k)", "all pass (pass^k)")
	for _, at := range r.At {
		t.Row(fmt.Sprint(at.K), markdown.Rate(&at.PassAt), markdown.Rate(&at.PassHat))
	}
	p.part(t.Write)
	var flaky []string
	for _, f := range r.Flaky {
		flaky = append(flaky, f.ID)
	}
	p.ids("Flaky: ", flaky)
}

// retrieval writes the primary metrics of the rankings, and what makes them doubtful.
func (a *Arm) retrieval(p *summary) {
	r := a.Run.Result.Retrieval
	if r == nil || len(r.Ks) == 0 {
		return
	}
	t := markdown.NewTable("lrr", "retrieval", "mean", cmp.Or(r.IntervalName(), "95% CI"))
	for _, name := range r.PrimaryMetrics() {
		value := markdown.None
		if v, ok := r.Macro[name]; ok {
			value = markdown.Rate(&v)
		}
		var within *result.Interval
		if i, ok := r.Intervals[name]; ok {
			within = &i
		}
		t.Row(name, value, interval(within))
	}
	p.part(t.Write)
	p.printf("Over the %s with expected documents.%s\n\n", markdown.Count(r.Questions, "question"), basis(r.Basis))
	if depth := a.Run.Result.DepthText(); depth != "" {
		p.printf("Cut at %s.\n\n", depth)
	}
	for _, w := range r.Warnings {
		p.printf("- Warning: %s\n", markdown.Span(w.Message, sentenceLength))
	}
	if len(r.Warnings) > 0 {
		p.printf("\n")
	}
}

// basis says from how many resamples the intervals of retrieval are.
func basis(b *result.IntervalBasis) string {
	switch {
	case b == nil:
		return ""
	case b.Resamples == 0 && b.Cluster == "":
		return " The intervals are t intervals."
	case b.Resamples == 0:
		return fmt.Sprintf(" The intervals are t intervals over %s of %s.", markdown.Count(b.Units, "cluster"), markdown.Code(b.Cluster))
	case b.Cluster == "":
		return fmt.Sprintf(" The intervals are from %d resamples, seed %d.", b.Resamples, b.Seed)
	}
	return fmt.Sprintf(" The intervals are from %d resamples of %s of %s, seed %d.", b.Resamples, markdown.Count(b.Units, "cluster"), markdown.Code(b.Cluster), b.Seed)
}

// latency writes the percentiles of the latencies.
func (a *Arm) latency(p *summary) {
	known := false
	t := markdown.NewTable("lrrrr", "latency", "answers", "p50 [95% CI]", "p95 [95% CI]", "p99 [95% CI]")
	for _, q := range a.Run.Result.Timings() {
		t.Row(q.Name, fmt.Sprint(q.N), percentile(q.P50, q.P50Interval, result.NeededForP50),
			percentile(q.P95, q.P95Interval, result.NeededForP95), percentile(q.P99, q.P99Interval, result.NeededForP99))
		known = known || q.P50Interval != nil
	}
	p.part(t.Write)
	var notes []string
	if known {
		notes = append(notes, "Intervals of percentiles are by order statistics.")
	}
	if a.Run.Result.Felt != nil {
		notes = append(notes, result.FeltNote)
	}
	for _, note := range a.Run.Result.TimingNotes() {
		notes = append(notes, markdown.Span(note, sentenceLength))
	}
	if len(notes) > 0 {
		p.printf("%s\n\n", strings.Join(notes, " "))
	}
}

// percentile formats a percentile with its interval, or how many answers it needs.
func percentile(ms *float64, i *result.Interval, needed int) string {
	switch {
	case ms == nil:
		return fmt.Sprintf("needs %d", needed)
	case i == nil:
		return markdown.Milliseconds(ms)
	}
	return fmt.Sprintf("%s [%s, %s]", markdown.Milliseconds(ms), markdown.Milliseconds(&i.Low), markdown.Milliseconds(&i.High))
}

// writeInputs writes the inputs that are wanted.
func writeInputs(p *summary, inputs []part, wanted func(part) bool) {
	t := markdown.NewTable("ll", "what", "value")
	for _, in := range inputs {
		if wanted(in) {
			t.Row(in.what, in.text)
		}
	}
	p.part(t.Write)
}

// inputs returns what was measured, and what it cost. Their texts are Markdown.
func (a *Arm) inputs() (list []part) {
	res, id := &a.Run.Result, &a.Run.Result.Identity
	add := func(what, value string) {
		if value != "" {
			list = append(list, part{what, value})
		}
	}
	add("dataset", markdown.Cell(id.Dataset.Path)+" sha256 "+markdown.Cell(id.Dataset.SHA256))
	add("asked", fmt.Sprintf("%s, mode %s, top-k %d", markdown.Cell(string(id.Scenario)), markdown.Cell(id.Mode), id.TopK))
	add("ran", join(markdown.Cell, modesRan(res), tally(res.ReaderModels)))
	add("fusion", join(markdown.Cell, tally(res.Fusions)))
	scorer := markdown.Cell(res.Identity.ScoredBy())
	if j := id.Judge; j != nil {
		scorer += " " + join(markdown.Cell, j.Model, j.PromptVersion+" "+j.PromptSHA256)
	}
	add("scorer", scorer)
	add("daemon", join(markdown.Cell, id.Daemon.Program, id.Daemon.Endpoint, id.Daemon.Version))
	add("environment of the daemon", res.Settings.DaemonEnv.Text(markdown.Cell))
	if r := res.Replay; r != nil {
		add("requests of the daemon to its models", r.ModelRequests.Text())
		add("failed requests of the daemon to its models", join(markdown.Cell, r.ModelRequests.Warnings()...))
	}
	add("cost", costText(res))
	if c := res.ReaderCost; c != nil {
		add("the daemon's reader", markdown.Cell(c.Text()+", apart from the cost"))
	}
	if e := res.Embeddings; e != nil {
		add("embeddings", e.Text(markdown.Cell)+", apart from the cost")
	}
	if res.Identity.Scenario.Reads() {
		add("own questions", res.OwnText())
	}
	if date := res.Cost.PricesDate; date != "" {
		add("prices of", markdown.Cell(date))
	}
	add("evalctl", join(markdown.Cell, id.Tool.Version, id.Tool.Commit))
	add("time", fmt.Sprintf("%s to %s", stamp(res.StartedAt), stamp(res.FinishedAt)))
	add("result", join(markdown.Cell, a.Run.Path))
	return list
}

// costText says what a run cost.
func costText(res *result.Result) string {
	limit := res.Cost.CapUSD
	if res.CostAccounting != nil {
		limit = res.CostAccounting.CapUSD
	}
	text := res.Amount() + ", no cap"
	if limit != nil {
		text = fmt.Sprintf("%s, cap %s", res.Amount(), *limit)
	}
	if c := res.CostAccounting; c != nil && c.List != nil {
		text += fmt.Sprintf(", list cost %s with %s saved by the cache", c.ListText(), c.SavedText())
		if c.PerCorrectUSD != nil {
			text += fmt.Sprintf(", %s for each correct answer", c.PerCorrectUSD.Round())
		}
	}
	return text
}

// join formats the texts that are not empty.
func join(format func(string) string, texts ...string) string {
	var parts []string
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			parts = append(parts, format(text))
		}
	}
	return strings.Join(parts, " ")
}

// failures writes the questions that did not pass.
func (a *Arm) failures(p *summary) {
	var lost []*result.Record
	failures, errors, unscored := 0, 0, 0
	for i := range a.Run.Questions {
		r := &a.Run.Questions[i]
		switch {
		case !isLost(r):
			continue
		case r.Outcome == result.Errored:
			errors++
		case r.Outcome == result.Unscored:
			unscored++
		default:
			failures++
		}
		lost = append(lost, r)
	}
	title := fmt.Sprintf("%s: %s, %s, %d unscored", plain(a.Name), markdown.Count(failures, "failure"), markdown.Count(errors, "error"), unscored)
	p.fold(title, len(lost), "the result file", func(i int) string { return a.Run.item(lost[i]) })
}

// isLost reports whether a question did not pass.
func isLost(r *result.Record) bool { return !r.Passed && r.Outcome.Counts() }

// outcomeWord returns how a question ended that did not pass.
func outcomeWord(r *result.Record) string {
	if r.Outcome == result.Scored {
		return "failed"
	}
	return string(r.Outcome)
}

// item returns a question that did not pass as an item of a list.
func (run *Run) item(r *result.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- %s %s, **%s**\n", markdown.Code(caseName(r)), markdown.Code(group(r)), outcomeWord(r))
	for _, part := range run.parts(r) {
		fmt.Fprintf(&b, "  - %s: %s\n", part.what, markdown.Span(part.text, textLength))
	}
	return b.String()
}

// plain returns a name for the title of a folded list, which is HTML. Letters, digits and a few
// signs remain of it.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_. ", r) {
			return r
		}
		return '?'
	}, name)
}

// interval formats the interval of a rate.
func interval(i *result.Interval) string {
	if i == nil {
		return markdown.None
	}
	return markdown.Interval(i.Low, i.High)
}

// withinTitle is the title of a column of intervals of pass rates.
func withinTitle(res *result.Result) string {
	if res.Clustered != nil {
		return "95% CI"
	}
	return "95% CI (Wilson)"
}

// within95 returns an interval for the column, with the method unless the title has it.
func within95(res *result.Result, i *result.Interval) string {
	if i == nil || res.Clustered == nil {
		return interval(i)
	}
	return interval(i) + " (" + method(i) + ")"
}

// method returns the method of an interval, as a cell.
func method(i *result.Interval) string {
	if name, ok := result.MethodName(i.Method); ok {
		return name
	}
	return markdown.Cell(i.Method)
}

// points formats a difference of rates in percentage points.
func points(difference *float64) string {
	if difference == nil {
		return markdown.None
	}
	return figure.Points(*difference) + " pp"
}

// pointsInterval formats the interval of a difference.
func pointsInterval(i *result.Interval) string {
	if i == nil {
		return markdown.None
	}
	return fmt.Sprintf("%s to %s pp", figure.Points(i.Low), figure.Points(i.High))
}
