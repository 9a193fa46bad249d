package harness

import (
	"encoding/json"
	"time"
)

// notAsked is a question without gold in a run that scores retrieval.
func notAsked(q Question) Record {
	r := newRecord(q, Answer{}, nil)
	r.Outcome, r.Reason = NoGold, "no expected_paths: left out"
	return r
}

// newRecord is a question with its answer, not yet scored.
func newRecord(q Question, a Answer, f *AskFailure) Record {
	r := Record{
		ID: q.ID, Question: q.Question, Answer: a.Text,
		LatencyMS: millis(a.Latency), Citations: a.Citations, Outcome: Unscored,
		Attempts: a.Attempts, Retrieved: a.Retrieved, EffectiveMode: a.EffectiveMode,
		Model: a.Model, PromptSHA256: a.PromptSHA256, Usage: a.Usage, QuestionDate: q.QuestionDate,
		Expected: q.ExpectedSubstrings, Reference: q.ReferenceAnswer,
		ExpectedPaths: q.ExpectedPaths, Tags: q.Tags, Line: q.Line,
	}
	if f != nil {
		r.Outcome, r.Error = Errored, &f.Failure
	}
	if a.FirstDelta > 0 {
		ms := millis(a.FirstDelta)
		r.FirstDeltaMS = &ms
	}
	if r.Citations == nil {
		r.Citations = []json.RawMessage{}
	}
	if r.Retrieved == nil {
		r.Retrieved = []Chunk{}
	}
	return r
}

func millis(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}
