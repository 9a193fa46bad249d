package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestObservedThen(t *testing.T) {
	found, unknown, missing := Sighting{State: CanaryFound}, Sighting{State: CanaryUnknown}, Sighting{State: CanaryMissing}
	for _, tt := range []struct {
		name              string
		first, last, want Observed
	}{
		{name: "nothing"},
		{
			"missed first",
			Observed{Admission: &Admission{Before: missing, After: unknown, Held: new(0)}},
			Observed{Admission: &Admission{Before: found, After: found, Held: new(7)}},
			Observed{Admission: &Admission{Before: missing, After: found, Held: new(0)}},
		},
		{
			"missed last",
			Observed{Admission: &Admission{Before: found, After: unknown}},
			Observed{Admission: &Admission{Before: missing, After: missing, Held: new(7)}},
			Observed{Admission: &Admission{Before: missing, After: missing}},
		},
		{
			"no second look",
			Observed{Admission: &Admission{Before: unknown}, Mapped: &MappedService{Calls: map[string]int{"add": 1}}, Escaped: []string{"a"}}, Observed{},
			Observed{Admission: &Admission{Before: unknown}, Mapped: &MappedService{Calls: map[string]int{"add": 1}}, Escaped: []string{"a"}},
		},
		{
			"counts",
			Observed{Mapped: &MappedService{Calls: map[string]int{"add": 3, "search": 2}, ByText: 1, Findings: []string{"lost", "late"}, Noise: "noise"}},
			Observed{Mapped: &MappedService{Calls: map[string]int{"search": 4}, ByText: 2, Findings: []string{"late", "new"}}},
			Observed{Mapped: &MappedService{Calls: map[string]int{"add": 3, "search": 6}, ByText: 3, Findings: []string{"lost", "late", "new"}, Noise: "noise"}},
		},
		{"escaped", Observed{Escaped: []string{"a", "b"}}, Observed{Escaped: []string{"b", "c"}}, Observed{Escaped: []string{"a", "b", "c"}}},
		{"none escaped", Observed{}, Observed{Escaped: []string{}}, Observed{Escaped: []string{}}},
	} {
		if diff := cmp.Diff(tt.want, tt.first.Then(tt.last)); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}
