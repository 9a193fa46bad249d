package audit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"evalctl/harness/judging"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/stats"
	"evalctl/internal/visible"
	"evalctl/scorer"
)

// lenient answers whether the judge passes wrong answers.
func (a *Audit) lenient() Finding {
	f := Finding{
		Command: "evalctl judge check --result FILE --wrong WRONG",
		Cannot:  "How many right answers the judge fails. The corrected rate is the least that the truth can be, if these wrong answers are as hard to detect as the systems' own.",
	}
	if a.wrong == nil {
		f.Cannot = "Without --wrong, a result of answers that are wrong on purpose with the verdicts of the same judge, the errors of the judge are not known."
		return f
	}
	passed := a.wrong.passed(scored)
	says := NotShown
	if passed.hits > 0 {
		says = Shown
	}
	f.found(says, "The judge of %s passes %s of answers that are wrong on purpose.", a.wrong.Name, passed)
	for _, s := range a.Subjects {
		if !s.Result.GivenVerdicts() {
			f.found(Unknown, "%s was judged by evalctl: its judge is measured with labels, by evalctl judge check --labels.", s.Name)
			continue
		}
		c, note, err := judging.CheckGiven(a.wrong.Path, s.Path)
		switch {
		case err != nil:
			f.found(Unknown, "%s: %v.", s.Name, err)
			continue
		case c.Correction.Corrected == nil:
			f.found(says, "%s: no correction: %s.", s.Name, c.Correction.Impossible)
			continue
		}
		text := fmt.Sprintf("%s: %s as published, at least %s without the wrong answers that such a judge passes.", s.Name, &c.Correction.Raw, c.Correction.Corrected)
		for _, but := range []string{note, c.Correction.Few, c.Misfit()} {
			if but != "" {
				text += " But " + but + "."
			}
		}
		f.found(says, "%s", text)
	}
	return f
}

// prompts answers whether the same answers get another score with another prompt.
func (a *Audit) prompts() Finding {
	f := Finding{
		Header:  []string{"file", "as stored", "contains the gold", "token F1 of 0.5", "mean token F1", "panel"},
		Command: "evalctl rescore FILE --scorer judge --judge MODEL --judge-panel benchmark,strict,generous --max-cost-usd 5",
		Cannot:  "The two rules of words here are not judges: they fail a right answer in other words. Only a panel of judges says how far judges disagree.",
	}
	for _, s := range a.Subjects {
		var stored, contains, f1 share
		var both verdicts // the stored verdict, and whether the answer contains the gold
		sum := 0.0
		for i, r := range s.Records {
			if !r.Outcome.Answered() || r.Reference == "" || r.Repeat > 1 {
				continue
			}
			has := strings.Contains(visible.Words(r.Answer), visible.Words(r.Reference))
			if r.Outcome == result.Scored {
				stored.add(r.Passed, s.cluster(i))
				both.add(r.Passed, has, s.cluster(i))
			}
			contains.add(has, s.cluster(i))
			v, err := scorer.TokenF1().Score(context.Background(), r.Item())
			if err != nil {
				continue
			}
			f1.add(v.Passed(), s.cluster(i))
			sum += v.Score
		}
		if contains.n == 0 {
			f.found(Unknown, "%s has no golds.", s.Name)
			continue
		}
		panel := "none"
		if p := s.Result.Panel; p != nil && p.Low != nil {
			panel = fmt.Sprintf("%.3f to %.3f", *p.Low, *p.High)
			if *p.High-*p.Low > 0 {
				f.found(Shown, "%s: %s over %s.", s.Name, panel, figure.Count(len(p.Recipes), "recipe"))
			}
		}
		f.Rows = append(f.Rows, []string{s.Name, stored.String(), contains.String(), f1.String(), fmt.Sprintf("%.3f", sum/float64(f1.n)), panel})
		if v := s.Result.Votes; v != nil {
			f.found(Shown, "%s: %s.", s.Name, wording.Votes(v))
		}
		if d := both.difference(); both.N() > 0 && d.shown() {
			f.found(Shown, "%s: the stored verdicts differ from the rule \"contains the gold\" by %s.", s.Name, d)
		} else if both.N() > 0 {
			f.found(NotShown, "%s: the stored verdicts and the rule \"contains the gold\" differ by %s.", s.Name, d)
		}
	}
	return f
}

// verdicts are two verdicts on each of some answers.
type verdicts struct {
	stats.Pairs
	differences []float64
	clusters    []int
}

func (v *verdicts) add(first, second bool, cluster int) {
	d := 0.0
	switch {
	case first && second:
		v.Both++
	case first:
		v.First++
		d = 1
	case second:
		v.Second++
		d = -1
	default:
		v.Neither++
	}
	v.differences, v.clusters = append(v.differences, d), append(v.clusters, cluster)
}

// difference returns the difference of the first and the second verdicts.
func (v *verdicts) difference() difference {
	alone := func(part float64) difference {
		p := stats.Pairs{
			Both: scaled(v.Both, part), First: scaled(v.First, part),
			Second: scaled(v.Second, part), Neither: scaled(v.Neither, part),
		}
		lo, hi := p.Newcombe(confidence)
		return difference{p.Difference(), lo, hi}
	}
	return alone(1).over(v.differences, v.clusters, alone)
}

// length answers whether the judge prefers long answers.
func (a *Audit) length() Finding {
	f := Finding{
		Header:  []string{"file", "words, median", "passed when longer", "passed when not", "difference at equal truth"},
		Command: "evalctl verify audit FILE --wrong WRONG",
		Cannot:  "Truth is taken as equal among answers with the same share of the gold's words: all, some or none. A long answer may be right in other words. Among answers that are wrong on purpose, truth is equal.",
	}
	for _, s := range a.subjectsAndWrong() {
		var lengths []float64
		for _, r := range s.Records {
			if r.Outcome == result.Scored {
				lengths = append(lengths, float64(len(strings.Fields(r.Answer))))
			}
		}
		if len(lengths) == 0 {
			f.found(Unknown, "%s has no verdicts.", s.Name)
			continue
		}
		slices.Sort(lengths)
		median := stats.Median(lengths)
		var strata [3]stratum // by how much of the gold the answer has
		var long, short share
		for i, r := range s.Records {
			if !scored(r) {
				continue
			}
			of := 0
			if recall := scorer.Recall(r.Answer, r.Reference); !a.isWrong(s) && recall > 0 {
				of = 1
				if recall == 1 {
					of = 2
				}
			}
			if float64(len(strings.Fields(r.Answer))) > median {
				strata[of].long.add(r.Passed, s.cluster(i))
				long.add(r.Passed, s.cluster(i))
			} else {
				strata[of].short.add(r.Passed, s.cluster(i))
				short.add(r.Passed, s.cluster(i))
			}
		}
		d, ok := adjusted(strata[:])
		if !ok {
			f.found(Unknown, "%s: no answers of the same truth differ in length.", s.Name)
			continue
		}
		f.Rows = append(f.Rows, []string{s.Name, fmt.Sprintf("%.0f", median), long.String(), short.String(), d.String()})
		says := NotShown
		if d.low > 0 {
			says = Shown
		}
		f.found(says, "%s: answers longer than the median pass %s more often at equal truth.", s.Name, d)
	}
	return f
}

// adjusted returns the difference between long and short answers over strata, with Mantel-Haenszel
// weights. Its interval has one more pass and one more failure on each side (Agresti and Caffo
// 2000): the variance of rates of 0 and 1 would be 0, however few the answers are.
func adjusted(strata []stratum) (d difference, ok bool) {
	strata = slices.DeleteFunc(slices.Clone(strata), func(s stratum) bool { return s.weight() == 0 })
	if len(strata) == 0 {
		return d, false
	}
	alone := func(part float64) difference { return weighted(strata, part) }
	return alone(1).widened(alone, strata...), true
}

// weighted returns the difference over a part of the items of strata, which are independent.
func weighted(strata []stratum, part float64) (d difference) {
	weight, middle, variance := 0.0, 0.0, 0.0
	for _, s := range strata {
		s = stratum{s.long.part(part), s.short.part(part)}
		w := s.weight()
		weight += w
		d.value += w * (s.long.rate() - s.short.rate())
		long, short := share{hits: s.long.hits + 1, n: s.long.n + 2}, share{hits: s.short.hits + 1, n: s.short.n + 2}
		p1, p0 := long.rate(), short.rate()
		middle += w * (p1 - p0)
		variance += w * w * (p1*(1-p1)/float64(long.n) + p0*(1-p0)/float64(short.n))
	}
	const z = 1.959964
	d.value /= weight
	middle, half := middle/weight, z*math.Sqrt(variance)/weight
	// Extreme rates in several strata may lie beyond the ends.
	d.low, d.high = max(-1, min(middle-half, d.value)), min(1, max(middle+half, d.value))
	return d
}

func (a *Audit) subjectsAndWrong() []Subject {
	all := slices.Clone(a.Subjects)
	if a.wrong != nil {
		all = append(all, *a.wrong)
	}
	return all
}

func (a *Audit) isWrong(s Subject) bool { return a.wrong != nil && s.Path == a.wrong.Path }
