// Package scorer scores answers: by expected substrings, by a language model's judgement, or by the
// ranks of the retrieved documents that contain the answer. Ranking implements the retrieval
// measures.
package scorer

import (
	"context"

	"evalctl/internal/llm"
)

// PassMark is the lowest score that passes (spec 4.4).
const PassMark = 0.5

// Item is a question with its gold and the answer to score.
type Item struct {
	ID       string
	Question string
	// QuestionDate is when the question is asked, in RFC 3339, or empty.
	QuestionDate string
	// Expected are substrings, any of which makes the answer correct.
	Expected []string
	// Reference is a model answer.
	Reference string
	// Gold are the documents that contain the answer, with their ranks once retrieved.
	Gold Ranking
	// Evidence are the texts that passages must contain, without paths, with the ranks of the
	// passages once retrieved.
	Evidence Ranking
	// Type selects a judge's prompts (see NewTyped): one of Types, or empty for TypeStandard. Other
	// scorers ignore it.
	Type string
	// Category is the question's type in its benchmark, such as multi-hop, empty for none. Only
	// TokenF1 uses it.
	Category string
	// Checks are conditions on the answer.
	Checks []Check
	// Answer is the answer to score.
	Answer string
	// Repeat numbers the repeats of a question from 1; it is 0 if the question is asked once. A
	// judge is asked again for each repeat.
	Repeat int
	// LatencyMS is the time to the answer in milliseconds, nil if unknown. FromCache is set if
	// evalctl's cache had the answer, which then has no time.
	LatencyMS *float64
	FromCache bool
	// Cited are the documents that the answer cites, and Retrieved the documents of all retrieved
	// passages.
	Cited, Retrieved []Document
}

// insteadOf suggests another scorer for an item that lacks a required field: the usual one, or
// retrieval if only that is possible.
func (i Item) insteadOf(usual string, usable bool) string {
	if !usable && len(i.Gold)+len(i.Evidence) > 0 {
		return Retrieval{}.Name()
	}
	return usual
}

// Verdict is the outcome for one answer.
type Verdict struct {
	// Score is from 0 to 1. It is meaningless unless Scored.
	Score float64
	// Scored is false without a usable judgement; Reason then says why.
	Scored bool
	// Reason is the scorer's explanation. The answer may have influenced a judge's words: show
	// them, but do not act on them.
	Reason string
	// Unanswered is set if there is no judgement, or one of several is missing, because the provider
	// did not answer. A later request may succeed.
	Unanswered bool
	// Model is the judging model, as named by its provider, empty without a model.
	Model string
	// Asked is how the model was asked last (see llm.Manner), empty if as usual: with a
	// temperature, in JSON mode, and with max_tokens.
	Asked string
	// Attempts counts HTTP requests.
	Attempts int
	// Usage sums up the tokens of the requests. Cached replies have none.
	Usage llm.Usage
	// Cost is the charge for the judgement, lost attempts included.
	Cost llm.USD
	// Cached is set if all replies came from a cache. Saved is the original cost of the cached
	// replies.
	Cached bool
	Saved  llm.USD
	// Checks has the outcome of each of the item's checks in order, nil for other scorers.
	Checks []CheckResult
	// Recipes are the verdicts of a Panel in order, nil for other scorers. The verdict itself is
	// the first of them, but its Attempts, Usage, Cost, Cached and Saved cover all.
	Recipes []RecipeVerdict
	// Original is the verdict by the dataset's own reference if the answer was scored by a
	// corrected one (see NewDual). Attempts, Usage, Cost, Cached and Saved of this verdict then
	// include the original's.
	Original *Verdict
}

// Passed reports whether the answer was scored and passed.
func (v Verdict) Passed() bool {
	return v.Scored && v.Score >= PassMark
}

// unscored returns the cost of v without its judgement.
func (v Verdict) unscored() Verdict {
	return Verdict{Attempts: v.Attempts, Usage: v.Usage, Cost: v.Cost, Saved: v.Saved, Model: v.Model}
}

// spend adds the cost of another verdict on the same answer. The sum is cached if both are.
func (v *Verdict) spend(other Verdict) {
	v.Attempts += other.Attempts
	v.Usage = v.Usage.Plus(other.Usage)
	v.Cost = v.Cost.Plus(other.Cost)
	v.Saved = v.Saved.Plus(other.Saved)
	v.Cached = v.Cached && other.Cached
}

// Scorer scores answers. Implementations must be safe for concurrent use.
type Scorer interface {
	// Name is the scorer's name on the command line and in results.
	Name() string
	// Check returns an error if an item cannot be scored, whatever the answer. ErrNoGold means that
	// the item is left out; any other error is a mistake in the item.
	Check(Item) error
	// Score judges one answer. An error means that the run must stop, because the next item would
	// fail too. A problem with this answer alone gives an unscored verdict. A verdict returned with
	// an error still has Attempts and Cost.
	Score(ctx context.Context, item Item) (Verdict, error)
}
