package result

import (
	"fmt"
	"slices"

	"evalctl/internal/figure"
)

// Admission is what a run saw of its target besides the questions: whether a canary, a text of
// evalctl's own, is found, and what there was before the run wrote anything.
type Admission struct {
	// Brain says where the canary was written: CanaryAlone or CanaryAmong.
	Brain string `json:"brain"`
	// Before and After say whether the canary was found before the first question and after the last.
	Before Sighting `json:"before"`
	After  Sighting `json:"after"`
	// Held is how many texts searches found at the least before the run wrote any, nil if none was
	// looked for or a search failed.
	Held *int `json:"held,omitempty"`
}

// Where a canary was written.
const (
	CanaryAlone = "own"    // in a brain of its own
	CanaryAmong = "corpus" // in the first brain of the run
)

// Sighting is the outcome of a search for the canary.
type Sighting struct {
	State SightingState `json:"state"`
	// Problem says why the canary could not be written or looked for.
	Problem string `json:"problem,omitempty"`
}

// SightingState says whether the canary was found.
type SightingState string

// The states.
const (
	CanaryFound   SightingState = "found"
	CanaryMissing SightingState = "missing" // it was written, and no search found it in time
	CanaryUnknown SightingState = "unknown" // it was not looked for, or that failed
)

// JoinAdmissions returns what several daemons of one target have shown together, nil for none: the
// worst sighting of each kind.
func JoinAdmissions(all []Admission) *Admission {
	if len(all) == 0 {
		return nil
	}
	joined := all[0]
	for _, a := range all[1:] {
		joined.Before, joined.After = joined.Before.worse(a.Before), joined.After.worse(a.After)
		if a.Brain == CanaryAmong {
			joined.Brain = a.Brain
		}
	}
	return &joined
}

// worse returns the worse of two sightings. A canary that one daemon was not asked for says nothing
// about the others.
func (s Sighting) worse(other Sighting) Sighting {
	rank := []SightingState{CanaryUnknown, CanaryFound, CanaryMissing}
	if slices.Index(rank, other.State) > slices.Index(rank, s.State) {
		return other
	}
	return s
}

// The share of the questions with gold that a target must answer or find the gold of, or the result
// is suspect. With fewer such questions than leastSuspect, none may be found by chance.
const (
	suspectShare = 0.02
	leastSuspect = 10
)

// Suspicion is a reason to believe that a result says nothing about its target as a memory.
type Suspicion struct {
	Kind    SuspicionKind `json:"kind"`
	Message string        `json:"message"`
}

// SuspicionKind is a stable name for programs.
type SuspicionKind string

// The kinds.
const (
	SuspectCanary SuspicionKind = "canary" // what was written for that purpose was not found
	SuspectGold   SuspicionKind = "gold"   // nearly no gold of all questions was found
	SuspectHeld   SuspicionKind = "held"   // there were texts before the run wrote any
)

// Suspicions returns what makes the result suspect. gold is the number of answered questions with
// gold, met the number of those whose gold was found or that passed.
func (r *Result) Suspicions(gold, met int) (out []Suspicion) {
	add := func(kind SuspicionKind, format string, args ...any) {
		out = append(out, Suspicion{kind, fmt.Sprintf(format, args...)})
	}
	if a := r.Admission; a != nil {
		if a.Before.State == CanaryMissing {
			add(SuspectCanary, "a text that was written as a test was not found before the first question")
		}
		if a.After.State == CanaryMissing {
			add(SuspectCanary, "a text that was written as a test was not found after the last question")
		}
		if a.Held != nil && *a.Held > 0 {
			add(SuspectHeld, "at least %s were found in the store before anything was written", figure.Count(*a.Held, "text"))
		}
	}
	if r.Imported == nil && r.Stopped == "" && gold >= leastSuspect && float64(met) <= suspectShare*float64(gold) {
		add(SuspectGold, "of %s with gold, %d passed or had their gold found", figure.Count(gold, "question"), met)
	}
	return out
}

// Suspected reports whether the target seems not to store or not to find what it is given, so that
// a low rate is not a score.
func (r *Result) Suspected() bool {
	return slices.ContainsFunc(r.Suspect, func(s Suspicion) bool { return s.Kind != SuspectHeld })
}
