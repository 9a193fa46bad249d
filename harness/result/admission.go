package result

import (
	"fmt"
	"slices"

	"evalctl/internal/figure"
)

// Admission has a run's observations of its target besides the questions: whether a canary, a text
// of evalctl's own, is found, and how many texts existed before the run.
type Admission struct {
	// Brain is where the canary was written: CanaryAlone or CanaryAmong.
	Brain string `json:"brain"`
	// Before and After are the sightings before the first question and after the last.
	Before Sighting `json:"before"`
	After  Sighting `json:"after"`
	// Held is the least number of texts that searches found before the run wrote any, nil if there
	// was no search or a search failed.
	Held *int `json:"held,omitempty"`
}

// The places of a canary.
const (
	CanaryAlone = "own"    // in a brain of its own
	CanaryAmong = "corpus" // in the first brain of the run
)

// Sighting is the outcome of a search for the canary.
type Sighting struct {
	State SightingState `json:"state"`
	// Problem is the error of writing or searching for the canary.
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

// A result is suspect if its target passed or found the gold of at most this share of the questions
// with gold. With fewer than leastSuspect such questions, this may happen by chance.
const (
	suspectShare = 0.02
	leastSuspect = 10
)

// Suspicion is a reason to believe that a result says nothing about its target as a memory.
type Suspicion struct {
	Kind    SuspicionKind `json:"kind"`
	Message string        `json:"message"`
}

// SuspicionKind is a permanent name for programs.
type SuspicionKind string

// The kinds.
const (
	suspectCanary SuspicionKind = "canary" // the canary was not found
	suspectGold   SuspicionKind = "gold"   // nearly no gold of all questions was found
	SuspectHeld   SuspicionKind = "held"   // there were texts before the run wrote any
)

// Suspicions returns the suspicions about the result. gold is the number of answered questions with
// gold, met how many of them passed or had their gold found.
func (r *Result) Suspicions(gold, met int) (out []Suspicion) {
	add := func(kind SuspicionKind, format string, args ...any) {
		out = append(out, Suspicion{kind, fmt.Sprintf(format, args...)})
	}
	if a := r.Admission; a != nil {
		if a.Before.State == CanaryMissing {
			add(suspectCanary, "a text that was written as a test was not found before the first question")
		}
		if a.After.State == CanaryMissing {
			add(suspectCanary, "a text that was written as a test was not found after the last question")
		}
		if a.Held != nil && *a.Held > 0 {
			add(SuspectHeld, "at least %s were found in the store before anything was written", figure.Count(*a.Held, "text"))
		}
	}
	if r.Imported == nil && r.Stopped == "" && gold >= leastSuspect && float64(met) <= suspectShare*float64(gold) {
		add(suspectGold, "of %s with gold, %d passed or had their gold found", figure.Count(gold, "question"), met)
	}
	return out
}

// Suspected reports whether the target seems not to store or not to find texts, so that a low rate
// is not a score.
func (r *Result) Suspected() bool {
	return slices.ContainsFunc(r.Suspect, func(s Suspicion) bool { return s.Kind != SuspectHeld })
}
