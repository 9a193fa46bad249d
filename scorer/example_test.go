package scorer_test

import (
	"fmt"

	"evalctl/scorer"
)

func ExampleRank() {
	documents := scorer.Documents([]scorer.Hit{{Path: "b.md", Score: 3}, {Path: "b.md", Score: 2}, {Path: "a.md", Score: 1}})
	r := scorer.Rank(documents, []scorer.Gold{{Path: "a.md", Gain: 1}, {Path: "c.md", Gain: 1}})
	fmt.Printf("recall@5 %.2f  MRR %.2f  nDCG@5 %.3f\n", r.RecallAt(5), r.ReciprocalRank(), r.NDCGAt(5))
	// Output: recall@5 0.50  MRR 0.50  nDCG@5 0.387
}
