package result_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"evalctl/harness/result"
	"evalctl/scorer"
)

func Example() {
	a := result.NewAggregate(5)
	for _, r := range []result.Record{
		{ID: "q1", Outcome: result.Scored, Score: new(1.0), Passed: true, LatencyMS: 20},
		{ID: "q2", Outcome: result.Scored, Score: new(0.5), LatencyMS: 40},
		{ID: "q3", Outcome: result.Errored},
	} {
		a.Add(r)
	}

	res := result.Result{SDK: "go"}
	res.SetAggregate(a)
	fmt.Println(res.Summary("results/go.json"))
	fmt.Println(*res.Latency.P50, "ms")
	// Output:
	// go: 1/3 pass_rate=0.333 mean_score=0.750 -> results/go.json
	// 30 ms
}

// TestWarningsKey checks the key of the warnings in result files, which readers depend on.
func TestWarningsKey(t *testing.T) {
	a := result.NewAggregate(1)
	gold := result.Gold([]string{"raw/documents/a.md", "a.md", "b.md"})
	if len(gold) != 2 || gold[0].Path != "raw/documents/a.md" {
		t.Fatalf("got gold %+v", gold)
	}
	a.Add(result.Record{
		Outcome: result.Scored, ExpectedPaths: []string{"a.md", "b.md"},
		Retrieval: &result.QuestionRetrieval{
			Documents: 1, Gold: scorer.Rank([]string{"x.md"}, gold),
		},
	})
	var res result.Result
	res.SetAggregate(a)
	data, err := json.Marshal(res.Retrieval)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"guards":[{"kind":"gold_never_found"`) {
		t.Errorf("got %s", data)
	}
}
