package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/stats"
)

// judgedRuns is the minimum number of runs per side for a latency test. Variation between runs can
// only be estimated from the runs themselves.
const judgedRuns = 3

// LatencyRatio compares latencies over the questions that all runs of both sides answered.
type LatencyRatio struct {
	// Name is total or first_token for the answering attempts, or felt: total plus failed attempts
	// and waits, present if a question of either side had any.
	Name string `json:"name"`
	N    int    `json:"n"`
	// ReferenceRuns and RunRuns are the numbers of runs.
	ReferenceRuns int `json:"reference_runs"`
	RunRuns       int `json:"run_runs"`
	// ReferenceP50 and RunP50 are medians over the N questions, in milliseconds. A question asked by
	// several runs has the geometric mean of its latencies.
	ReferenceP50 float64 `json:"reference_p50_ms"`
	RunP50       float64 `json:"run_p50_ms"`
	// Ratio is the geometric mean of run divided by reference; above 1 the run is slower.
	Ratio float64 `json:"ratio"`
	// Questions are the quartiles of the per-question ratios, nil for fewer than two questions.
	// They do not include variation between runs.
	Questions *Spread `json:"over_questions"`
	// Runs are the smallest and largest ratio of any run of one side to any run of the other, nil
	// for one run per side.
	Runs *Spread `json:"over_runs"`
	// Interval (student_t_welch_log), P and Adjusted come from Welch's t test (Test: welch_t_log)
	// on the mean logarithm of each run. They are nil if a side has fewer than three runs. Adjusted
	// is as in MeasureDifference. A better verdict means faster.
	Interval *result.Interval `json:"interval"`
	Test     string           `json:"test,omitempty"`
	P        *float64         `json:"p"`
	Adjusted *float64         `json:"p_adjusted"`
	// Verdict is NotJudged without P.
	Verdict Verdict `json:"verdict"`
}

// Spread is the range of several ratios.
type Spread struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Within describes how far the ratio varies, and over what.
func (l *LatencyRatio) Within() string {
	switch {
	case l.Interval != nil:
		return fmt.Sprintf("×%.2f to ×%.2f (%s interval over %d and %d runs)", l.Interval.Low, l.Interval.High, wording.Level(l.Interval), l.RunRuns, l.ReferenceRuns)
	case l.Runs != nil:
		return fmt.Sprintf("×%.2f to ×%.2f (all of %d and %d runs)", l.Runs.Low, l.Runs.High, l.RunRuns, l.ReferenceRuns)
	case l.Questions != nil:
		return fmt.Sprintf("×%.2f to ×%.2f (half of the questions)", l.Questions.Low, l.Questions.High)
	}
	return "one question"
}

// latencyNames are display names by LatencyRatio.Name.
var latencyNames = map[string]string{"total": "done", "first_token": "first token", "felt": "done, with waits"}

// LatencyName returns the display name of a latency. For an unknown latency ok is false and name is
// the latency as read from the file, which must be escaped.
func LatencyName(latency string) (name string, ok bool) {
	if name, ok = latencyNames[latency]; ok {
		return name, true
	}
	return latency, false
}

// Speed returns a verdict on a latency in words.
func (v Verdict) Speed() string {
	switch v {
	case Better:
		return "faster"
	case Worse:
		return "slower"
	}
	return v.Words()
}

// compareLatencies fills in Latencies.
func (p *Pair) compareLatencies(rows [][]*question, f *families) {
	p.Latencies = make([]LatencyRatio, 0, measureCount-measureTotal)
	for measure := measureTotal; measure < measureCount; measure++ {
		if measure == measureFelt && !waited(rows, p.Reference) && !waited(rows, p.Run) {
			continue // it would repeat the latencies of the answering attempts
		}
		run, reference, cached := latenciesOf(rows, measure, p.Reference, p.Run)
		if measure == measureTotal {
			p.Cached = cached
		}
		if len(run.questions) == 0 {
			continue
		}
		p.Latencies = append(p.Latencies, ratio(measureNames[measure], run, reference))
		l := &p.Latencies[len(p.Latencies)-1]
		if p.Cached > 0 && l.N < Testable {
			l.Interval, l.Test, l.P = nil, "", nil
		}
		f.add(p, l.Name, l.P, func(j judgement) {
			l.Adjusted, l.Interval, l.Verdict = &j.adjusted, l.interval(run, reference, 1-j.level), j.verdict(1-l.Ratio)
		})
	}
}

// waited reports whether any question of a run took its caller longer than the answering attempt.
func waited(rows [][]*question, run int) bool {
	return slices.ContainsFunc(rows, func(row []*question) bool {
		return slices.ContainsFunc(row[run].attempts, func(a attempt) bool {
			return a.values[measureFelt] > a.values[measureTotal]
		})
	})
}

// latencies holds one side's latencies: the mean in milliseconds of each question over the runs,
// and the mean logarithm of each run over the questions.
type latencies struct{ questions, runs []float64 }

// latenciesOf returns the latencies of two sides over the questions that all their runs
// answered, and the number of questions left out because evalctl's cache answered one of the
// sides.
func latenciesOf(rows [][]*question, measure, reference, run int) (x, y latencies, cached int) {
	fromCache := func(a attempt) bool { return a.cached }
	for _, row := range rows {
		of := func(q *question) float64 { return q.mean(measure) }
		a, b := row[run].each(of), row[reference].each(of)
		if !slices.ContainsFunc(slices.Concat(a, b), math.IsNaN) {
			x.add(a)
			y.add(b)
		} else if slices.ContainsFunc(slices.Concat(row[run].attempts, row[reference].attempts), fromCache) {
			cached++
		}
	}
	for _, l := range []*latencies{&x, &y} {
		for i := range l.runs {
			l.runs[i] /= float64(len(l.questions))
		}
	}
	return x, y, cached
}

// add adds a question with its latency in each run. runs holds sums until all questions are added.
func (l *latencies) add(times []float64) {
	if l.runs == nil {
		l.runs = make([]float64, len(times))
	}
	logs := make([]float64, len(times))
	for i, t := range times {
		logs[i] = math.Log(t)
		l.runs[i] += logs[i]
	}
	typical := times[0]
	if len(times) > 1 {
		typical = math.Exp(stats.Mean(logs))
	}
	l.questions = append(l.questions, typical)
}

func ratio(name string, run, reference latencies) LatencyRatio {
	l := LatencyRatio{
		Name: name, N: len(run.questions), ReferenceRuns: len(reference.runs), RunRuns: len(run.runs),
		RunP50: stats.Median(run.questions), ReferenceP50: stats.Median(reference.questions),
		Ratio: math.Exp(stats.Mean(run.runs) - stats.Mean(reference.runs)), Verdict: NotJudged,
	}
	if l.N > 1 {
		d := make([]float64, l.N)
		for i := range d {
			d[i] = math.Log(run.questions[i] / reference.questions[i])
		}
		slices.Sort(d)
		l.Questions = &Spread{math.Exp(stats.Percentile(d, 0.25)), math.Exp(stats.Percentile(d, 0.75))}
	}
	if l.RunRuns > 1 || l.ReferenceRuns > 1 {
		l.Runs = &Spread{
			math.Exp(slices.Min(run.runs) - slices.Max(reference.runs)),
			math.Exp(slices.Max(run.runs) - slices.Min(reference.runs)),
		}
	}
	if min(l.RunRuns, l.ReferenceRuns) >= judgedRuns {
		l.Test, l.P = "welch_t_log", known(stats.Welch(run.runs, reference.runs, Confidence).P)
		l.Interval = l.interval(run, reference, Confidence)
	}
	return l
}

// interval returns the interval of the ratio, nil if undefined.
func (l *LatencyRatio) interval(run, reference latencies, conf float64) *result.Interval {
	w := stats.Welch(run.runs, reference.runs, conf)
	return interval("student_t_welch_log", conf, math.Exp(w.Lo), math.Exp(w.Hi), 0, math.Inf(1))
}

// latencies notes why latencies are not judged, and which other causes than the daemon may have
// changed them.
func (n *noteList) latencies(c *Comparison, runs []*Run) {
	few := map[int]bool{}
	for _, p := range c.Pairs {
		for _, i := range []int{p.Reference, p.Run} {
			if len(p.Latencies) > 0 && len(runs[i].files()) < judgedRuns {
				few[i] = true
			}
		}
	}
	var have, give []string
	for i, r := range runs {
		if few[i] {
			have = append(have, c.Runs[i].Name+" "+figure.Count(len(r.files()), "run"))
			give = append(give, c.Runs[i].Name+"=FILE,FILE,FILE")
		}
	}
	if len(few) > 0 {
		n.add("latencies are not judged (%s): how much runs differ is not known; give at least %d runs a side: evalctl compare %s",
			strings.Join(have, ", "), judgedRuns, strings.Join(give, " "))
	}
	for _, p := range c.Pairs {
		if p.Cached > 0 {
			n.cached(c, &p)
		}
		if !slices.ContainsFunc(p.Latencies, func(l LatencyRatio) bool { return l.P != nil }) {
			continue
		}
		first, then := p.Reference, p.Run
		if before(runs[then], runs[first]) {
			first, then = then, first
		}
		if before(runs[first], runs[then]) {
			n.add("all runs of %s began before all runs of %s: a change of the machine in between is part of the ratio "+
				"of their latencies; take turns", c.Runs[first].Name, c.Runs[then].Name)
		}
	}
}

// cached notes how many questions the latencies of a pair leave out because of evalctl's cache.
func (n *noteList) cached(c *Comparison, p *Pair) {
	timed := 0
	if len(p.Latencies) > 0 {
		timed = p.Latencies[0].N
	}
	why := ""
	if timed < Testable {
		why = fmt.Sprintf(", and are not judged: %d are left, and %d or more are needed; replay with --cache off", timed, Testable)
	}
	n.add("latencies of %s and %s leave out %s that evalctl's cache answered in one of them%s",
		c.Runs[p.Run].Name, c.Runs[p.Reference].Name, figure.Count(p.Cached, "question"), why)
}

// before reports whether all runs of side a are known to have started before all runs of side b.
func before(a, b *Run) bool {
	for _, x := range a.files() {
		for _, y := range b.files() {
			if x.res == nil || y.res == nil || x.res.MeasuredAt().IsZero() || !x.res.MeasuredAt().Before(y.res.MeasuredAt()) {
				return false
			}
		}
	}
	return true
}
