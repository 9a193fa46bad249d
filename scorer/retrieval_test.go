package scorer

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestRetrieval(t *testing.T) {
	for _, c := range []struct {
		name   string
		ranks  []int
		topK   int
		want   float64
		passed bool
	}{
		{"found", []int{1}, 5, 1, true},
		{"half is enough", []int{2, 0}, 5, 0.5, true},
		{"too little", []int{2, 0, 0}, 5, 1.0 / 3, false},
		{"below the top", []int{6}, 5, 0, false},
		{"at the edge of the top", []int{5}, 5, 1, true},
		{"not found", []int{0, 0}, 1, 0, false},
	} {
		item := Item{ID: "q", Answer: "of no matter"}
		for i, rank := range c.ranks {
			item.Gold = append(item.Gold, Gold{Path: string(rune('a' + i)), Gain: 1, Rank: rank})
		}
		v, err := Retrieval{TopK: c.topK}.Score(t.Context(), item)
		if err != nil || !v.Scored || v.Score != c.want || v.Passed() != c.passed || v.Attempts != 0 {
			t.Errorf("%s: got %+v, %v", c.name, v, err)
		}
	}
	v, _ := Retrieval{TopK: 3}.Score(t.Context(), Item{Gold: Ranking{{"a", 1, 3}, {"b", 1, 4}}})
	if want := "1 of 2 gold documents in the top 3"; v.Reason != want {
		t.Errorf("got %q, want %q", v.Reason, want)
	}
}

func TestRetrievalRefuses(t *testing.T) {
	s := Retrieval{TopK: 5}
	for _, c := range []struct {
		gold   Ranking
		noGold bool
		want   string
	}{
		{nil, true, "expected_paths"},
		{Ranking{{"a.md", 1, 0}, {"", 1, 0}}, false, "expected_paths[1] is empty"},
		{Ranking{{"a.md", 0, 0}}, false, "the gain of a.md is 0"},
		{Ranking{{"a.md", math.NaN(), 0}}, false, "the gain of a.md"},
		{Ranking{{"a.md", math.Inf(1), 0}}, false, "the gain of a.md"},
	} {
		item := Item{ID: "q7", Gold: c.gold}
		err := s.Check(item)
		if err == nil || errors.Is(err, ErrNoGold) != c.noGold || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `"q7"`) {
			t.Errorf("%v: got %v", c.gold, err)
		}
		if v, err := s.Score(t.Context(), item); err == nil || v.Scored {
			t.Errorf("%v: scored %+v", c.gold, v)
		}
	}
}

// TestRetrievalByEvidence checks that one kind of gold scores, whatever else an item has.
func TestRetrievalByEvidence(t *testing.T) {
	item := Item{Gold: Ranking{{"a", 1, 1}}, Evidence: EvidenceRanking([]int{2, 0, 0})}
	for _, c := range []struct {
		scorer Retrieval
		want   float64
		reason string
	}{
		{Retrieval{TopK: 5}, 1, "1 of 1 gold documents in the top 5"},
		{Retrieval{TopK: 5, Evidence: true}, 1. / 3, "1 of 3 pieces of evidence in the top 5 passages"},
		{Retrieval{TopK: 1, Evidence: true}, 0, "0 of 3 pieces of evidence in the top 1 passages"},
	} {
		v, err := c.scorer.Score(t.Context(), item)
		if err != nil || v.Score != c.want || v.Reason != c.reason {
			t.Errorf("%+v: %+v, %v", c.scorer, v, err)
		}
	}
	if err := (Retrieval{TopK: 5, Evidence: true}).Check(Item{Gold: item.Gold}); !errors.Is(err, ErrNoGold) {
		t.Errorf("without evidence: %v", err)
	}
	if err := (Retrieval{TopK: 5}).Check(Item{Evidence: item.Evidence}); !errors.Is(err, ErrNoGold) {
		t.Errorf("without paths: %v", err)
	}
}
