package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/svg"
)

// lossSection says which stage lost the questions that did not pass.
func lossSection(res *result.Result) section {
	s := section{ID: "losses", Title: "Where questions were lost"}
	lost := res.Counts.Total - res.Counts.Passed
	if lost <= 0 {
		return s
	}
	t := &table{Columns: columns("stage", ">questions", "share", "meaning")}
	row := func(stage string, n int, meaning string) {
		if n > 0 {
			share := svg.Interval{Value: float64(n) / float64(lost), Low: math.NaN(), High: math.NaN()}
			t.row(cell{Text: stage}, cell{Text: fmt.Sprint(n)}, cell{Bar: svg.Bar(share, math.NaN())}, cell{Text: meaning})
		}
	}
	if r := res.Replay; r != nil && len(r.Losses) > 0 {
		for _, cause := range sortedKeys(r.Losses) {
			row(name(string(cause)), r.Losses[cause], causes[cause])
		}
	} else if g := res.Gate; g != nil {
		row("retrieval", g.Loss.Retrieval, "a gold document was not retrieved")
		row("reader", g.Loss.Reader, "all gold was retrieved, and the answer is wrong")
		row("error", g.Loss.Errors, "the daemon returned no usable answer")
		row("unscored", g.Loss.Unscored, "the scorer returned no usable verdict")
		row("unknown", g.Loss.Unknown, "no gold document shows where it was lost")
	}
	t.Caption = count(lost, "question") + " did not pass"
	if len(t.Rows) > 0 {
		s.add(block{Table: t})
	}
	return s
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

// retrievalSection shows the metrics of retrieval, overall and by tag.
func retrievalSection(res *result.Result) section {
	s := section{ID: "retrieval", Title: "Retrieval"}
	r := res.Retrieval
	if r == nil || len(r.Ks) == 0 {
		return s
	}
	names := r.PrimaryMetrics()
	head := []string{"questions", ">n"}
	for _, n := range names {
		head = append(head, ">"+metricName(n))
	}
	t := &table{Caption: "Means over the questions with expected paths", Columns: columns(head...)}
	row := func(what string, n int, m result.Metrics) {
		c := cells(what, fmt.Sprint(n))
		for _, metric := range names {
			c = append(c, cell{Text: fmt.Sprintf("%.3f", m[metric])})
		}
		t.row(c...)
	}
	row("all with gold", r.Questions, r.Macro)
	for _, tag := range sortedKeys(r.ByTag) {
		if res.Duplicate(tag) {
			continue
		}
		row(name(tag), r.ByTag[tag].N, r.ByTag[tag].Macro)
	}
	for _, w := range r.Warnings {
		text := clean(w.Message)
		if len(w.IDs) > 0 {
			text += fmt.Sprintf(" (%s: %s)", count(w.Count, "question"), some(w.IDs))
		}
		s.add(block{Warning: text})
	}
	s.add(block{Table: t})
	var facts []fact
	for _, n := range sortedKeys(r.Intervals) {
		i := r.Intervals[n]
		facts = append(facts, fact{Name: metricName(n), Value: levelOf(&i)})
	}
	if b := r.Basis; b != nil && b.Cluster != "" {
		facts = append(facts, fact{Name: "Clusters", Value: fmt.Sprintf("%s of %s, which are resampled as a whole", count(b.Units, "cluster"), name(b.Cluster))})
	}
	if b := r.Basis; b != nil && b.Resamples > 0 {
		facts = append(facts, fact{Name: "Bootstrap", Value: fmt.Sprintf("%d resamples, seed %d", b.Resamples, b.Seed)})
	}
	if depth := res.DepthText(); depth != "" {
		facts = append(facts, fact{Name: "Cut at", Value: depth})
	}
	facts = append(facts, fact{Name: "Left out", Value: count(r.NoGold, "question") + " without expected paths"},
		fact{Name: "Counted as 0", Value: count(r.Errors, "question") + " without a list of chunks"},
		fact{Name: "No gold in the top-k", Value: count(res.GoldMissed, "question")})
	if res.Identity.Scenario.Reads() {
		facts = append(facts, fact{Name: "Grounded", Value: res.GroundedText()})
	}
	s.add(block{Facts: facts}, block{Table: depths(r)})
	return s
}

// depths shows the macro means at every depth.
func depths(r *result.Retrieval) *table {
	t := &table{Caption: "Means by depth"}
	head := []string{"metric"}
	for _, k := range r.Ks {
		head = append(head, fmt.Sprintf(">at %d", k))
	}
	t.Columns = columns(head...)
	for _, metric := range []string{"recall", "any", "all", "precision", "success", "ndcg"} {
		c := cells(metricName(metric))
		for _, k := range r.Ks {
			v, ok := r.Macro[fmt.Sprintf("%s@%d", metric, k)]
			text := absent
			if ok {
				text = fmt.Sprintf("%.3f", v)
			}
			c = append(c, cell{Text: text})
		}
		t.row(c...)
	}
	return t
}

// metricName returns the usual spelling of the name of a metric.
func metricName(s string) string { return result.MetricName(name(s)) }

// latencySection shows the distribution of latencies.
func latencySection(c Content) section {
	s := section{ID: "latency", Title: "Latency"}
	t := &table{Caption: "Percentiles of the questions that were answered, with 95% intervals by order statistics", Columns: columns("until", ">n", ">p50", ">p95", ">p99")}
	var series []svg.Series
	for _, l := range c.Result.Timings() {
		t.row(cells(l.Name, fmt.Sprint(l.N), percentile(l.P50, l.P50Interval, l.N, result.NeededForP50),
			percentile(l.P95, l.P95Interval, l.N, result.NeededForP95), percentile(l.P99, l.P99Interval, l.N, result.NeededForP99))...)
		var values []float64
		for i := range c.Questions {
			q := &c.Questions[i]
			if v := l.Of(q); v != nil && (q.Outcome == result.Scored || q.Outcome == result.Unscored) {
				values = append(values, *v)
			}
		}
		if len(values) > 0 {
			slices.Sort(values)
			series = append(series, svg.Series{Name: l.Name, Sorted: values})
		}
	}
	if len(t.Rows) == 0 {
		return s
	}
	s.add(block{Table: t})
	if len(series) > 0 {
		s.add(block{Chart: &chart{
			SVG:     svg.ECDF("Share of questions by latency; the table has the percentiles", series, milliseconds),
			Caption: "Share of the questions that took at most this time.",
		}})
	}
	if c.Result.Felt != nil {
		s.add(block{Text: result.FeltNote})
	}
	for _, note := range c.Result.TimingNotes() {
		s.add(block{Text: clean(note)})
	}
	return s
}

// percentile formats a percentile with its interval, or says how many values it needs.
func percentile(value *float64, i *result.Interval, n, need int) string {
	switch {
	case value == nil || n < need:
		return fmt.Sprintf("needs n ≥ %d", need)
	case i == nil:
		return milliseconds(*value)
	}
	return fmt.Sprintf("%s (%s to %s)", milliseconds(*value), milliseconds(i.Low), milliseconds(i.High))
}

// trendSection shows the results before this one.
func trendSection(c Content) section {
	s := section{ID: "trend", Title: "Trend"}
	if len(c.Trend) == 0 {
		return s
	}
	floor := math.NaN()
	if c.Result.Gate != nil {
		floor = c.Result.Gate.Floor
	}
	var drawn []svg.Point
	t := &table{Caption: "Comparable results", Columns: columns("date", ">passed", ">of", ">rate", ">95% CI", "change")}
	if method := sameInterval(c.Trend); method != "" {
		t.Columns[4].Name = method
	}
	for _, p := range c.Trend {
		drawn = append(drawn, svg.Point{Label: p.Date.UTC().Format("2006-01-02"), Rate: svg.Interval{Value: p.Rate, Low: p.Low, High: p.High}, Change: p.Changed})
		change := cell{Text: clean(p.Note)}
		if p.Changed {
			change = cell{Mark: "◆", Class: "warn", Text: strings.TrimSpace("the rate changed here " + clean(p.Note))}
		}
		row := cells(moment(p.Date), fmt.Sprint(p.Passed), fmt.Sprint(p.Total), trendRate(p.Rate), trendRate(p.Low)+"–"+trendRate(p.High))
		row[0].URL = p.URL
		t.row(append(row, change)...)
	}
	s.add(block{Chart: &chart{
		SVG:     svg.Trend("Pass rates over time; the table has the values", drawn, floor),
		Caption: fmt.Sprintf("Pass rates of %s with their intervals, the oldest first.", count(len(c.Trend), "comparable result")),
	}}, block{Table: t})
	return s
}

// sameInterval returns the level and the method of the intervals of all points, empty if they
// differ.
func sameInterval(points []TrendPoint) string {
	for _, p := range points {
		if p.Interval != points[0].Interval {
			return ""
		}
	}
	return clean(points[0].Interval)
}

// trendRate formats a rate of a trend, which is NaN for a result without any.
func trendRate(f float64) string {
	if math.IsNaN(f) {
		return absent
	}
	return fmt.Sprintf("%.3f", f)
}
