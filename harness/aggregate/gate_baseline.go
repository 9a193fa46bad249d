package aggregate

import (
	"cmp"
	"math"
	"slices"

	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/stats"
)

// baselineConfidence is the level of the two-sided interval in a comparison with a baseline.
const baselineConfidence = 0.95

// settlePairs limits BaselineGate.Settles.
const settlePairs = 1_000_000

// Baseline is the result that a run is compared with.
type Baseline struct {
	Path   string
	SHA256 string
	SDK    string
	// Differs are the identity keys in which the runs differ, in order.
	Differs []string
	// Accepted describes other differences that were accepted by name.
	Accepted string
	// Margin is the largest accepted loss of pass rate, from 0 to 1.
	Margin float64
	// Passed maps the ids of counted questions to whether they passed. Unscored has the ids of
	// questions without a verdict. The two are disjoint.
	Passed   map[string]bool
	Unscored map[string]bool
}

// ReadBaseline reads the questions of a result file, each asked once. The caller sets Differs.
func ReadBaseline(r *resultfile.Reader, path string, margin float64) (*Baseline, error) {
	b := &Baseline{
		Path: path, SDK: r.Result().SDK, Margin: margin, Passed: map[string]bool{}, Unscored: map[string]bool{},
	}
	for rec, err := range r.Questions() {
		if err != nil {
			return nil, err
		}
		b.Add(rec)
	}
	var err error
	b.SHA256, err = r.SHA256()
	return b, err
}

// Add adds a record of the baseline. Ids must be distinct.
func (b *Baseline) Add(r result.Record) {
	switch r.Outcome {
	case result.NoGold, result.NotMeasurable, result.Unjudged:
	case result.Unscored:
		b.Unscored[r.ID] = true
	default:
		b.Passed[r.ID] = r.Passed
	}
}

// discordance is a question that only one of the runs passed.
type discordance struct {
	line int
	id   string
}

// baselineSum compares the records of a run with a baseline, in any order.
type baselineSum struct {
	base  *Baseline
	pairs stats.Pairs // the first is the run
	// run counts the counted records, and unscored those without a verdict in either result.
	run, unscored int
	broke, fixed  []discordance
	all           []pair
}

// pair is a question with a verdict in both runs.
type pair struct {
	id         string
	tags       []string // that may name a cluster
	difference float64
}

// Compare compares the records added from now on with b. Their ids must be distinct.
func (s *Sum) Compare(b *Baseline) { s.baselineSum = &baselineSum{base: b} }

func (v *baselineSum) add(r result.Record) {
	if v == nil || !r.Outcome.Counts() {
		return
	}
	v.run++
	passed, known := v.base.Passed[r.ID]
	if v.base.Unscored[r.ID] || known && r.Outcome == result.Unscored {
		v.unscored++
		return
	}
	if !known {
		return
	}
	difference := 0.0
	switch {
	case r.Passed && !passed:
		difference = 1
	case !r.Passed && passed:
		difference = -1
	}
	v.all = append(v.all, pair{r.ID, clusterTags(r), difference})
	switch {
	case r.Passed && passed:
		v.pairs.Both++
	case r.Passed:
		v.pairs.First++
		v.fixed = append(v.fixed, discordance{r.Line, r.ID})
	case passed:
		v.pairs.Second++
		v.broke = append(v.broke, discordance{r.Line, r.ID})
	default:
		v.pairs.Neither++
	}
}

// gate tests whether the run is not worse than its baseline by the margin or more (statistics.md
// B.11). The lower end of the interval of the difference, by method 10 of Newcombe 1998, must be
// above -margin. If tag names clusters, cluster sign flips must show it too, as in a comparison. It
// is nil without a baseline.
func (v *baselineSum) gate(tag string) *result.BaselineGate {
	if v == nil {
		return nil
	}
	b, p := v.base, v.pairs
	questions := len(b.Passed) + len(b.Unscored) + v.run
	g := &result.BaselineGate{
		Path: b.Path, SHA256: b.SHA256, SDK: b.SDK, Differs: append([]string{}, b.Differs...), Accepted: b.Accepted, Margin: b.Margin,
		Both: p.Both, OnlyRun: p.First, OnlyBaseline: p.Second, Neither: p.Neither,
		// Questions in both runs are counted twice.
		Unpaired: questions - 2*p.N() - v.unscored, Unscored: v.unscored,
		Broke: ids(v.broke), Fixed: ids(v.fixed),
	}
	if tag == "" {
		judgeBaseline(g, nil)
		return g
	}
	flips := stats.FlipClusters(v.clustered(tag))
	g.Clusters = &result.PairClusters{Tag: tag, Clusters: flips.Clusters}
	if p.Discordant() == 0 {
		judgeBaseline(g, nil) // nothing says how alike the questions of a cluster are
	} else {
		judgeBaseline(g, &flips)
	}
	return g
}

// Settings of the sign flips, as in a comparison.
const (
	baselineResamples = 10_000
	baselineSeed      = 1
)

// clustered returns the differences of the pairs, their clusters by tag, and the settings of the
// sign flips. A pair without a cluster forms its own. Clusters are sorted by name, so that random
// signs do not depend on the order of records.
func (v *baselineSum) clustered(tag string) (differences []float64, labels []int, resamples int, seed uint64) {
	names := make([]string, len(v.all))
	for i, p := range v.all {
		name, ok := result.ClusterOf(tag, p.tags, "")
		if !ok {
			name = "\x00" + p.id
		}
		names[i], differences = name, append(differences, p.difference)
	}
	order := slices.Compact(slices.Sorted(slices.Values(names)))
	for _, name := range names {
		label, _ := slices.BinarySearch(order, name)
		labels = append(labels, label)
	}
	return differences, labels, baselineResamples, baselineSeed
}

// judgeBaseline computes the figures that depend on g's margin and pairs and, unless flips is nil,
// on the sign flips of clusters.
func judgeBaseline(g *result.BaselineGate, flips *stats.ClusterFlips) {
	p := stats.Pairs{Both: g.Both, First: g.OnlyRun, Second: g.OnlyBaseline, Neither: g.Neither}
	g.P, g.Verdict = stats.McNemarExact(p.First, p.Second), result.Unknown
	g.Difference, g.Interval, g.Settles, g.MarginP = nil, nil, nil, nil
	if p.N() == 0 {
		return
	}
	lo, hi := p.Newcombe(baselineConfidence)
	g.Difference = new(p.Difference())
	g.Interval = &result.Interval{Method: "newcombe_paired", Confidence: baselineConfidence, Low: lo, High: hi}
	const level = (1 - baselineConfidence) / 2
	g.MarginP = new(stats.NonInferiority(*g.Difference, g.Margin, level, p.Newcombe))
	if flips != nil {
		alone := *g.MarginP
		*g.MarginP, lo, hi = stats.NonInferiorityWider(*g.Difference, g.Margin, level, p.Newcombe, stats.TwoSidedTest{P: flips.P, Interval: flips.Interval})
		g.Interval = &result.Interval{Method: "sign_flip_clusters_wider", Confidence: baselineConfidence, Low: max(-1, lo), High: min(1, hi)}
		if math.IsNaN(lo) || math.IsNaN(hi) {
			g.Interval, g.MarginP = nil, nil
			return
		}
		if alone <= level && *g.MarginP > level {
			return // more questions need not settle it: more clusters would
		}
	}
	switch {
	case *g.MarginP <= level:
		g.Verdict = result.NotWorse
	case hi < -g.Margin:
		g.Verdict = result.Worse
	case *g.Difference > -g.Margin:
		if n, ok := stats.NotWorseSize(p, g.Margin, baselineConfidence, p.N()+1, settlePairs); ok {
			g.Settles = &n
		}
	}
}

// settledBefore reports whether n is the value that earlier versions computed for Settles: the
// smallest whole multiple of the number of pairs that settles the comparison.
func settledBefore(g *result.BaselineGate, n int) bool {
	p := stats.Pairs{Both: g.Both, First: g.OnlyRun, Second: g.OnlyBaseline, Neither: g.Neither}
	shows := func(n int) bool { lo, _ := p.Scaled(n).Newcombe(baselineConfidence); return lo > -g.Margin }
	return n%p.N() == 0 && shows(n) && !shows(n-p.N())
}

// ids returns the ids in dataset order.
func ids(list []discordance) []string {
	slices.SortFunc(list, func(a, b discordance) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.id, b.id)) })
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.id
	}
	return out
}
