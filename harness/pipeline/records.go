package pipeline

import (
	"encoding/json"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/scorer"
)

// notAsked returns the record of a question without gold, which a run that scores retrieval leaves
// out.
func notAsked(q dataset.Question) result.Record {
	r := NewRecord(q, target.Answer{}, nil)
	r.Outcome, r.Reason = result.NoGold, "no gold: left out"
	r.ExpectedPaths, r.ExpectedGrades, r.ExpectedEvidence = nil, nil, nil // which another scorer needs
	return r
}

// NewRecord returns the unscored record of a question with its answer or failure. The record of a
// failure is cut to a limit.
func NewRecord(q dataset.Question, a target.Answer, f *target.Failure) result.Record {
	r := Unscored(q, a.Reply)
	r.LatencyMS = millis(a.Latency)
	if felt := millis(a.Latency + a.Waited); felt > r.LatencyMS {
		r.FeltMS = &felt
	}
	if a.FirstDelta > 0 {
		r.FirstDeltaMS = new(millis(a.FirstDelta))
	}
	if a.Search > 0 {
		r.SearchMS = new(millis(a.Search))
	}
	switch {
	case f != nil:
		r.Outcome, r.Error = result.Errored, &f.Failure
		bound(&r)
	case a.Lacks != "":
		r.Outcome, r.Reason = result.NotMeasurable, a.Lacks
	}
	return r
}

// Unscored returns the unscored record of a question with a reply.
func Unscored(q dataset.Question, reply result.Reply) result.Record {
	r := result.Record{
		ID: q.ID, Question: q.Question, Outcome: result.Unscored, Reply: reply,
		QuestionDate: q.QuestionDate, Expected: q.ExpectedSubstrings, Reference: q.ReferenceAnswer,
		ExpectedPaths: q.ExpectedPaths, ExpectedGrades: q.ExpectedGrades, ExpectedEvidence: q.ExpectedEvidence,
		Checks: newChecks(q.Checks), Forbidden: q.Forbidden, MustCite: q.MustCite,
		Tags: q.Tags, Repeat: q.Repeat, Line: q.Line, Type: q.Type, JudgeType: q.JudgeType,
	}
	if r.Citations == nil {
		r.Citations = []json.RawMessage{}
	}
	if r.Retrieved == nil {
		r.Retrieved = []result.Chunk{}
	}
	return r
}

func millis(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}

// newChecks returns checks without outcomes.
func newChecks(checks []scorer.Check) []result.Check {
	var out []result.Check
	for _, c := range checks {
		out = append(out, result.Check{Check: c})
	}
	return out
}
