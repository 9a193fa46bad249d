package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/internal/svg"
)

// retrieval returns the metrics of retrieval with their intervals, and by tag.
func (run *Run) retrieval() form.Section {
	res, r := &run.Result, run.Result.Retrieval
	s := form.Section{ID: "retrieval", Title: "Retrieval"}
	if r == nil {
		return s
	}
	if len(r.Ks) > 0 {
		run.retrieved(&s)
	}
	for i, w := range r.Warnings {
		in, text := form.Everywhere, form.F("%s", form.Data(w.Message))
		if i < run.Warned {
			in = form.Pages
		}
		if len(w.IDs) > 0 {
			ids := form.Join(", ", form.Names(w.IDs)...)
			if more := w.Count - len(w.IDs); more > 0 {
				ids = form.F("%s, and %d more", ids, more)
			}
			text = form.F("%s (%s)", text, ids)
		}
		s.Warn(in, "%s", text)
	}
	if len(r.Ks) == 0 {
		return s
	}
	depths := form.NewTable(form.F("Means by depth"), "metric")
	for _, k := range r.Ks {
		depths.Columns = append(depths.Columns, form.Column{Name: form.F("at %d", k), Number: true, In: form.Everywhere})
	}
	for _, metric := range []string{"recall", "any", "all", "precision", "success", "ndcg"} {
		row := []any{result.MetricName(metric)}
		for _, k := range r.Ks {
			row = append(row, metricAt(r.Macro, fmt.Sprintf("%s@%d", metric, k)))
		}
		depths.Row(row...)
	}
	s.Show(form.HTML, depths)
	if depth := res.DepthText(); depth != "" {
		s.FactIn(run.unlessReplay(), "depth", "%s", depth)
	}
	return s
}

func metricAt(m result.Metrics, name string) string {
	v, ok := m[name]
	if !ok {
		return none
	}
	return rate(&v)
}

// retrieved adds the primary metrics.
func (run *Run) retrieved(s *form.Section) {
	res, r := &run.Result, run.Result.Retrieval
	names := r.PrimaryMetrics()
	var parts []string
	for _, name := range names {
		part := result.MetricName(name) + " " + metricAt(r.Macro, name)
		if i, ok := r.Intervals[name]; ok {
			part += fmt.Sprintf(" [%.3f %.3f]", i.Low, i.High)
		}
		parts = append(parts, part)
	}
	s.Fact("retrieval", "%s", form.Parts(parts...))
	thing := "question"
	if res.Repeats != nil {
		thing = "attempt"
	}
	over := fmt.Sprintf("over %s with expected_paths", figure.Count(r.Questions, thing))
	if r.NoGold > 0 {
		over += fmt.Sprintf(", leaving out %d without", r.NoGold)
	}
	about := []form.Text{form.F("%s", over)}
	if name := r.IntervalName(); name != "" {
		text := form.F("brackets: %s", form.Name(name))
		if cluster := r.Clusters(); cluster != "" {
			text = form.F("%s, clusters: %s (%d)", text, form.Name(cluster), r.Basis.Units)
		}
		about = []form.Text{text, about[0]}
	}
	if r.Errors > 0 {
		about = append(about, form.F("%s count as 0", figure.Count(r.Errors, "error")))
	}
	if res.GoldMissed > 0 {
		about = append(about, form.F("%d with no gold document in the top %d", res.GoldMissed, r.Ks[len(r.Ks)-1]))
	}
	s.Fact("", "%s", form.Parts(about...))
	if b := r.Basis; b != nil && b.Resamples > 0 {
		s.FactIn(form.Pages, "", "%d resamples, seed %d", b.Resamples, b.Seed)
	}
	columns := []any{"tag", ">n"}
	for _, name := range names {
		metric, _, _ := strings.Cut(result.MetricName(name), "@") // the lines above show the depth
		columns = append(columns, ">"+metric)
	}
	t := form.NewTable(form.F("Means over the questions with expected paths"), columns...)
	row := func(in form.Forms, what any, n int, m result.Metrics) {
		cells := []any{what, n}
		for _, name := range names {
			cells = append(cells, metricAt(m, name))
		}
		t.RowIn(in, cells...)
	}
	row(form.Pages, "all with gold", r.Questions, r.Macro)
	for _, tag := range sortedKeys(r.ByTag) {
		if m := r.ByTag[tag]; m != nil {
			in := form.Everywhere
			if res.Duplicate(tag) {
				in = form.Terminal
			}
			row(in, form.Name(tag), m.N, m.Macro)
		}
	}
	s.Show(run.unlessReplay()&^form.Markdown, t)
}

// latency returns the percentiles with their intervals: of the answering attempts, and, if that is
// longer, as the callers felt them.
func (run *Run) latency() form.Section {
	res := &run.Result
	s := form.Section{ID: "latency", Title: "Latency"}
	t := form.NewTable(form.F("Percentiles of the questions that were answered"), "latency", ">n", ">p50", ">p95", ">p99")
	name, n, how := "latency", 0, ""
	for _, l := range res.Timings() {
		p50, p95, p99 := percentile(l.P50, l.P50Interval, result.NeededForP50), percentile(l.P95, l.P95Interval, result.NeededForP95), percentile(l.P99, l.P99Interval, result.NeededForP99)
		t.Row(l.Name, l.N, p50, p95, p99)
		parts := []string{l.Name, "p50 " + p50, "p95 " + p95}
		if l.P99 != nil { // else p95 is the highest to know
			parts = append(parts, "p99 "+p99)
		}
		s.FactIn(form.Terminal, name, "%s", form.Parts(parts...))
		name, n = "", l.N
		if l.P50Interval != nil {
			how = "brackets: " + l.P50Interval.Name()
		}
	}
	if n == 0 {
		return s
	}
	parts := []string{fmt.Sprintf("n=%d", n)}
	if how != "" {
		parts = append(parts, how)
	}
	if res.Felt != nil {
		parts = append(parts, "with waits: failed attempts and pauses included")
	}
	s.FactIn(form.Terminal, "", "%s", form.Parts(parts...))
	if res.Retried > 0 {
		s.FactIn(form.Terminal, "", "%s needed more than one attempt", figure.Count(res.Retried, "question"))
	}
	s.Show(form.Pages, t)
	if len(run.Questions) > 0 {
		s.Show(form.HTML, form.Chart{SVG: run.distribution, Caption: "Share of the questions that took at most this time."})
	}
	if how != "" {
		s.Note(form.Pages, "%s by order statistics", "Intervals of percentiles are")
	}
	if res.Felt != nil {
		s.Note(form.Pages, "%s", result.FeltNote)
	}
	for _, note := range res.TimingNotes() {
		s.Note(form.Pages, "%s", form.Data(note))
	}
	if r := res.Replay; r != nil {
		if r.Alone != nil {
			s.FactIn(form.Terminal, "alone", "%s", form.Data(r.Alone.Text()))
		}
		if r.FirstAttempt < res.Counts.Total {
			s.Fact("attempts", "%d of %s answered at the first attempt, %d of these passed", r.FirstAttempt, figure.Count(res.Counts.Total, "question"), r.FirstAttemptPassed)
		}
		if r.Restarts > 0 {
			s.Warn(form.Everywhere, "the daemon was started again %s while it was measured", times(r.Restarts))
		}
	}
	return s
}

// distribution draws the latencies of the answers.
func (run *Run) distribution() template.HTML {
	var series []svg.Series
	for _, l := range run.Result.Timings() {
		var values []float64
		for i := range run.Questions {
			q := &run.Questions[i]
			if v := l.Of(q); v != nil && (q.Outcome == result.Scored || q.Outcome == result.Unscored) {
				values = append(values, *v)
			}
		}
		if len(values) > 0 {
			slices.Sort(values)
			series = append(series, svg.Series{Name: l.Name, Sorted: values})
		}
	}
	if len(series) == 0 {
		return ""
	}
	return svg.ECDF("Share of questions by latency; the table has the percentiles", series, figure.Duration)
}

// percentile formats a percentile with its interval, or how many answers it needs.
func percentile(ms *float64, i *result.Interval, needed int) string {
	switch {
	case ms == nil:
		return fmt.Sprintf("needs %d", needed)
	case i == nil:
		return figure.Duration(*ms)
	}
	return fmt.Sprintf("%s [%s %s]", figure.Duration(*ms), durationLike(i.Low, *ms), durationLike(i.High, *ms))
}

// durationLike is figure.Duration without the unit, if that is the unit of the other time.
func durationLike(ms, other float64) string {
	number, unit, _ := strings.Cut(figure.Duration(ms), " ")
	if _, same, _ := strings.Cut(figure.Duration(other), " "); unit == same {
		return number
	}
	return number + " " + unit
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// cost returns what was paid for.
func (run *Run) cost() form.Section {
	res := &run.Result
	s := form.Section{ID: "cost", Title: "Cost"}
	if r := res.Replay; r != nil {
		if i := r.Ingest; i != nil {
			what := figure.Count(i.Sessions, "session")
			if i.Sessions == 0 {
				what = figure.Count(i.Documents, "document")
			}
			s.Fact("ingest", "%s  %s (%d reused)  %s  %.1f s", form.Name(i.Mode), figure.Count(i.Brains, "brain"), i.Reused, what, i.Seconds)
			s.FactIn(form.Pages, "", "signature %s", form.Name(i.Signature))
		}
		if m := r.ModelRequests; m != nil {
			s.Fact("requests", "%s", m.Text())
			for _, warning := range m.Warnings() {
				s.Warn(form.Everywhere, "%s", form.Data(warning))
			}
		}
	}
	if res.CostAccounting != nil {
		run.accounting(&s)
		return s
	}
	if c := &res.Cost; c.JudgeRequests > 0 {
		doubt := ""
		if c.UsageEstimated > 0 {
			doubt = "  tokens estimated for " + figure.Count(c.UsageEstimated, "question")
		}
		if c.UsageImplausible > 0 {
			doubt += fmt.Sprintf("  %s counted tokens that cannot be, charged as the worst case", figure.Count(c.UsageImplausible, "request"))
		}
		s.Fact("cost", "judge %s%s  %s  %d tokens in  %d out%s%s", c.Amount(), ofCap(c.CapUSD), figure.Count(c.JudgeRequests, "request"), c.InputTokens, c.OutputTokens, doubt, pricesOf(c.PricesDate))
		if n := len(c.Unassigned); n > 0 {
			s.FactIn(form.Pages, "without a verdict", "%s that the run ended before, or asked again", figure.Count(n, "request"))
		}
	}
	if c := res.ReaderCost; c != nil && (c.USD == nil || *c.USD > 0) { // not what costs nothing
		s.Fact("reader", "%s  %d tokens in  %d out  reported for %s; the daemon pays", form.Data(c.Text()),
			res.ReaderUsage.InputTokens, res.ReaderUsage.OutputTokens, figure.Count(res.ReaderUsage.Reported, "answer"))
	}
	if e := res.Embeddings; e != nil {
		s.Fact("embedded", "%s", form.Data(e.Text(strings.TrimSpace)))
	}
	if total := res.Cost.TotalUSD; total != nil && *total > res.Cost.SpentUSD {
		s.Fact("total", "%s with what the daemon pays", *total)
	}
	if text := res.OwnText(); text != "" && res.Identity.Scenario.Reads() {
		s.Fact("own", "%s", text)
	}
	return s
}

// pricesOf says of which day the prices are of a cost, as far as that is known.
func pricesOf(date string) form.Text {
	if date == "" {
		return form.F("")
	}
	return form.F("  prices of %s", form.Name(date))
}

// ofCap returns the cap as it follows an amount.
func ofCap(limit *llm.USD) string {
	if limit == nil {
		return " (no cap)"
	}
	return " of " + limit.String()
}

// accounting adds the cost of an arm: its parts, and the tokens of each model.
func (run *Run) accounting(s *form.Section) {
	res, c := &run.Result, run.Result.CostAccounting
	parts := []form.Text{form.F("%s%s", c.Amount(), ofCap(c.CapUSD))}
	add := func(format string, args ...any) { parts = append(parts, form.F(format, args...)) }
	shares := form.NewTable(form.F("Cost of this arm"), "for", ">USD", "share")
	var phases []string
	for _, p := range res.CostParts() {
		phases = append(phases, p.Name+" "+p.String())
		bar := form.Cell{}
		if c.TotalUSD > 0 {
			bar = share(float64(p.USD), float64(c.TotalUSD))
		}
		shares.Row(p.Name, p, bar)
	}
	shares.Row("spent", c.Amount(), "")
	if c.TotalUSD > 0 {
		add("%s", strings.Join(phases, ", "))
	}
	if c.List == nil {
		parts = append(parts, perCorrect(c)...)
	}
	if asked := c.CacheHits + c.CacheMisses; asked > 0 {
		add("cache hits %.0f%% (%d of %d) saved %s", 100*float64(c.CacheHits)/float64(asked), c.CacheHits, asked, c.CachedSavingsUSD)
	}
	if len(c.Unpriced) > 0 {
		add("not counted, price unknown: %s", form.Join(", ", form.Names(c.Unpriced)...))
	}
	if c.Unmetered {
		add("the daemon's own models are not counted")
	}
	s.Fact("cost", "%s", form.Parts(parts...))
	listCost(s, c)
	s.Show(form.HTML, shares)
	for _, item := range res.CostItems() {
		s.FactIn(form.HTML, item.Name, "%s", form.Data(item.Text))
	}
	if len(c.Tokens) == 0 {
		return
	}
	t := form.NewTable(form.F("Tokens by model, prices of %s", form.Name(c.Prices.Date)), "model", ">requests", ">tokens in", ">tokens out", ">estimated", ">USD", ">USD per million in", ">out")
	for _, m := range sortedKeys(c.Tokens) {
		k, price := c.Tokens[m], c.Prices.Models[m]
		usd, in, out := k.USD.String(), price.Input.String(), price.Output.String()
		if slices.Contains(c.Unpriced, m) {
			usd, in, out = "unknown", "unknown", "unknown"
		}
		t.Row(form.Name(m), k.Requests, k.InputTokens, k.OutputTokens, k.Estimated, usd, in, out)
	}
	s.Show(form.Pages, t)
}

// listCost adds what the arm would have cost alone, unless it is free.
func listCost(s *form.Section, c *result.CostAccounting) {
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
	s.Fact("list cost", "%s", form.Parts(append([]form.Text{form.F("%s", sum)}, perCorrect(c)...)...))
}

// perCorrect returns what a correct answer cost, nothing if that is not known or nothing.
func perCorrect(c *result.CostAccounting) []form.Text {
	if c.PerCorrectUSD == nil || *c.PerCorrectUSD == 0 || len(c.Unpriced) > 0 {
		return nil
	}
	text := form.F("%s per correct answer", c.PerCorrectUSD.Round())
	if i := c.PerCorrectInterval; i != nil {
		text = form.F("%s [%s %s] (%s)", text, dollars(i.Low), dollars(i.High), i.Name())
	}
	return []form.Text{text}
}

// dollars formats an amount in dollars with four significant digits.
func dollars(f float64) string { return llm.USD(math.Round(f * float64(llm.Dollar))).Round().String() }

// TrendPoint is one result of a trend.
type TrendPoint struct {
	Date          time.Time
	Passed, Total int
	// Rate is the pass rate and Low and High its interval, from 0 to 1.
	Rate, Low, High float64
	// Interval names the level and the method of the interval, such as 95% Wilson. It may be empty.
	Interval string
	// Changed is set if the pass rates before and from here on differ.
	Changed bool
	// Note says what else changed, such as the judge's prompt. It may be empty.
	Note string
	// URL leads to the page of the result, if there is one.
	URL string
}

// trendSection has the results before this one.
func trendSection(trend []TrendPoint, g *result.Gate) form.Section {
	s := form.Section{ID: "trend", Title: "Trend"}
	if len(trend) == 0 {
		return s
	}
	floor, method := math.NaN(), trend[0].Interval
	if g != nil {
		floor = g.Floor
	}
	if slices.ContainsFunc(trend, func(p TrendPoint) bool { return p.Interval != method }) || method == "" {
		method = "95% CI"
	}
	t := form.NewTable(form.F("Comparable results"), "date", ">passed", ">of", ">rate", form.Column{Name: form.F("%s", form.Name(method)), Number: true, In: form.HTML}, "change")
	var drawn []svg.Point
	for _, p := range trend {
		drawn = append(drawn, svg.Point{Label: p.Date.UTC().Format("2006-01-02"), Rate: svg.Interval{Value: p.Rate, Low: p.Low, High: p.High}, Change: p.Changed})
		change := form.Cell{Text: form.F("%s", form.Data(p.Note))}
		if p.Changed {
			change = form.Cell{Mark: "◆", Tone: form.Doubt, Text: form.F("the rate changed here %s", form.Data(p.Note))}
		}
		t.Row(form.Cell{Text: form.F("%s", moment(p.Date)), URL: p.URL}, p.Passed, p.Total, rate(&p.Rate), rate(&p.Low)+"–"+rate(&p.High), change)
	}
	s.Show(form.HTML, form.Chart{
		SVG:     func() template.HTML { return svg.Trend("Pass rates over time; the table has the values", drawn, floor) },
		Caption: fmt.Sprintf("Pass rates of %s with their intervals, the oldest first.", figure.Count(len(trend), "comparable result")),
	})
	s.Show(form.HTML, t)
	return s
}
