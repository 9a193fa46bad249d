package report

import (
	"testing"

	"evalctl/harness/result"
	"evalctl/scorer"
)

func TestBlame(t *testing.T) {
	failed := func(ranks ...int) result.Record {
		r := result.Record{Outcome: result.Scored, Reply: result.Reply{Retrieval: &result.QuestionRetrieval{}}}
		for _, rank := range ranks {
			r.ExpectedPaths = append(r.ExpectedPaths, "a.md")
			r.Retrieval.Gold = append(r.Retrieval.Gold, scorer.Gold{Path: "a.md", Gain: 1, Rank: rank})
		}
		return r
	}
	for _, tt := range []struct {
		r           result.Record
		ask, noRead string
	}{
		{result.Record{Outcome: result.Scored}, "", ""},
		{failed(0), "  gold not retrieved → retrieval", "  gold not retrieved → retrieval"},
		{failed(3, 0), "  1 of 2 gold retrieved → retrieval", "  1 of 2 gold retrieved → retrieval"},
		{failed(3, 2), "  gold at rank 2 → reader", "  gold at rank 2"},
	} {
		for name, want := range map[result.Scenario]string{result.AskBasic: tt.ask, result.SearchOnly: tt.noRead} {
			if got := blame(result.Identity{Scenario: name, TopK: 5}, tt.r); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
	}
}
