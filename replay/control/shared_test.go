package control

import (
	"path/filepath"
	"testing"

	"evalctl/internal/llm"
	"evalctl/internal/sharedtest"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// TestBenchmarks: the items from real questions are judged as they are known by the offline judge
// and, for what it was made for, by the exact scorer.
func TestBenchmarks(t *testing.T) {
	for _, name := range []string{"locomo/locomo5.json", "longmemeval/lme_mini.json", "longmemeval/longmemeval_s_3.json"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			b, err := source.Open(t.Context(), sharedtest.Path(t, name), source.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			for seed := range uint64(10) {
				items := Items(b.Questions, seed)
				right, wrong, kinds := counts(items)
				if seed == 0 {
					t.Logf("%d questions: %d right, %d wrong, %v", len(b.Questions), right, wrong, kinds)
				}
				if wrong < Wanted || right < min(Wanted, len(b.Questions)-1) {
					t.Errorf("seed %d: %d right and %d wrong items", seed, right, wrong)
				}
				for _, s := range []scorer.Scorer{newJudge(t, llm.NewFake(), llm.FakeModel), scorer.Exact{}} {
					if c := check(t, s, items); !c.Valid() {
						t.Errorf("%s, seed %d: %+v", s.Name(), seed, c.Failed)
					}
				}
			}
		})
	}
}
