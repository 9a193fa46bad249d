package replay

import (
	"evalctl/harness/result"
)

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
	r.ExpectedPaths, r.Retrieval, r.DeepRank = nil, nil, nil
	return r
}
