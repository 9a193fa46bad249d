package pipeline

import (
	"encoding/json"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// notAsked returns the record of a question that a run that scores retrieval leaves out, because it
// has no gold.
func notAsked(q dataset.Question) result.Record {
	r := NewRecord(q, target.Answer{}, nil)
	r.Outcome, r.Reason = result.NoGold, "no expected_paths: left out"
	return r
}

// NewRecord returns the record of a question with its answer or failure, not yet scored. That of a
// failure is cut to a limit.
func NewRecord(q dataset.Question, a target.Answer, f *target.Failure) result.Record {
	r := result.Record{
		ID: q.ID, Question: q.Question, Answer: a.Text,
		LatencyMS: millis(a.Latency), Citations: a.Citations, Outcome: result.Unscored,
		Attempts: a.Attempts, Retrieved: a.Retrieved, EffectiveMode: a.EffectiveMode, Fusion: a.Fusion,
		Timeline: a.Timeline, Model: a.Model, PromptSHA256: a.PromptSHA256, Usage: a.Usage, QuestionDate: q.QuestionDate,
		Expected: q.ExpectedSubstrings, Reference: q.ReferenceAnswer,
		ExpectedPaths: q.ExpectedPaths, Checks: result.NewChecks(q.Checks), Tags: q.Tags, Repeat: q.Repeat, Line: q.Line,
		Type: q.Type, JudgeType: q.JudgeType, Actor: a.Actor, DeepRank: a.DeepRank, Failed: a.Failed, Untimed: a.Untimed,
	}
	r.Forbidden, r.MustCite, r.Leaks = q.Forbidden, q.MustCite, a.Leaks
	switch {
	case f != nil:
		r.Outcome, r.Error = result.Errored, &f.Failure
	case a.Lacks != "":
		r.Outcome, r.Reason = result.NotMeasurable, a.Lacks
	}
	if felt := millis(a.Latency + a.Waited); felt > r.LatencyMS {
		r.FeltMS = &felt
	}
	if a.FirstDelta > 0 {
		ms := millis(a.FirstDelta)
		r.FirstDeltaMS = &ms
	}
	if a.Search > 0 {
		ms := millis(a.Search)
		r.SearchMS = &ms
	}
	if r.Citations == nil {
		r.Citations = []json.RawMessage{}
	}
	if r.Retrieved == nil {
		r.Retrieved = []result.Chunk{}
	}
	if f != nil {
		bound(&r)
	}
	return r
}

func millis(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}
