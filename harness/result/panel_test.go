package result_test

import (
	"testing"

	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/scorer"
)

// TestGradedPanel grades an answer by a panel. A condition that the answer breaks fails it by every
// recipe, and a recipe without a verdict has no score.
func TestGradedPanel(t *testing.T) {
	pass := scorer.Verdict{Scored: true, Score: 1, Reason: "same"}
	v := pass
	v.Recipes = []scorer.RecipeVerdict{{Recipe: "a", Verdict: pass}, {Recipe: "b", Verdict: scorer.Verdict{Reason: "no reply"}}}
	r := result.Record{ID: "q", Outcome: result.Unscored}.Graded(v)
	if len(r.Panel) != 2 || !r.Panel[0].Passed || *r.Panel[0].Score != 1 || r.Panel[1].Score != nil || r.Panel[1].Passed || r.Panel[1].Reason != "no reply" {
		t.Errorf("%+v", r.Panel)
	}
	if got, want := wording.RecipeVerdicts(&r), "a passed, b no verdict"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	leaked := result.Record{ID: "q", Outcome: result.Unscored, Reply: result.Reply{Leaks: []result.Leak{{Text: "secret", Place: "answer", At: "answer"}}}}.Graded(v)
	if leaked.Passed || leaked.Panel[0].Passed || *leaked.Panel[0].Score != 0 {
		t.Errorf("an answer with a leak: %+v", leaked.Panel)
	}
}
