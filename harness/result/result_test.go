package result_test

import (
	"encoding/json"
	"strings"
	"testing"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/scorer"
)

func TestSummaryWithoutQuestions(t *testing.T) {
	const want = "ts: 0/0 pass_rate=n/a mean_score=n/a -> r.json"
	if got := wording.Summary(&result.Result{SDK: "ts"}, "r.json"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestWarningsKey checks the key of the warnings in result files, which readers depend on.
func TestWarningsKey(t *testing.T) {
	sum := aggregate.New(1)
	gold := result.Gold([]string{"raw/documents/a.md", "a.md", "b.md"}, nil)
	if len(gold) != 2 || gold[0].Path != "raw/documents/a.md" {
		t.Fatalf("got gold %+v", gold)
	}
	sum.Add(result.Record{
		Outcome: result.Scored, ExpectedPaths: []string{"a.md", "b.md"},
		Reply: result.Reply{Retrieval: &result.QuestionRetrieval{
			Documents: 1, Gold: scorer.Rank([]string{"x.md"}, gold),
		}},
	})
	var res result.Result
	sum.Fill(&res)
	sum.Judge(&res)
	data, err := json.Marshal(res.Retrieval)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"guards":[{"kind":"gold_never_found"`) {
		t.Errorf("got %s", data)
	}
}

func TestBelieved(t *testing.T) {
	wilson, clustered := &result.Interval{Method: result.MethodWilson}, &result.Interval{Method: result.MethodClustered}
	for want, res := range map[*result.Interval]result.Result{
		wilson:    {Interval: wilson},
		clustered: {Interval: wilson, Clustered: &result.ClusteredRate{Interval: clustered}},
		nil:       {Interval: wilson, Clustered: &result.ClusteredRate{}},
	} {
		if got := res.Believed(); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestEnds(t *testing.T) {
	if got := wording.Ends(&result.Interval{Low: 0.81162, High: 0.96845}); got != "0.812–0.968" {
		t.Errorf("got %q", got)
	}
	if got := wording.Ends((*result.Interval)(nil)); got != "–" {
		t.Errorf("got %q", got)
	}
}
