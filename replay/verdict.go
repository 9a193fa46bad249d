package replay

import (
	"context"
	"slices"

	"evalctl/harness"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// verdicts is a pipeline.Scorer that adds the verdict and the loss to the grade of another one.
type verdicts struct {
	pipeline.Scorer
	plan *Plan
	arm  Arm
	// documents finds the documents of chunks, nil for a baseline.
	documents harness.Documents
}

// Score implements pipeline.Scorer.
func (r verdicts) Score(ctx context.Context, rec result.Record) (result.Record, error) {
	graded, err := r.Scorer.Score(ctx, rec)
	if err == nil {
		r.complete(&graded)
	}
	return graded, err
}

// complete adds the verdict and the loss to a record.
func (r verdicts) complete(rec *result.Record) {
	q := r.plan.byID[rec.ID]
	abstention := q.Abstention && r.plan.Scorer.Needs != scorer.NeedGold // which scores no answer
	if rec.Original == nil {
		rec.Original = r.originalRetrieval(rec, q)
	}
	if o := rec.Original; o != nil && q.Erratum != nil {
		o.Reference = q.Erratum.OriginalAnswer
		o.Verdict = originalOf(o, abstention)
	}
	rec.JudgeVerdict = verdictOf(rec, abstention)
	reads, judged := r.plan.scenario(r.arm).Reads(), r.plan.judging != nil && r.plan.Prompts != nil
	rec.Cause = causeOf(rec, abstention, reads, judged, r.arm.daemon(), r.plan.TopK)
	if q.Erratum != nil && q.Erratum.Exclude {
		*rec = setAside(*rec, abstention)
	}
}

// originalRetrieval returns the score of what was retrieved by the gold before errata, nil if
// retrieval is not scored or the gold is the same.
func (r verdicts) originalRetrieval(rec *result.Record, q *source.Question) *result.Original {
	e := q.Erratum
	if r.plan.Scorer.Needs != scorer.NeedGold || e == nil || e.Exclude || rec.Outcome != result.Scored ||
		len(e.OriginalGold) == 0 || slices.Equal(e.OriginalGold, q.Gold) {
		return nil
	}
	gold, asked := result.Gold(e.OriginalGold), q.Dataset()
	found := result.CompareWithGold(gold, rec.Retrieved, r.plan.TopK, func(c result.Chunk) []string {
		return r.documents.Documents(asked, c, gold)
	})
	v := scorer.Verdict{Scored: true, Score: found.Recall}
	return &result.Original{Score: &v.Score, Passed: v.Passed()}
}

// verdictOf returns the verdict on a finished question, empty for one that does not count.
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

// originalOf returns the verdict by the original gold where nothing but the reference differs.
func originalOf(o *result.Original, abstention bool) result.JudgeVerdict {
	if o.Score == nil {
		return result.VerdictUnscored
	}
	return judged(o.Passed, abstention)
}

// setAside returns a finished record as that of a question that errata exclude: the question does
// not count, and its verdict is kept as the original one.
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
	r.ExpectedPaths, r.Retrieval, r.DeepRank, r.Panel = nil, nil, nil, nil
	return r
}
