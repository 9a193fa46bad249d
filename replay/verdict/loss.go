package verdict

import (
	"slices"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// suspectWords is the maximum length in words of a failed answer that is doubted because it
// contains the reference. A longer answer may contain it by chance.
const suspectWords = 60

// cause returns the stage that lost a finished question, empty if it passed or does not count. The
// first failed stage is blamed: a reader that declines because the gold was not retrieved is not at
// fault.
func (s Scorer) cause(r *result.Record, abstention bool) result.Cause {
	switch {
	case r.Passed || r.Outcome == result.NoGold:
		return ""
	case r.Outcome == result.Errored && r.Error.Kind == result.KindReader:
		return result.CauseReaderError
	case r.Outcome == result.Errored:
		return result.CauseDaemon
	case r.Outcome == result.Unscored:
		return result.CauseUnscored
	case s.Reads && s.Judged && !abstention && hasReference(r):
		return result.CauseJudgeSuspect
	case s.Reads && abstention:
		return result.CauseAbstain
	case !allRetrieved(r, s.TopK) && r.DeepRank != nil && *r.DeepRank > 0:
		return result.CauseRankBurial
	case !allRetrieved(r, s.TopK):
		return result.CauseMissRetrieval
	case s.Retrieves && r.Retrieval == nil:
		return result.CauseUnknown
	case s.Reads && scorer.Declines(r.Answer):
		return result.CauseAbstain
	}
	return result.CauseReader
}

// allRetrieved reports whether all evidence was returned and all gold is among the first topK
// documents. It is true if none is known.
func allRetrieved(r *result.Record, topK int) bool {
	if r.LacksEvidence() {
		return false
	}
	return r.Retrieval == nil || !slices.ContainsFunc(r.Retrieval.Gold, func(g scorer.Gold) bool {
		return g.Rank < 1 || g.Rank > topK
	})
}

// hasReference reports whether a short answer that does not decline contains the words of the
// reference in order.
func hasReference(r *result.Record) bool {
	if r.JudgeType == scorer.TypePreference || scorer.Declines(r.Answer) {
		return false // the reference is a rubric, or the answer quotes it
	}
	answer := scorer.WordsOf(r.Answer)
	return answer.Len() <= suspectWords && answer.Quote(scorer.WordsOf(r.Reference))
}
