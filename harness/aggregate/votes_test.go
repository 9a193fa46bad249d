package aggregate

import (
	"math"
	"testing"

	"evalctl/harness/result"
)

// TestVoteFigures: the rates are over all answers with a judgement, also those with a single one,
// which have no list, and the first judgements pass or fail.
func TestVoteFigures(t *testing.T) {
	for name, c := range map[string]struct {
		votes [][]float64 // of one vote, a record has the score alone
		want  result.VoteFigures
	}{
		"single votes": {[][]float64{{1, 1, 1}, {0, 0, 1}, {1}, {1}},
			result.VoteFigures{Mean: (1 + 1.0/3 + 1 + 1) / 4, Majority: .75, First: .75, Rates: []float64{.75, .5, 1}}},
		"graded votes": {[][]float64{{.3, .3}, {.9, .9}},
			result.VoteFigures{Mean: .6, Majority: .5, First: .5, Rates: []float64{.5, .5}}},
	} {
		var sum voteSum
		for _, votes := range c.votes {
			r := result.Record{Outcome: result.Scored, Votes: votes, Score: new(votes[0])}
			if len(votes) == 1 {
				r.Votes = nil
			}
			sum.add(&r)
		}
		sum.add(&result.Record{Outcome: result.Unjudged})
		got := sum.figures(result.VotesFirst)
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-8 }
		if got == nil || !near(got.Mean, c.want.Mean) || !near(got.Majority, c.want.Majority) || !near(got.First, c.want.First) ||
			len(got.Rates) != len(c.want.Rates) || got.Answers != 2 {
			t.Fatalf("%s: got %+v", name, got)
		}
		for i, rate := range c.want.Rates {
			if !near(got.Rates[i], rate) {
				t.Errorf("%s: rate %d is %v", name, i, got.Rates[i])
			}
		}
	}
}
