package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/svg"
)

// latency returns the percentiles with their intervals: of the answering attempts, and, if they are
// longer, including waits.
func (run *Run) latency() form.Section {
	res := &run.Result
	s := form.Section{ID: "latency", Title: "Latency"}
	t := form.NewTable(form.F("Percentiles of the questions that were answered"), "latency", ">n", ">p50", ">p95", ">p99")
	name, n, how := "latency", 0, ""
	for _, l := range timings(res) {
		p50, p95, p99 := percentile(l.P50, l.P50Interval, result.NeededForP50), percentile(l.P95, l.P95Interval, result.NeededForP95), percentile(l.P99, l.P99Interval, result.NeededForP99)
		t.Row(l.Name, l.N, p50, p95, p99)
		parts := []string{l.Name, "p50 " + p50, "p95 " + p95}
		if l.P99 != nil { // else p95 is the highest to know
			parts = append(parts, "p99 "+p99)
		}
		s.FactIn(form.Terminal, name, "%s", form.Parts(parts...))
		name, n = "", l.N
		if l.P50Interval != nil {
			how = "brackets: " + wording.IntervalName(l.P50Interval)
		}
	}
	if n == 0 && res.Cached == 0 {
		return s
	}
	parts := []string{fmt.Sprintf("n=%d", n)}
	if res.Cached > 0 {
		parts = append(parts, "leaving out "+figure.Count(res.Cached, "answer")+" from evalctl's cache")
	}
	if how != "" {
		parts = append(parts, how)
	}
	if res.Felt != nil {
		parts = append(parts, "with waits: failed attempts and pauses included")
	}
	s.FactIn(form.Terminal, name, "%s", form.Parts(parts...))
	if res.Retried > 0 {
		s.FactIn(form.Terminal, "", "%s needed more than one attempt", figure.Count(res.Retried, "question"))
	}
	if n > 0 {
		s.Show(form.Pages, t)
	}
	if slices.ContainsFunc(timings(res), func(l timing) bool { return len(run.times(l)) > 0 }) {
		s.Show(form.HTML, form.Chart{SVG: run.distribution, Caption: "Share of the questions that took at most this time."})
	}
	if how != "" {
		s.Note(form.Pages, "%s by order statistics", "Intervals of percentiles are")
	}
	if res.Felt != nil {
		s.Note(form.Pages, "%s", feltNote)
	}
	for _, note := range timingNotes(res) {
		s.Note(form.Pages, "%s", form.Data(note))
	}
	if r := res.Replay; r != nil {
		if r.Alone != nil {
			s.FactIn(form.Terminal, "alone", "%s", form.Data(aloneText(r.Alone)))
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
	for _, l := range timings(&run.Result) {
		if times := run.times(l); len(times) > 0 {
			series = append(series, svg.Series{Name: l.Name, Sorted: slices.Sorted(slices.Values(times))})
		}
	}
	if len(series) == 0 {
		return ""
	}
	return svg.ECDF("Share of questions by latency; the table has the percentiles", series, figure.Duration)
}

// times returns a latency of each answer, in milliseconds.
func (run *Run) times(l timing) (out []float64) {
	for i := range run.Questions {
		q := &run.Questions[i]
		if v := l.Of(q); v != nil && q.Outcome.Answered() {
			out = append(out, *v)
		}
	}
	return out
}

// percentile formats a percentile with its interval, or the number of answers that it needs.
func percentile(ms *float64, i *result.Interval, needed int) string {
	switch {
	case ms == nil:
		return fmt.Sprintf("needs %d", needed)
	case i == nil:
		return figure.Duration(*ms)
	}
	return fmt.Sprintf("%s [%s %s]", figure.Duration(*ms), durationLike(i.Low, *ms), durationLike(i.High, *ms))
}

// durationLike is figure.Duration, without the unit if other has the same unit.
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
