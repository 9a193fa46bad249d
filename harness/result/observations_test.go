package result

import (
	"fmt"
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
		{
			"requests",
			Observations{ModelRequests: &ModelRequests{
				Ingest: RequestCount{Made: 4}, Answers: RequestCount{Made: 9, Failed: 2}, WithoutModel: 1, SinceResumed: true,
				Refused: []RefusedRequests{{Path: PathCompletions, Status: 402, Requests: 2}},
			}},
			Observations{ModelRequests: &ModelRequests{
				Answers: RequestCount{Made: 1, Failed: 1}, WithoutModel: 1,
				Refused: []RefusedRequests{{Path: "/v1/messages", Status: 404, Requests: 7}, {Path: PathCompletions, Status: 402, Requests: 1}},
			}},
			Observations{ModelRequests: &ModelRequests{
				Ingest: RequestCount{Made: 4}, Answers: RequestCount{Made: 10, Failed: 3}, WithoutModel: 2, SinceResumed: true,
				Refused: []RefusedRequests{{Path: "/v1/messages", Status: 404, Requests: 7}, {Path: PathCompletions, Status: 402, Requests: 3}},
				Silent:  []GeneratedKind{},
			}},
		},
		{"no requests later", Observations{ModelRequests: &ModelRequests{WithoutModel: 1}}, Observations{}, Observations{ModelRequests: &ModelRequests{WithoutModel: 1}}},
		{"escaped", Observations{Escaped: []string{"a", "b"}}, Observations{Escaped: []string{"b", "c"}}, Observations{Escaped: []string{"a", "b", "c"}}},
		{"none escaped", Observations{}, Observations{Escaped: []string{}}, Observations{Escaped: []string{}}},
	} {
		if diff := cmp.Diff(tt.want, tt.first.Then(tt.last)); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}

// TestManyRefusedPaths: a run that is resumed often, with other paths each time, has a result that
// the schema allows. No refused request is lost.
func TestManyRefusedPaths(t *testing.T) {
	var sum ModelRequests
	for part := range 10 {
		var m ModelRequests
		for i := range 20 {
			m.Refused = append(m.Refused, RefusedRequests{Path: fmt.Sprintf("/%d/%d", part, i), Status: 404 + i%2, Requests: 1 + part})
		}
		sum = sum.Plus(m)
	}
	requests := 0
	for _, r := range sum.Refused {
		requests += r.Requests
	}
	if len(sum.Refused) > maxRefused || requests != 20*55 || sum.Refused[0].Path != "" {
		t.Errorf("%d requests in %+v", requests, sum.Refused)
	}
}
