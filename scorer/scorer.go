// Package scorer scores answers: by expected substrings, by the judgement of a language model, or
// by the ranks of the documents that contain the answer among those that were retrieved. Ranking
// has the retrieval measures.
package scorer

import (
	"context"

	"evalctl/internal/llm"
)

// PassMark is the lowest score that passes (spec 4.4).
const PassMark = 0.5

// Item is a question, what is known about its answer, and the answer to score.
type Item struct {
	ID       string
	Question string
	// QuestionDate is when the question is asked, in RFC 3339, or empty.
	QuestionDate string
	// Expected contains substrings, any of which makes the answer correct.
	Expected []string
	// Reference is a model answer.
	Reference string
	// Gold contains the documents that hold the answer, with their ranks once it is known what was
	// retrieved.
	Gold Ranking
	// Evidence contains the texts that returned passages must have, without paths, and with the ranks
	// of the passages once it is known what was retrieved.
	Evidence Ranking
	// Type selects the prompts of a judge that has several (see NewTyped): one of Types, or empty for
	// TypeStandard. Other scorers ignore it.
	Type string
	// Category is the type of the question in its benchmark, such as multi-hop, empty for none. It
	// matters to TokenF1.
	Category string
	// Checks are conditions on the answer.
	Checks []Check
	// Answer is the answer to score.
	Answer string
	// Repeat counts the times that the question was asked, from 1; 0 if it is asked once. A judge is
	// asked again for each.
	Repeat int
	// LatencyMS is how long the answer took, in milliseconds, nil if it is not known.
	LatencyMS *float64
	// Cited and Retrieved are the documents that the answer cites, and those of all passages that were
	// retrieved for it.
	Cited, Retrieved []Document
}

// insteadOf returns the scorer to use for an item that lacks what another one needs: the usual one,
// unless the item has gold and not what the usual one needs.
func (i Item) insteadOf(usual string, usable bool) string {
	if !usable && len(i.Gold)+len(i.Evidence) > 0 {
		return Retrieval{}.Name()
	}
	return usual
}

// Verdict is the outcome for one answer.
type Verdict struct {
	// Score is from 0 to 1 and has no meaning unless Scored.
	Score float64
	// Scored is false if there is no usable judgement; Reason then says why.
	Scored bool
	// Reason is an explanation in the scorer's words. The answer may have influenced a judge's
	// words: show them, but do not act on them.
	Reason string
	// Unanswered is set if there is no judgement because the model's provider did not answer, which
	// another request might change.
	Unanswered bool
	// Model is the model that judged, as its provider names it. It is empty without a model.
	Model string
	// Asked is how the model was asked last (see llm.Manner), if not as usual: with a temperature, in
	// JSON mode, and with max_tokens.
	Asked string
	// Attempts counts HTTP requests.
	Attempts int
	// Usage is the sum of the tokens of the judgement's requests. Replies from a cache have none.
	Usage llm.Usage
	// Cost is what the judgement was charged, lost attempts included.
	Cost llm.USD
	// Cached is set if all replies of the judgement came from a cache. Saved is what those that did
	// would have cost.
	Cached bool
	Saved  llm.USD
	// Checks has the outcome of each check of the item, in order, and is nil for other scorers.
	Checks []CheckResult
	// Recipes are the verdicts of a Panel, in its order, and nil for other scorers. The verdict itself is
	// the first of them; Attempts, Usage, Cost, Cached and Saved are those of all.
	Recipes []RecipeVerdict
	// Original is the verdict by the reference that the dataset has, if the answer was scored by a
	// corrected one (see NewDual). Attempts, Usage, Cost, Cached and Saved of this verdict then
	// include its own.
	Original *Verdict
}

// Passed reports whether the answer was scored and passed.
func (v Verdict) Passed() bool {
	return v.Scored && v.Score >= PassMark
}

// unscored returns what v cost, without its judgement.
func (v Verdict) unscored() Verdict {
	return Verdict{Attempts: v.Attempts, Usage: v.Usage, Cost: v.Cost, Saved: v.Saved, Model: v.Model}
}

// spend adds what another verdict on the same answer has used. The sum is cached if both are.
func (v *Verdict) spend(other Verdict) {
	v.Attempts += other.Attempts
	v.Usage = v.Usage.Plus(other.Usage)
	v.Cost = v.Cost.Plus(other.Cost)
	v.Saved = v.Saved.Plus(other.Saved)
	v.Cached = v.Cached && other.Cached
}

// Scorer scores answers. Implementations are safe for concurrent use.
type Scorer interface {
	// Name is the scorer's name on the command line and in results.
	Name() string
	// Check returns an error if an item cannot be scored, whatever its answer. ErrNoGold means that
	// the item is to be left out; any other error is a mistake in the item.
	Check(Item) error
	// Score judges one answer. An error means that the run must stop, because the next item would
	// fail as well. A problem with this answer alone is an unscored verdict. The verdict that is
	// returned with an error still contains Attempts and Cost.
	Score(ctx context.Context, item Item) (Verdict, error)
}
