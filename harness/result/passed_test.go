package result

import (
	"testing"

	"evalctl/scorer"
)

func TestPassedText(t *testing.T) {
	for name, want := range map[string]string{
		"judge":     "a score of at least 0.5 by the judge",
		"exact":     "a score of at least 0.5, which is 1 if the answer contains an expected text, else 0",
		"retrieval": "a score of at least 0.5, which is the share of the expected documents among the first 7",
		"unheard":   "a score of at least 0.5",
	} {
		res := Result{Identity: Identity{Scorer: name, TopK: 7}}
		if got := res.PassedText(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	res := Result{Identity: Identity{Scorer: "retrieval", TopK: 7}, Gold: ByEvidence}
	if got, want := res.PassedText(), "a score of at least 0.5, which is the share of the expected evidence that the first 7 passages have"; got != want {
		t.Errorf("by evidence: %q, want %q", got, want)
	}
}

func TestRetrievedInstead(t *testing.T) {
	chunks := func(paths ...string) (out []Chunk) {
		for _, p := range paths {
			out = append(out, Chunk{Path: p})
		}
		return out
	}
	gold := func(ranks ...int) *QuestionRetrieval {
		q := &QuestionRetrieval{}
		for i, r := range ranks {
			q.Gold = append(q.Gold, scorer.Gold{Path: string(rune('x'+i)) + ".md", Rank: r, Gain: 1})
		}
		return q
	}
	for _, tt := range []struct {
		name string
		r    Record
		want string
	}{
		{"none of it", Record{Reply: Reply{Retrieval: gold(0), Retrieved: chunks("a.md", "a.md", "b.md", "c.md", "d.md")}}, "1 a.md, 2 b.md, 3 c.md"},
		{"some of it", Record{Reply: Reply{Retrieval: gold(2, 0), Retrieved: chunks("a.md", SeedRoot+"x.md", "b.md")}}, "1 a.md, 3 b.md"},
		{"by another path", Record{Reply: Reply{Retrieval: gold(1, 0), Retrieved: chunks("daemon/17", "b.md")}}, "2 b.md"},
		{"as a duplicate", Record{Reply: Reply{Retrieval: gold(2, 0), Retrieved: []Chunk{{Path: "a.md"}, {Path: "b.md", Duplicates: []string{"x.md"}}}}}, "1 a.md"},
		{"below top-k", Record{Reply: Reply{Retrieval: gold(9), Retrieved: chunks("a.md")}}, "1 a.md"},
		{"without paths", Record{Reply: Reply{Retrieval: gold(0), Retrieved: []Chunk{{DocumentID: "17"}, {Title: "T"}}}}, "1 17, 2 T"},
		{"nothing", Record{Reply: Reply{Retrieval: gold(0)}}, "nothing"},
		{"all of it", Record{Reply: Reply{Retrieval: gold(1), Retrieved: chunks("x.md", "b.md")}}, ""},
		{"passed", Record{Passed: true, Reply: Reply{Retrieval: gold(0), Retrieved: chunks("a.md")}}, ""},
		{"no gold", Record{Reply: Reply{Retrieval: gold(), Retrieved: chunks("a.md")}}, ""},
		{"not compared", Record{Reply: Reply{Retrieved: chunks("a.md")}}, ""},
	} {
		if got := tt.r.RetrievedInstead(4); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
