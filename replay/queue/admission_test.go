package queue

import (
	"testing"

	"evalctl/harness/result"
)

// TestJoinAdmissions checks that one daemon which finds nothing is enough to doubt all, and that one
// which was not asked is not.
func TestJoinAdmissions(t *testing.T) {
	seen := func(states ...result.SightingState) (all []result.Admission) {
		for _, s := range states {
			all = append(all, result.Admission{Brain: result.CanaryAlone, Before: result.Sighting{State: s}, After: result.Sighting{State: result.CanaryUnknown}})
		}
		return all
	}
	if got := joinAdmissions(nil); got != nil {
		t.Errorf("none: %+v", got)
	}
	for want, all := range map[result.SightingState][]result.Admission{
		result.CanaryFound:   seen(result.CanaryFound, result.CanaryUnknown, result.CanaryFound),
		result.CanaryMissing: seen(result.CanaryUnknown, result.CanaryFound, result.CanaryMissing, result.CanaryFound),
		result.CanaryUnknown: seen(result.CanaryUnknown, result.CanaryUnknown),
	} {
		if got := joinAdmissions(all); got.Before.State != want || got.After.State != result.CanaryUnknown || got.Brain != result.CanaryAlone {
			t.Errorf("want %s, got %+v", want, got)
		}
	}
	among := append(seen(result.CanaryFound), result.Admission{Brain: result.CanaryAmong})
	if got := joinAdmissions(among); got.Brain != result.CanaryAmong {
		t.Errorf("among the corpus: %+v", got)
	}
}
