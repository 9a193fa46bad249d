package report

import (
	"testing"

	"evalctl/harness/result"
)

func TestImportSummary(t *testing.T) {
	im := &result.ImportSource{Answers: 1, Unmatched: make([]result.UnmatchedAnswer, 1), Unanswered: []string{"a"}}
	want := ": 1 answer, 1 without a question, 1 question without an answer, 0 with another gold"
	if got := importSummary(im); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

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
