package result

import (
	"cmp"
	"maps"
	"slices"
)

// Observations are what a run observes of its target besides the answers. Its parts are as in Result.
type Observations struct {
	Admission *Admission     `json:"admission,omitempty"`
	Mapped    *MappedService `json:"mapped,omitempty"`
	Escaped   []string       `json:"escaped_processes,omitzero"`
	// ModelRequests are as in Cost.
	ModelRequests *ModelRequests `json:"model_requests,omitempty"`
}

// Then returns the observations of a run whose earlier parts have observed o, and whose last part
// has observed last. Counts are added, and nothing bad that was seen is forgotten.
func (o Observations) Then(last Observations) Observations {
	return Observations{
		Admission: o.Admission.then(last.Admission), Mapped: o.Mapped.then(last.Mapped), Escaped: joined(o.Escaped, last.Escaped),
		ModelRequests: o.ModelRequests.then(last.ModelRequests),
	}
}

// then joins the admissions of two parts of a run. The second part's count of texts would have those
// that the first part has written.
func (a *Admission) then(last *Admission) *Admission {
	if a == nil || last == nil {
		return cmp.Or(a, last)
	}
	all := *last
	all.Held = a.Held
	if a.Before.worse(last.Before) {
		all.Before = a.Before
	}
	return &all
}

// worse reports whether a sighting says more against the target than another one.
func (s Sighting) worse(than Sighting) bool {
	rank := []SightingState{CanaryFound, CanaryUnknown, CanaryMissing}
	return slices.Index(rank, s.State) > slices.Index(rank, than.State)
}

func (m *MappedService) then(last *MappedService) *MappedService {
	if m == nil || last == nil {
		return cmp.Or(m, last)
	}
	all := *last
	all.Calls = maps.Clone(m.Calls)
	if all.Calls == nil {
		all.Calls = map[string]int{}
	}
	for call, n := range last.Calls {
		all.Calls[call] += n
	}
	all.ByText += m.ByText
	all.Findings = joined(m.Findings, last.Findings)
	if m.Noise != "" {
		all.Noise = m.Noise
	}
	return &all
}

func (m *ModelRequests) then(last *ModelRequests) *ModelRequests {
	if m == nil || last == nil {
		return cmp.Or(m, last)
	}
	return new(m.Plus(*last))
}

// joined returns the texts of both lists, each once. It is nil if both are.
func joined(a, last []string) []string {
	out := slices.Concat(a, last)
	if out == nil && (a != nil || last != nil) {
		out = []string{}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(s string) bool {
		again := seen[s]
		seen[s] = true
		return again
	})
}
