package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestObservedThen(t *testing.T) {
	found, unknown, missing := Sighting{State: CanaryFound}, Sighting{State: CanaryUnknown}, Sighting{State: CanaryMissing}
	for _, tt := range []struct {
		name              string
		first, last, want Observations
	}{
		{name: "nothing"},
		{
			"missed first",
			Observations{Admission: &Admission{Before: missing, After: unknown, Held: new(0)}},
			Observations{Admission: &Admission{Before: found, After: found, Held: new(7)}},
			Observations{Admission: &Admission{Before: missing, After: found, Held: new(0)}},
		},
		{
			"missed last",
			Observations{Admission: &Admission{Before: found, After: unknown}},
			Observations{Admission: &Admission{Before: missing, After: missing, Held: new(7)}},
			Observations{Admission: &Admission{Before: missing, After: missing}},
		},
		{
			"no second look",
			Observations{Admission: &Admission{Before: unknown}, Mapped: &MappedService{Calls: map[string]int{"add": 1}}, Escaped: []string{"a"}}, Observations{},
			Observations{Admission: &Admission{Before: unknown}, Mapped: &MappedService{Calls: map[string]int{"add": 1}}, Escaped: []string{"a"}},
		},
		{
			"counts",
			Observations{Mapped: &MappedService{Calls: map[string]int{"add": 3, "search": 2}, ByText: 1, Findings: []string{"lost", "late"}, Noise: "noise"}},
			Observations{Mapped: &MappedService{Calls: map[string]int{"search": 4}, ByText: 2, Findings: []string{"late", "new"}}},
			Observations{Mapped: &MappedService{Calls: map[string]int{"add": 3, "search": 6}, ByText: 3, Findings: []string{"lost", "late", "new"}, Noise: "noise"}},
		},
		{"escaped", Observations{Escaped: []string{"a", "b"}}, Observations{Escaped: []string{"b", "c"}}, Observations{Escaped: []string{"a", "b", "c"}}},
		{"none escaped", Observations{}, Observations{Escaped: []string{}}, Observations{Escaped: []string{}}},
	} {
		if diff := cmp.Diff(tt.want, tt.first.Then(tt.last)); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}
