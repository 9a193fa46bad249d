package aggregate

import (
	"maps"
	"math"
	"slices"

	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/stats"
)

// confidence is the level of all intervals.
const confidence = 0.95

// typeTag is the prefix of the tag with the question's type.
const typeTag = "type:"

// ReplaySum adds up the figures of a replay beyond a run's. It uses a few bytes per question. It is
// not safe for concurrent use.
type ReplaySum struct {
	strata   map[string]*stratumSum
	verdicts map[result.JudgeVerdict]int
	losses   map[result.Cause]int
	saved    llm.USD
	// original counts the outcomes by the gold before errata.
	original stratumSum
	// first counts the questions answered by the first attempt.
	first, firstPassed int
	// context is the context given to the full-context model.
	context result.ContextUse
	// daemon has the daemon's time for each answered question, in milliseconds, by id.
	daemon map[string]float64
}

type stratumSum struct {
	counts result.Counts
	// clusters has the outcomes by tags that may name a cluster.
	clusters map[string]*attempts
	latency  []float64
}

// NewReplay returns an empty ReplaySum.
func NewReplay() *ReplaySum {
	return &ReplaySum{
		strata: map[string]*stratumSum{}, verdicts: map[result.JudgeVerdict]int{},
		losses: map[result.Cause]int{}, daemon: map[string]float64{},
		original: stratumSum{clusters: map[string]*attempts{}},
	}
}

// Add adds a finished record.
func (t *ReplaySum) Add(r result.Record) {
	s := t.strata[r.Type]
	if s == nil {
		s = &stratumSum{clusters: map[string]*attempts{}}
		t.strata[r.Type] = s
	}
	s.add(r)
	if r.Outcome == result.Scored || r.Outcome == result.Unscored {
		if took := r.Took(); took != nil {
			s.latency = append(s.latency, *took)
			t.daemon[r.ID] = *took
		}
		if r.SearchMS != nil {
			t.daemon[r.ID] = *r.SearchMS
		}
		if r.Attempts == 1 {
			t.first++
			if r.Passed {
				t.firstPassed++
			}
		}
	}
	if u := r.Actor; u != nil {
		t.saved = t.saved.Plus(u.SavedUSD)
		t.context.Sessions += len(u.Seen) + u.LeftOut
		t.context.LeftOut += u.LeftOut
		if u.LeftOut > 0 {
			t.context.Cut++
		}
	}
	t.saved = t.saved.Plus(r.JudgeSavedUSD)
	if r.JudgeVerdict != "" {
		t.verdicts[r.JudgeVerdict]++
	}
	if r.Cause != "" {
		t.losses[r.Cause]++
	}
	t.original.add(originalRecord(r))
}

// Saved returns the original cost of the cached replies used for the questions.
func (t *ReplaySum) Saved() llm.USD { return t.saved }

// originalRecord returns a record with its outcome by the original gold.
func originalRecord(r result.Record) result.Record {
	o := r.Original
	if o == nil {
		return r
	}
	r.Passed = o.Passed
	switch o.Verdict {
	case result.VerdictError:
		r.Outcome = result.Errored
	case result.VerdictUnscored:
		r.Outcome = result.Unscored
	case "":
		r.Outcome = result.NoGold
	default:
		r.Outcome = result.Scored
	}
	return r
}

// Fill sets the figures of the replay in res. Its sample, its retrieval and the questions asked
// alone must be set already.
func (t *ReplaySum) Fill(res *result.Result) {
	r := res.Replay
	r.Verdicts, r.Losses = t.verdicts, t.losses
	r.FirstAttempt, r.FirstAttemptPassed = t.first, t.firstPassed
	r.Strata = t.figures(res)
	r.Weighted, r.Macro = nil, macro(r.Strata)
	if r.Sample.Represents() {
		r.Weighted = t.Estimate(res)
	}
	if r.Context = nil; r.Actor.ContextTokens > 0 {
		use := t.context
		use.Tokens = r.Actor.ContextTokens
		r.Context = &use
	}
	if r.Alone != nil {
		t.fillAlone(r.Alone)
	}
	if e := r.Errata; e != nil {
		e.Original = t.original.counts
		e.OriginalPassRate, e.OriginalInterval = e.Original.PassRate(), t.original.interval(clusterTag(res))
	}
}

// Estimate returns the estimate for the whole benchmark, as if the sample of res was drawn.
func (t *ReplaySum) Estimate(res *result.Result) *result.Estimate {
	return weighted(res.Replay.Sample, t.strata, clusterTag(res))
}

// fillAlone sets the figures of the questions asked alone.
func (t *ReplaySum) fillAlone(a *result.Alone) {
	var alone, shared []float64
	for i := range a.Asked {
		q := &a.Asked[i]
		q.SharedMS = nil
		if ms, ok := t.daemon[q.ID]; ok {
			q.SharedMS, shared = &ms, append(shared, ms)
		}
		if q.Error == "" {
			alone = append(alone, q.LatencyMS)
		}
	}
	a.Latency, a.Shared = Quantiles(alone), Quantiles(shared)
}

// figures returns the strata sorted by name.
func (t *ReplaySum) figures(res *result.Result) []result.Stratum {
	out := []result.Stratum{}
	for _, name := range slices.Sorted(maps.Keys(t.strata)) {
		s := t.strata[name]
		f := result.Stratum{
			Name: name, Counts: s.counts, PassRate: s.counts.PassRate(), Interval: s.interval(clusterTag(res)),
			Latency: Quantiles(s.latency),
		}
		if res.Retrieval != nil {
			if m := res.Retrieval.ByTag[typeTag+name]; m != nil {
				f.WithGold, f.Retrieval = m.N, m.Macro
			}
		}
		out = append(out, f)
	}
	return out
}

// add counts the outcome of a record.
func (s *stratumSum) add(r result.Record) {
	s.counts.Add(r)
	for _, tag := range clusterTags(r) {
		count(s.clusters, tag, r.Passed)
	}
}

// interval returns the interval of the pass rate, over the clusters of a tag if all questions have
// one.
func (s *stratumSum) interval(cluster string) *result.Interval {
	m, n := meanOf(inClusters(s.clusters, cluster))
	if cluster == "" || n != s.counts.Total || m.Clusters == n {
		return PassInterval(s.counts)
	}
	return clusterInterval(m)
}

// weighted estimates the pass rate of the whole benchmark, with an interval over the clusters of a
// tag if it is not empty and all questions have one. It returns nil if a stratum has no finished
// question.
func weighted(sample result.Sample, strata map[string]*stratumSum, cluster string) *result.Estimate {
	var cells []stats.Cell
	var parts []stats.ClusteredCell
	numbers, placed, total := map[string]int{}, 0, 0
	for _, d := range sample.Strata {
		s := strata[d.Name]
		if d.Population == 0 {
			continue
		}
		if s == nil || s.counts.Finished() == 0 {
			return nil
		}
		// Questions that do not count are excluded from the population too, in the same share as in
		// the sample.
		share := float64(s.counts.Total) / float64(s.counts.Finished())
		if share == 0 {
			continue
		}
		population := max(int(math.Round(float64(d.Population)*share)), s.counts.Total)
		in := inClusters(s.clusters, cluster)
		for _, name := range slices.Sorted(maps.Keys(in)) {
			if _, ok := numbers[name]; !ok {
				numbers[name] = len(numbers)
			}
			parts = append(parts, stats.ClusteredCell{
				Stratum: len(cells), Cluster: numbers[name], Sampled: in[name].asked, Passed: in[name].passed,
			})
			placed += in[name].asked
		}
		total += s.counts.Total
		cells = append(cells, stats.Cell{Population: population, Sampled: s.counts.Total, Passed: s.counts.Passed})
	}
	e, method := stats.Stratified(cells, confidence), "wilson_stratified"
	if c := stats.StratifiedClusters(cells, parts, confidence); cluster != "" && placed == total && !math.IsNaN(c.Lo) {
		e, method = c, result.MethodStratifiedClusters
	}
	if math.IsNaN(e.Rate) || math.IsNaN(e.Lo) {
		return nil
	}
	out := &result.Estimate{Mean: e.Rate, Interval: result.Interval{
		Method: method, Confidence: confidence, Low: e.Lo, High: e.Hi,
	}}
	if !math.IsNaN(e.SE) {
		out.SE = &e.SE
	}
	return out
}

// macro returns the mean of the strata's pass rates, nil if none has one.
func macro(strata []result.Stratum) *float64 {
	sum, n := 0.0, 0
	for _, s := range strata {
		if s.PassRate != nil {
			sum += *s.PassRate
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return new(sum / float64(n))
}

// PerCorrect sets the cost per correct answer, with the interval that follows from rate, the one
// of the pass rate. There is none if the rate may be 0. It uses the list cost if recorded, else
// the amount spent.
func PerCorrect(c *result.CostAccounting, n result.Counts, rate *result.Interval) {
	cost := &c.TotalUSD
	if c.List != nil {
		cost = c.List.USD
	}
	if n.Passed == 0 || cost == nil {
		return
	}
	passed := llm.USD(n.Passed)
	each := *cost/passed + (*cost%passed+passed/2)/passed // rounded half up
	c.PerCorrectUSD, c.PerCorrectInterval = &each, nil
	if rate == nil || rate.Low == 0 {
		return
	}
	dollars := func(end float64) float64 { return float64(*cost) / (end * float64(n.Total)) / float64(llm.Dollar) }
	c.PerCorrectInterval = &result.Interval{
		Method: rate.Method, Confidence: rate.Confidence, Low: dollars(rate.High), High: dollars(rate.Low),
	}
}
