package result

import (
	"fmt"
	"strings"
)

// Stage is a stage of a question from the daemon's retrieval to its score.
type Stage string

// The stages at which a question can be lost. StageUnknown means that it failed and no gold
// document shows where.
const (
	StageRetrieval Stage = "retrieval" // a gold document was not retrieved
	StageReader    Stage = "reader"    // all gold was retrieved, and the answer is wrong
	StageError     Stage = "error"
	StageUnscored  Stage = "unscored"
	StageUnknown   Stage = "unknown"
)

// Loss counts the questions that did not pass by the stage that lost them. It excludes questions
// that were left out for lack of gold.
type Loss struct {
	Retrieval int `json:"retrieval"`
	Reader    int `json:"reader"`
	Errors    int `json:"errors"`
	Unscored  int `json:"unscored"`
	Unknown   int `json:"unknown"`
}

// LostAt returns the stage that lost the question in a run with this scenario and top-k, empty if
// it passed or was left out. The reader is blamed only if all evidence was returned and all gold is
// among the first topK retrieved documents, and never in a scenario without a reader.
func (r *Record) LostAt(scenario Scenario, topK int) Stage {
	switch {
	case r.Passed || !r.Outcome.Counts():
		return ""
	case r.Outcome == Errored:
		return StageError
	case r.Outcome == Unscored:
		return StageUnscored
	case r.LacksEvidence():
		return StageRetrieval
	case r.Retrieval == nil || len(r.Retrieval.Gold) == 0:
		return StageUnknown
	}
	for _, g := range r.Retrieval.Gold {
		if g.Rank < 1 || g.Rank > topK {
			return StageRetrieval
		}
	}
	if !scenario.Reads() {
		return StageUnknown
	}
	return StageReader
}

// String lists the stages that lost questions, with numbers.
func (l Loss) String() string {
	var parts []string
	for _, s := range []struct {
		n    int
		name string
	}{
		{l.Retrieval, "retrieval"}, {l.Reader, "reader"}, {l.Errors, "errors"},
		{l.Unscored, "unscored"}, {l.Unknown, "unknown"},
	} {
		if s.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", s.name, s.n))
		}
	}
	return strings.Join(parts, "  ")
}
