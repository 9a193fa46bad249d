// Package verdict interprets the grade of a question: the verdict on its answer and, for a lost
// question, the cause.
package verdict

import (
	"context"
	"slices"

	"evalctl/harness"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// Scorer is a pipeline.Scorer that adds the verdict and the cause to the grade of another one.
type Scorer struct {
	pipeline.Scorer
	// Questions has all scored questions by id.
	Questions map[string]*source.Question
	// TopK is the number of documents requested from a daemon.
	TopK int
	// Reads is set if a reader wrote the answers, Judged if a model judged them, and Retrieves if a
	// daemon selected the reader's notes.
	Reads, Judged, Retrieves bool
	// Gold is set if retrieval is scored and not answers. Documents then maps chunks to documents.
	Gold bool
	// Evidence is set if retrieval is scored by evidence for questions that have some.
	Evidence  bool
	Documents harness.Documents
}

// Score implements pipeline.Scorer.
func (s Scorer) Score(ctx context.Context, rec result.Record) (result.Record, error) {
	graded, err := s.Scorer.Score(ctx, rec)
	if err == nil {
		s.complete(&graded)
	}
	return graded, err
}

// complete adds the verdict and the cause to a record.
func (s Scorer) complete(rec *result.Record) {
	q := s.Questions[rec.ID]
	abstention := q.Abstention && !s.Gold
	if rec.Original == nil {
		rec.Original = s.originalRetrieval(rec, q)
	}
	if o := rec.Original; o != nil && q.Erratum != nil {
		o.Reference = q.Erratum.OriginalAnswer
		o.Verdict = originalOf(o, abstention)
	}
	rec.JudgeVerdict = verdictOf(rec, abstention)
	rec.Cause = s.cause(rec, abstention)
	if q.Erratum != nil && q.Erratum.Exclude {
		*rec = setAside(*rec, abstention)
	}
}

// originalRetrieval returns the retrieval score by the gold before errata, nil if retrieval is not
// scored or the gold is the same.
func (s Scorer) originalRetrieval(rec *result.Record, q *source.Question) *result.Original {
	e := q.Erratum
	if !s.Gold || e == nil || e.Exclude || rec.Outcome != result.Scored ||
		len(e.OriginalGold) == 0 || slices.Equal(e.OriginalGold, q.Gold) {
		return nil
	}
	if s.Evidence && len(rec.ExpectedEvidence) > 0 && len(e.OriginalEvidence) > 0 {
		was := *rec
		was.ExpectedEvidence = e.OriginalEvidence
		was.CompareEvidence(s.TopK)
		v := scorer.Verdict{Scored: true, Score: was.Evidence.Recall}
		return &result.Original{Score: &v.Score, Passed: v.Passed()}
	}
	gold, asked := result.Gold(e.OriginalGold, q.Grades), q.Dataset()
	found := result.CompareWithGold(gold, rec.Retrieved, s.TopK, func(c result.Chunk) []string {
		return s.Documents.Documents(asked, c, gold)
	})
	v := scorer.Verdict{Scored: true, Score: found.Recall}
	return &result.Original{Score: &v.Score, Passed: v.Passed()}
}

// verdictOf returns the verdict on a finished question, empty if it does not count.
func verdictOf(r *result.Record, abstention bool) result.JudgeVerdict {
	switch r.Outcome {
	case result.NoGold:
		return ""
	case result.Errored:
		return result.VerdictError
	case result.Unscored:
		return result.VerdictUnscored
	}
	return judged(r.Passed, abstention)
}

// judged returns the verdict on an answer with a score.
func judged(passed, abstention bool) result.JudgeVerdict {
	switch {
	case abstention && passed:
		return result.AbstainCorrect
	case abstention:
		return result.AbstainIncorrect
	case passed:
		return result.Correct
	}
	return result.Incorrect
}

// originalOf returns the verdict by the original gold if only the reference differs.
func originalOf(o *result.Original, abstention bool) result.JudgeVerdict {
	if o.Score == nil {
		return result.VerdictUnscored
	}
	return judged(o.Passed, abstention)
}

// setAside converts a finished record of a question that errata exclude: the question does not
// count, and its verdict is kept as the original one.
func setAside(r result.Record, abstention bool) result.Record {
	r.Original = &result.Original{
		Reference: r.Reference, Verdict: verdictOf(&r, abstention), Score: r.Score,
		Passed: r.Passed, Reason: r.Reason, USD: r.JudgeUSD,
	}
	if r.Error != nil {
		r.Original.Reason = r.Error.Message
	}
	r.Outcome, r.Score, r.Passed, r.Error = result.NoGold, nil, false, nil
	r.Reason, r.JudgeVerdict, r.Cause = "excluded by errata", "", ""
	r.ExpectedPaths, r.ExpectedGrades, r.Retrieval, r.DeepRank, r.Panel = nil, nil, nil, nil, nil
	r.ExpectedEvidence, r.Evidence, r.Returned = nil, nil, nil
	return r
}
