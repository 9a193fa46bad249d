package aggregate_test

import (
	"testing"

	"pgregory.net/rapid"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
)

// TestUnreachableFloor: a run that its failures stopped fails if it would fail even if all
// questions that are left passed, in every mode of the floor. Otherwise it is inconclusive.
func TestUnreachableFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		passed, failed := rapid.IntRange(0, 30).Draw(t, "passed"), rapid.IntRange(1, 10).Draw(t, "failed")
		left := rapid.IntRange(1, 60).Draw(t, "left")
		floor := float64(rapid.IntRange(0, 100).Draw(t, "floor")) / 100
		mode := rapid.SampledFrom([]result.FloorMode{
			"", result.FloorPoint, result.FloorProven, result.FloorNotRefuted}).Draw(t, "mode")
		all, _ := result.ParseAllowance("100%")
		gate := func(passed int, stopped result.Stop) result.Gate {
			sum := aggregate.New(5)
			for i := range passed + failed {
				sum.Add(scored("", i < passed))
			}
			r := result.Result{Stopped: stopped, Planned: passed + failed + left, Settings: result.Settings{
				Floor: floor, FloorMode: mode, MaxErrors: all, MaxUnscored: all}}
			sum.Fill(&r)
			sum.Judge(&r)
			return *r.Gate
		}
		best, got := gate(passed+left, ""), gate(passed, result.StopMaxFailures)
		want := result.Inconclusive
		if best.Verdict == result.Fail {
			want = result.Fail
		}
		if got.Verdict != want || got.Stopped != result.StopMaxFailures || got.Proof != nil {
			t.Fatalf("at best %s, got %+v", best.Verdict, got)
		}
	})
}

func TestUnreachableSentence(t *testing.T) {
	r := finished(8, 6, 0, 0, 0)
	r.Stopped, r.Planned = result.StopMaxFailures, 50
	const want = "stopped after 14 of 50 questions, of which 6 did not pass: even if all others passed, " +
		"44/50 would miss the floor 0.9 (needs 45)"
	if got := judge(r, 0.9, allowance(t, "0")).Sentence; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
