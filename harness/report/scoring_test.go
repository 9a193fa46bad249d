package report

import (
	"testing"

	"evalctl/harness/result"
)

func TestPassedText(t *testing.T) {
	for name, want := range map[string]string{
		"judge":     "a score of at least 0.5 by the judge",
		"exact":     "a score of at least 0.5, which is 1 if the answer contains an expected text, else 0",
		"retrieval": "a score of at least 0.5, which is the share of the expected documents among the first 7",
		"unheard":   "a score of at least 0.5",
	} {
		res := result.Result{Identity: result.Identity{Scorer: name, TopK: 7}}
		if got := passedText(&res); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	res := result.Result{Identity: result.Identity{Scorer: "retrieval", TopK: 7}, Gold: result.ByEvidence}
	if got, want := passedText(&res), "a score of at least 0.5, which is the share of the expected evidence that the first 7 passages have"; got != want {
		t.Errorf("by evidence: %q, want %q", got, want)
	}
}
