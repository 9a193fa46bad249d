package result

import "testing"

// TestJoinAdmissions checks that one daemon which finds nothing is enough to doubt all, and that one
// which was not asked is not.
func TestJoinAdmissions(t *testing.T) {
	seen := func(states ...SightingState) (all []Admission) {
		for _, s := range states {
			all = append(all, Admission{Brain: CanaryAlone, Before: Sighting{State: s}, After: Sighting{State: CanaryUnknown}})
		}
		return all
	}
	if got := JoinAdmissions(nil); got != nil {
		t.Errorf("none: %+v", got)
	}
	for want, all := range map[SightingState][]Admission{
		CanaryFound:   seen(CanaryFound, CanaryUnknown, CanaryFound),
		CanaryMissing: seen(CanaryUnknown, CanaryFound, CanaryMissing, CanaryFound),
		CanaryUnknown: seen(CanaryUnknown, CanaryUnknown),
	} {
		if got := JoinAdmissions(all); got.Before.State != want || got.After.State != CanaryUnknown || got.Brain != CanaryAlone {
			t.Errorf("want %s, got %+v", want, got)
		}
	}
	among := append(seen(CanaryFound), Admission{Brain: CanaryAmong})
	if got := JoinAdmissions(among); got.Brain != CanaryAmong {
		t.Errorf("among the corpus: %+v", got)
	}
}
