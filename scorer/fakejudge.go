package scorer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evalctl/internal/llm"
	"evalctl/internal/prose"
)

// fakeReply returns the offline judge's reply.
func (p Prompts) fakeReply(item Item) string {
	verdict := fakeVerdict
	if p.offline != nil {
		verdict = p.offline
	}
	score, reason := verdict(item)
	if p.Labels != nil {
		return p.Labels.reply(score >= PassMark)
	}
	return fmt.Sprintf(`{"score": %.2f, "reason": %q}`, score, reason)
}

// overlap returns the share of the reference's distinct terms in the candidate, rounded to two
// decimals. An abstention matches only another abstention.
func overlap(reference, candidate string) (score float64, reason string) {
	switch refAbstains, candAbstains := abstains(reference), abstains(candidate); {
	case refAbstains && candAbstains:
		return 1, "both abstain"
	case refAbstains:
		return 0, "the reference abstains, the candidate answers"
	case candAbstains:
		return 0, "the candidate abstains, the reference answers"
	}
	want := llm.Terms(reference)
	if len(want) == 0 {
		return 0, "the reference has no words"
	}
	have := llm.Terms(candidate)
	found := 0
	for t := range want {
		if have[t] {
			found++
		}
	}
	share := float64(found) / float64(len(want))
	return math.Round(share*100) / 100, fmt.Sprintf("%d of %d reference words found", found, len(want))
}

// abstains reports whether an answer declines. It reads only the first sentence, since an answer
// may go on to quote somebody who does not know.
func abstains(s string) bool {
	for first := range prose.Split(strings.ReplaceAll(s, "’", "'")) {
		first = strings.ToLower(first)
		return slices.ContainsFunc(abstentions, func(phrase string) bool { return strings.Contains(first, phrase) })
	}
	return false
}

var abstentions = []string{
	"i don't know", "i do not know", "do not say", "does not say", "don't say", "doesn't say",
	"not mentioned", "not recorded", "not stated", "not specified", "no information",
	"cannot be determined", "can't be determined", "cannot answer", "can't answer", "unanswerable",
}
