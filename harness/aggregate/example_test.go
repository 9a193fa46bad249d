package aggregate_test

import (
	"fmt"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/harness/wording"
)

func Example() {
	sum := aggregate.New(5)
	for _, r := range []result.Record{
		{ID: "q1", Outcome: result.Scored, Score: new(1.0), Passed: true, Reply: result.Reply{LatencyMS: 20}},
		{ID: "q2", Outcome: result.Scored, Score: new(0.5), Reply: result.Reply{LatencyMS: 40}},
		{ID: "q3", Outcome: result.Errored},
	} {
		sum.Add(r)
	}

	res := result.Result{SDK: "go", Settings: result.Settings{Floor: 0.5}}
	sum.Fill(&res)
	sum.Judge(&res)
	fmt.Println(wording.Summary(&res, "results/go.json"))
	fmt.Println(res.Latency.N, "answers,", res.Gate.Verdict, res.Gate.Reason)
	// Output:
	// go: 1/3 pass_rate=0.333 mean_score=0.750 -> results/go.json
	// 2 answers, invalid lost
}
