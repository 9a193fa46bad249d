// Package scorer says how good an answer is: by expected substrings, by a
// language model's judgement, or by where the documents that hold the answer
// stand among those that were retrieved. Ranking has the measures of retrieval.
package scorer

import (
	"context"

	"evalctl/internal/llm"
)

// passMark is the lowest score that passes (specification, command line).
const passMark = 0.5

// Item is one question with what is known about its answer, and the answer to
// score.
type Item struct {
	ID       string
	Question string
	// QuestionDate is when the question is asked, RFC 3339, or empty.
	QuestionDate string
	// Expected holds substrings, any of which makes the answer right.
	Expected []string
	// Reference is a model answer.
	Reference string
	// Gold is the documents that hold the answer, with their ranks once it is
	// known what was retrieved.
	Gold Ranking
	// Answer is the candidate to score.
	Answer string
}

// Verdict is the outcome for one answer.
type Verdict struct {
	// Score is from 0 to 1 and means nothing unless Scored.
	Score float64
	// Scored is false when no usable judgement could be had; Reason says why.
	Scored bool
	// Reason is the scorer's own words. A judge's may be steered by the answer
	// it read: show it, never act on it.
	Reason string
	// Model is the one that judged, as its provider names it; empty offline.
	Model string
	// Attempts counts HTTP requests.
	Attempts int
	// Usage adds up the tokens of the judgement's requests.
	Usage llm.Usage
	// Cost is what the judgement was charged, lost attempts included.
	Cost llm.USD
}

// Passed tells whether the answer was scored at passMark or above.
func (v Verdict) Passed() bool {
	return v.Scored && v.Score >= passMark
}

// Scorer scores answers. Implementations are safe for concurrent use.
type Scorer interface {
	// Name is the scorer's name on the command line and in results.
	Name() string
	// Check says what an item lacks to be scored, whatever its answer. ErrNoGold
	// means that the item is to be left out; any other error is a mistake in it.
	Check(Item) error
	// Score judges one answer. An error means that the run must stop: the next
	// item would fare no better. Anything that went wrong with this answer
	// alone is an unscored verdict. Next to an error the verdict still holds
	// Attempts and Cost.
	Score(ctx context.Context, item Item) (Verdict, error)
}
