package compare

import (
	"math"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// figuresOf returns the figures of one run over the rows of a. The caller sets the name.
func figuresOf(r *Run, a *alignment, run int, clusterTag string, repeated bool) RunFigures {
	f := RunFigures{Path: r.path, Format: r.format, SHA256: r.sha256, Counts: a.counts(run)}
	for _, file := range r.files() {
		for i := range file.questions {
			f.Asked += len(file.questions[i].attempts)
		}
	}
	for _, file := range r.parts {
		f.Files = append(f.Files, File{file.path, file.sha256})
	}
	f.WithoutMemory, _ = r.baselineOf()
	f.Invalid = r.invalid()
	if r.res != nil {
		f.SDK, f.StartedAt = r.res.SDK, r.res.MeasuredAt()
		if d := r.res.Identity.Dataset; d.Selection != nil {
			f.Selection = d.Selection.String()
		}
	}
	f.PassRate, f.Interval = f.Counts.PassRate(), aggregate.PassInterval(f.Counts)
	if clusterTag != "" || repeated {
		f.Clustered = a.clustered(run, clusterTag)
	}
	var scores, total, first, felt []float64
	for _, row := range a.rows {
		for _, at := range row[run].attempts {
			scores = appendKnown(scores, at.values[measureScore])
			total = appendKnown(total, at.values[measureTotal])
			first = appendKnown(first, at.values[measureFirst])
			felt = appendKnown(felt, at.values[measureFelt])
		}
	}
	if len(scores) > 0 {
		f.MeanScore = known(stats.Mean(scores))
	}
	f.Latency, f.FirstDelta = aggregate.Quantiles(total), aggregate.Quantiles(first)
	if waited(a.rows, run) {
		q := aggregate.Quantiles(felt)
		f.Felt = &q
	}
	return f
}

// invalid says why a result of the run is not a score, or "".
func (r *Run) invalid() string {
	for _, file := range r.files() {
		if file.res != nil && file.res.Gate != nil && file.res.Gate.Verdict == result.Invalid {
			return file.res.Gate.Sentence
		}
	}
	return ""
}

// clustered returns the uncertainty of a pass rate with clustered questions. Clusters are given by
// tag or, if tag is empty, are the repeats of each question. Several runs add their variance. It
// is nil for one question asked once.
func (a *alignment) clustered(run int, tag string) *result.ClusteredRate {
	of := make([]int, len(a.rows))
	for i := range of {
		of[i] = i
	}
	if tag != "" {
		of, _, _ = a.clusters(tag)
	}
	var values []float64
	var cluster []int
	runs := make([][]float64, len(a.rows[0][run].runs))
	for i, row := range a.rows {
		for _, at := range row[run].attempts {
			v := 0.0
			if at.passed {
				v = 1
			}
			values, cluster = append(values, v), append(cluster, of[i])
		}
		for k, q := range row[run].runs {
			passed, _ := q.passes()
			runs[k] = append(runs[k], rate(passed, len(q.attempts)))
		}
	}
	c := aggregate.Clustered(tag, values, cluster)
	if c != nil && len(runs) > 0 {
		crossed := stats.Crossed(runs, of)
		lo, hi := crossed.Interval(Confidence)
		if within := interval("student_t_crossed", Confidence, lo, hi, 0, 1); within != nil {
			c.SE, c.Interval = known(crossed.SE), within
		}
	}
	return c
}

// believed returns the interval of a pass rate that allows for clusters, repeats and several runs.
func (a *alignment) believed(run int, n result.Counts, clusterTag string, repeated bool) *result.Interval {
	f := RunFigures{Interval: aggregate.PassInterval(n)}
	if clusterTag != "" || repeated {
		f.Clustered = a.clustered(run, clusterTag)
	}
	return f.Believed()
}

// interval returns an interval clipped to least and most, nil if an end is NaN.
func interval(method string, conf, lo, hi, least, most float64) *result.Interval {
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return nil
	}
	return &result.Interval{Method: method, Confidence: conf, Low: max(least, lo), High: min(most, hi)}
}

// known returns a pointer to v, nil if JSON cannot represent v.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func appendKnown(list []float64, v float64) []float64 {
	if math.IsNaN(v) {
		return list
	}
	return append(list, v)
}
