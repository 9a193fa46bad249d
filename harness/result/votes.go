package result

import "evalctl/scorer"

// VoteRule says how several judgements of one imported answer make its verdict.
type VoteRule string

// The rules. The zero value means one judgement per answer.
const (
	VotesMean     VoteRule = "mean"     // the score is the share of the judgements that passed it
	VotesMajority VoteRule = "majority" // more than half of the judgements; a tie has no verdict
	VotesFirst    VoteRule = "first"    // the first judgement alone
)

// Score returns the score of an answer with these judgements, each from 0 to 1. ok is false if they
// do not decide.
func (r VoteRule) Score(votes []float64) (score float64, ok bool) {
	if len(votes) == 0 {
		return 0, false
	}
	if r == VotesFirst || len(votes) == 1 {
		return votes[0], true
	}
	passed, sum := 0, 0.0
	for _, v := range votes {
		sum += v
		if v >= scorer.PassMark {
			passed++
		}
	}
	switch {
	case r == VotesMean:
		return sum / float64(len(votes)), true
	case 2*passed == len(votes):
		return 0, false
	case 2*passed > len(votes):
		return 1, true
	}
	return 0, true
}

// VoteFigures are the rates of imported answers that were judged several times.
type VoteFigures struct {
	Rule VoteRule `json:"rule"`
	// Rate is the pass rate by the rule. Mean, Majority and First are the pass rates by each rule,
	// over the answers with a judgement. A tie fails by majority.
	Rate     float64 `json:"rate"`
	Mean     float64 `json:"mean"`
	Majority float64 `json:"majority"`
	First    float64 `json:"first"`
	// Answers is the number of answers with several judgements, Split how many of them have
	// contradictory judgements.
	Answers int `json:"answers"`
	Split   int `json:"split"`
	// Rates are the pass rates of the first judgements, of the second ones, and so on.
	Rates []float64 `json:"rates"`
}
