package report

import (
	"testing"

	"evalctl/harness/result"
	"evalctl/scorer"
)

func TestRetrievedInstead(t *testing.T) {
	chunks := func(paths ...string) (out []result.Chunk) {
		for _, p := range paths {
			out = append(out, result.Chunk{Path: p})
		}
		return out
	}
	gold := func(ranks ...int) *result.QuestionRetrieval {
		q := &result.QuestionRetrieval{}
		for i, r := range ranks {
			q.Gold = append(q.Gold, scorer.Gold{Path: string(rune('x'+i)) + ".md", Rank: r, Gain: 1})
		}
		return q
	}
	for _, tt := range []struct {
		name string
		r    result.Record
		want string
	}{
		{"none of it", result.Record{Reply: result.Reply{Retrieval: gold(0), Retrieved: chunks("a.md", "a.md", "b.md", "c.md", "d.md")}}, "1 a.md, 2 b.md, 3 c.md"},
		{"some of it", result.Record{Reply: result.Reply{Retrieval: gold(2, 0), Retrieved: chunks("a.md", result.SeedRoot+"x.md", "b.md")}}, "1 a.md, 3 b.md"},
		{"by another path", result.Record{Reply: result.Reply{Retrieval: gold(1, 0), Retrieved: chunks("daemon/17", "b.md")}}, "2 b.md"},
		{"as a duplicate", result.Record{Reply: result.Reply{Retrieval: gold(2, 0), Retrieved: []result.Chunk{{Path: "a.md"}, {Path: "b.md", Duplicates: []string{"x.md"}}}}}, "1 a.md"},
		{"below top-k", result.Record{Reply: result.Reply{Retrieval: gold(9), Retrieved: chunks("a.md")}}, "1 a.md"},
		{"without paths", result.Record{Reply: result.Reply{Retrieval: gold(0), Retrieved: []result.Chunk{{DocumentID: "17"}, {Title: "T"}}}}, "1 17, 2 T"},
		{"nothing", result.Record{Reply: result.Reply{Retrieval: gold(0)}}, "nothing"},
		{"all of it", result.Record{Reply: result.Reply{Retrieval: gold(1), Retrieved: chunks("x.md", "b.md")}}, ""},
		{"passed", result.Record{Passed: true, Reply: result.Reply{Retrieval: gold(0), Retrieved: chunks("a.md")}}, ""},
		{"no gold", result.Record{Reply: result.Reply{Retrieval: gold(), Retrieved: chunks("a.md")}}, ""},
		{"not compared", result.Record{Reply: result.Reply{Retrieved: chunks("a.md")}}, ""},
	} {
		if got := retrievedInstead(&tt.r, 4); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestWanted checks that a question shows what its scorer compares, or else what it has.
func TestWanted(t *testing.T) {
	r := result.Record{Reference: "A lamp.", Expected: []string{"lamp", "light"}, ExpectedPaths: []string{"a.md", "b.md"}}
	for scorer, want := range map[string]string{
		"judge": "A lamp.", "exact": "lamp | light", "retrieval": "a.md | b.md", "of somebody else": "A lamp.",
	} {
		if got := wantedText(&r, scorer); got != want {
			t.Errorf("%s: %s, want %s", scorer, got, want)
		}
	}
	r.Reference, r.Expected = "", nil
	if got := wantedText(&r, "exact"); got != "a.md | b.md" {
		t.Errorf("of a question with gold alone: %s", got)
	}
}

func TestGoldRanks(t *testing.T) {
	var r result.Record
	if got := ranksOfGold(&r); got != "" {
		t.Errorf("without a ranking: %q", got)
	}
	r.Retrieval = &result.QuestionRetrieval{Gold: []scorer.Gold{{Path: "a.md", Rank: 2}, {Path: "b.md"}}}
	if got := ranksOfGold(&r); got != "rank 2, not retrieved" {
		t.Errorf("got %q", got)
	}
}
