package aggregate

import (
	"slices"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// voteUnit is the unit for adding shares, so that the order of adding does not matter.
const voteUnit = 1e-9

// voteSum adds up the judgements of imported answers.
type voteSum struct {
	judged, several, split int
	mean                   int64 // in units of voteUnit
	majority, first        int64
	// passed and asked count the judgements by position, from 0.
	passed, asked []int
}

func (s *voteSum) add(r *result.Record) {
	votes := r.Votes
	if len(votes) == 0 && r.Score != nil {
		votes = []float64{*r.Score} // records keep only several
	}
	if len(votes) == 0 {
		return
	}
	s.judged++
	for _, of := range []struct {
		rule result.VoteRule
		to   *int64
	}{{result.VotesMean, &s.mean}, {result.VotesMajority, &s.majority}, {result.VotesFirst, &s.first}} {
		score, _ := of.rule.Score(votes)
		if of.rule != result.VotesMean {
			score = passScore(score)
		}
		*of.to += int64(score/voteUnit + 0.5)
	}
	if len(votes) > 1 {
		s.several++
	}
	n := 0
	for i, v := range votes {
		if i == len(s.asked) {
			s.passed, s.asked = append(s.passed, 0), append(s.asked, 0)
		}
		s.asked[i]++
		if v >= scorer.PassMark {
			s.passed[i]++
			n++
		}
	}
	if n > 0 && n < len(votes) {
		s.split++
	}
}

// passScore returns 1 for a score that passes, else 0.
func passScore(score float64) float64 {
	if score >= scorer.PassMark {
		return 1
	}
	return 0
}

// figures returns the figures under a voting rule, nil if no answer was judged several times.
func (s *voteSum) figures(rule result.VoteRule) *result.VoteFigures {
	if s.several == 0 {
		return nil
	}
	rate := func(sum int64) float64 { return float64(sum) * voteUnit / float64(s.judged) }
	f := &result.VoteFigures{
		Rule: rule, Mean: rate(s.mean), Majority: rate(s.majority), First: rate(s.first), Answers: s.several, Split: s.split,
	}
	f.Rate = map[result.VoteRule]float64{
		result.VotesMean: f.Mean, result.VotesMajority: f.Majority, result.VotesFirst: f.First,
	}[rule]
	for i, n := range s.asked {
		f.Rates = append(f.Rates, float64(s.passed[i])/float64(n))
	}
	f.Rates = slices.Clip(f.Rates)
	return f
}
