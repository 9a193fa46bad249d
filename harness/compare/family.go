package compare

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// passRate is the name of the pass rate among the measures.
const passRate = "pass_rate"

// Measures returns the names that may be primary, in display order.
func Measures() []string { return append([]string{passRate}, measureNames[:]...) }

// strictAlpha is the level of other tests for pairs where no primary measure shows a difference.
const strictAlpha = alpha / 10

// families holds the tests of a comparison in two families, the primary measures and all others.
// Holm's method adjusts each family separately. Other tests use alpha for pairs where a primary
// measure shows a difference (a serial gatekeeper, Westfall and Krishen 2001) and strictAlpha for
// the rest. A comparison of equal systems thus has any verdict with a probability of at most alpha
// + strictAlpha.
type families struct {
	measures       []string
	primary, other []familyTest
	// shown are the pairs where a primary measure shows a difference.
	shown map[*Pair]bool
}

// familyTest is a test whose p-value is adjusted for the number of tests in its family.
type familyTest struct {
	pair *Pair
	p    float64
	set  func(judgement)
}

// judgement is the adjusted outcome of a test.
type judgement struct {
	adjusted, alpha float64
	// level is the unadjusted level: adjusted is at most alpha exactly if p is at most level.
	level float64
}

// verdict returns the verdict on a difference, where positive is better.
func (j judgement) verdict(difference float64) Verdict {
	switch {
	case !(j.adjusted < j.alpha):
		return NotSeen
	case difference > 0:
		return Better
	}
	return Worse
}

// add adds a pair's test of a measure over all questions. A nil p is ignored.
func (f *families) add(pair *Pair, measure string, p *float64, set func(judgement)) {
	if p != nil && slices.Contains(f.measures, measure) {
		f.primary = append(f.primary, familyTest{pair, *p, set})
		return
	}
	f.addOther(pair, p, set)
}

// addOther adds a test that is never primary, such as a test by tag.
func (f *families) addOther(pair *Pair, p *float64, set func(judgement)) {
	if p != nil {
		f.other = append(f.other, familyTest{pair, *p, set})
	}
}

// judge sets the adjusted p-values and the verdicts.
func (f *families) judge() {
	f.shown = map[*Pair]bool{}
	judgeEach(f.primary, func(familyTest) float64 { return alpha }, func(t familyTest) { f.shown[t.pair] = true })
	judgeEach(f.other, func(t familyTest) float64 {
		if f.shown[t.pair] {
			return alpha
		}
		return strictAlpha
	}, func(familyTest) {})
}

// judgeEach adjusts the p-values of a family and judges each test at the level from alphaOf. It
// calls shown for each test that shows a difference.
func judgeEach(family []familyTest, alphaOf func(familyTest) float64, shown func(familyTest)) {
	ps := make([]float64, len(family))
	for i, t := range family {
		ps[i] = t.p
	}
	adjusted, factors := stats.Holm(ps), stats.HolmFactors(ps)
	for i, t := range family {
		j := judgement{adjusted: adjusted[i], alpha: alphaOf(t)}
		j.level = j.alpha / factors[i]
		t.set(j)
		if j.adjusted < j.alpha {
			shown(t)
		}
	}
}

// judge sets the adjusted p-values and the verdicts of the comparison.
func (c *Comparison) judge(f *families) {
	f.judge()
	c.Tests, c.OtherTests = len(f.primary), len(f.other)
	for i := range c.Pairs {
		if p := &c.Pairs[i]; len(p.Recipes) > 0 {
			// Recipes judge the pass rate, so no other shown measure makes it robust.
			p.Robust = new((p.Verdict == Better || p.Verdict == Worse) && p.sameSign())
		}
	}
}

// primaryOf returns the primary measures: the named ones, else recall (by evidence where that
// scores) if all runs were scored by retrieval, else the pass rate.
func primaryOf(named []string, runs []*Run) ([]string, error) {
	for _, name := range named {
		if !slices.Contains(Measures(), name) {
			return nil, fmt.Errorf("%w: %q is not a measure that can be primary: they are %s", ErrOptions, name,
				strings.Join(Measures(), ", "))
		}
	}
	switch {
	case len(named) > 0:
		return slices.Compact(slices.Sorted(slices.Values(named))), nil
	case !slices.ContainsFunc(filesOf(runs), func(r *Run) bool { return !r.byRetrieval() || !r.byEvidence() }):
		return []string{measureNames[measureEvidence]}, nil
	case !slices.ContainsFunc(filesOf(runs), func(r *Run) bool { return !r.byRetrieval() }):
		return []string{measureNames[measureRecall]}, nil
	}
	return []string{passRate}, nil
}

// checkPrimary returns an error if a named primary measure cannot be tested in any pair.
func (c *Comparison) checkPrimary(named []string) error {
	for _, name := range named {
		if slices.ContainsFunc(c.Pairs, func(p Pair) bool { return p.tests(name) }) {
			continue
		}
		why := "no pair of runs has it"
		if slices.Contains(measureNames[measureTotal:], name) {
			why = fmt.Sprintf("latencies are judged from %d runs a side on", judgedRuns)
			if slices.ContainsFunc(c.Pairs, func(p Pair) bool { return p.Cached > 0 }) {
				why += fmt.Sprintf(", and from %d questions on that evalctl's cache did not answer", Testable)
			}
		}
		return fmt.Errorf("%w by the primary measure %s: %s", ErrOptions, name, why)
	}
	return nil
}

// tests reports whether the pair has a test of the measure.
func (p *Pair) tests(measure string) bool {
	return measure == passRate && p.P != nil ||
		slices.ContainsFunc(p.Measures, func(m MeasureDifference) bool { return m.Name == measure }) ||
		slices.ContainsFunc(p.Latencies, func(l LatencyRatio) bool { return l.Name == measure && l.P != nil })
}

// documentsAlike reports whether all runs determined the documents of passages in the same way.
// JSON lines do not record the way and are skipped.
func documentsAlike(runs []*Run) bool {
	var first result.GoldKind
	for _, r := range filesOf(runs) {
		if r.res == nil || r.res.Retrieval == nil {
			continue
		}
		if by := r.res.DocumentsBy(); first == "" {
			first = by
		} else if by != first {
			return false
		}
	}
	return true
}

// byEvidence reports whether retrieval was scored by evidence.
func (r *Run) byEvidence() bool { return r.res != nil && r.res.GoldBy() == result.ByEvidence }

// byRetrieval reports whether the run was scored by retrieval.
func (r *Run) byRetrieval() bool { return r.res != nil && r.res.Identity.Scorer == "retrieval" }
