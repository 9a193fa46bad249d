package result_test

import (
	"testing"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// TestGradedOriginal: a verdict by the reference of the dataset is kept beside the one by the
// corrected reference, and an unscored one has no score.
func TestGradedOriginal(t *testing.T) {
	r := result.Record{ID: "q", JudgeType: scorer.TypeTemporal, Repeat: 3}
	if r.Item().Type != scorer.TypeTemporal || r.Item().Repeat != 3 {
		t.Errorf("got %+v", r.Item())
	}
	if g := r.Graded(scorer.Verdict{Score: 1, Scored: true}); g.Original != nil {
		t.Errorf("got %+v", g.Original)
	}
	if g := r.Graded(scorer.Verdict{Cached: true, Saved: 3, Asked: "temperature=none"}); !g.JudgeCached || g.JudgeSavedUSD != 3 ||
		g.JudgeAsked != "temperature=none" || g.JudgeAgain().JudgeAsked != "" {
		t.Errorf("got %+v", g)
	}
	old := scorer.Verdict{Score: 0.75, Scored: true, Reason: "old", Cost: 2}
	g := r.Graded(scorer.Verdict{Scored: true, Cost: 5, Original: &old})
	if o := g.Original; g.Passed || o == nil || !o.Passed || o.Score == nil || *o.Score != 0.75 || o.Reason != "old" || o.USD != 2 || g.JudgeUSD != 5 {
		t.Errorf("got %+v", g.Original)
	}
	g = r.Graded(scorer.Verdict{Score: 1, Scored: true, Original: &scorer.Verdict{Reason: "cut"}})
	if o := g.Original; !g.Passed || o == nil || o.Passed || o.Score != nil || o.Reason != "cut" {
		t.Errorf("got %+v", g.Original)
	}
}

// TestUnscoredSaysWhy checks that no question is without a verdict and a reason.
func TestUnscoredSaysWhy(t *testing.T) {
	r := result.Record{Outcome: result.Unscored}
	if got := r.Graded(scorer.Verdict{}); got.Outcome != result.Unscored || got.Reason == "" {
		t.Errorf("%+v", got)
	}
	if got := r.Graded(scorer.Verdict{Reason: "no key"}); got.Reason != "no key" {
		t.Errorf("%+v", got)
	}
}
