package aggregate

import (
	"cmp"
	"slices"
	"sort"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// baselineConfidence is that of the two-sided interval of a comparison with a baseline.
const baselineConfidence = 0.95

// settlePairs is the largest number of pairs of BaselineGate.Settles.
const settlePairs = 1_000_000

// Baseline is the result with which a run is compared.
type Baseline struct {
	Path   string
	SHA256 string
	SDK    string
	// Differs are the keys of the identity in which the runs differ, in order.
	Differs []string
	// Accepted says in what else they do not agree, which was accepted by name.
	Accepted string
	// Margin is the largest loss of pass rate that is accepted, from 0 to 1.
	Margin float64
	// Passed has the questions that count, by id, and whether they passed. Unscored has the ids of
	// those on which the scorer gave no verdict. No id is in both.
	Passed   map[string]bool
	Unscored map[string]bool
}

// ReadBaseline reads the questions of a result file, each of which was asked once. The caller sets
// Differs.
func ReadBaseline(r *result.Reader, path string, margin float64) (*Baseline, error) {
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

// Add adds a record of the baseline. The ids of all records must differ.
func (b *Baseline) Add(r result.Record) {
	switch r.Outcome {
	case result.NoGold, result.NotMeasurable:
	case result.Unscored:
		b.Unscored[r.ID] = true
	default:
		b.Passed[r.ID] = r.Passed
	}
}

// changed is a question that only one of two runs passed.
type changed struct {
	line int
	id   string
}

// versus compares the records of a run with a baseline, in any order.
type versus struct {
	base  *Baseline
	pairs stats.Pairs // the first is the run
	// run counts the records that count, unscored those without a verdict in one of the results.
	run, unscored int
	broke, fixed  []changed
}

// Compare has the records that will be added compared with b. Their ids must differ from each
// other.
func (s *Sum) Compare(b *Baseline) { s.versus = &versus{base: b} }

func (v *versus) add(r result.Record) {
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
	switch {
	case r.Passed && passed:
		v.pairs.Both++
	case r.Passed:
		v.pairs.First++
		v.fixed = append(v.fixed, changed{r.Line, r.ID})
	case passed:
		v.pairs.Second++
		v.broke = append(v.broke, changed{r.Line, r.ID})
	default:
		v.pairs.Neither++
	}
}

// gate tests whether the run is not worse than its baseline by the margin or more (statistics.md
// B.11): its difference in pass rate, with the interval of method 10 of Newcombe 1998, is above
// -margin. It is nil without a baseline.
func (v *versus) gate() *result.BaselineGate {
	if v == nil {
		return nil
	}
	b, p := v.base, v.pairs
	questions := len(b.Passed) + len(b.Unscored) + v.run
	g := &result.BaselineGate{
		Path: b.Path, SHA256: b.SHA256, SDK: b.SDK, Differs: append([]string{}, b.Differs...), Accepted: b.Accepted, Margin: b.Margin,
		Both: p.Both, OnlyRun: p.First, OnlyBaseline: p.Second, Neither: p.Neither,
		// A question that both have counts twice.
		Unpaired: questions - 2*p.N() - v.unscored, Unscored: v.unscored,
		Broke: ids(v.broke), Fixed: ids(v.fixed),
	}
	judgeBaseline(g)
	return g
}

// judgeBaseline sets what follows from the margin and the numbers of pairs of g.
func judgeBaseline(g *result.BaselineGate) {
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
	switch {
	case *g.MarginP <= level:
		g.Verdict = result.NotWorse
	case hi < -g.Margin:
		g.Verdict = result.Worse
	case *g.Difference > -g.Margin:
		g.Settles = settles(p, g.Margin)
	}
}

// settles returns the fewest whole multiple of the pairs that show that the first is not worse, nil
// if none up to settlePairs does.
func settles(p stats.Pairs, margin float64) *int {
	most := settlePairs / p.N()
	k := 1 + sort.Search(most, func(i int) bool {
		k := i + 1
		lo, _ := stats.Pairs{Both: k * p.Both, First: k * p.First, Second: k * p.Second, Neither: k * p.Neither}.Newcombe(baselineConfidence)
		return lo > -margin
	})
	if k > most {
		return nil
	}
	return new(k * p.N())
}

// ids returns the ids in the order of the dataset.
func ids(list []changed) []string {
	slices.SortFunc(list, func(a, b changed) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.id, b.id)) })
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.id
	}
	return out
}
