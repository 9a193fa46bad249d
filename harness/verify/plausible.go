package verify

import (
	"encoding/json"
	"slices"

	"evalctl/daemon/protocol"
	"evalctl/harness/result"
	"evalctl/scorer"
)

var (
	streamed = []string{
		protocol.EventRetrieve, protocol.EventDelta, "token", protocol.EventCitation,
		protocol.EventDone, protocol.EventError, result.OtherEvent,
	}
	failures = []result.Kind{
		result.KindTransport, result.KindTimeout, result.KindStatus, result.KindIncomplete,
		result.KindDaemon, result.KindProtocol, result.KindReader,
	}
	verdicts = []result.JudgeVerdict{
		"", result.Correct, result.Incorrect, result.AbstainCorrect, result.AbstainIncorrect,
		result.VerdictUnscored, result.VerdictError,
	}
	causes = []result.Cause{
		"", result.CauseDaemon, result.CauseReaderError, result.CauseUnscored,
		result.CauseJudgeSuspect, result.CauseRankBurial, result.CauseMissRetrieval,
		result.CauseAbstain, result.CauseUnknown, result.CauseReader,
	}
	judgeTypes = []string{
		"", scorer.TypeStandard, scorer.TypeTemporal, scorer.TypeKnowledgeUpdate,
		scorer.TypePreference, scorer.TypeAbstention,
	}
)

// plausible quickly checks that the schema allows the values of a record written by evalctl. It may
// wrongly reject a record, but never accept one; the schema then decides.
func plausible(r *result.Record) bool {
	return r.ID != "" && r.Question != "" && r.LatencyMS >= 0 && r.Citations != nil &&
		!slices.ContainsFunc(r.Citations, func(c json.RawMessage) bool { return len(c) == 0 || c[0] != '{' }) &&
		r.Retrieved != nil && r.Line >= 0 && r.Repeat >= 0 && r.JudgeAttempts >= 0 && r.JudgeUSD >= 0 &&
		r.JudgeSavedUSD >= 0 && r.JudgeMS >= 0 && (r.FirstDeltaMS == nil || *r.FirstDeltaMS >= 0) &&
		(r.FeltMS == nil || *r.FeltMS >= 0) && r.CutBytes >= 0 &&
		(r.SearchMS == nil || *r.SearchMS >= 0) &&
		(r.DeepRank == nil || *r.DeepRank >= 0) && plausibleOutcome(r) &&
		!slices.ContainsFunc(r.Timeline, func(e result.StreamEvents) bool {
			return !slices.Contains(streamed, e.Event) || min(e.AtMS, e.LastMS, e.GapMS) < 0 || e.N != 0 && e.N < 2
		}) &&
		!slices.ContainsFunc(r.Retrieved, func(c result.Chunk) bool { return slices.Contains(c.Duplicates, "") }) &&
		!slices.ContainsFunc(r.Failed, implausibleFailure) && distinct(r.Tags) &&
		plausibleLeaks(r.Leaks) && plausibleUsage(r.Usage) && plausibleUsage(r.JudgeUsage) && plausibleReplay(r) &&
		!slices.ContainsFunc(r.Panel, implausibleVerdict) &&
		!slices.ContainsFunc(r.Checks, func(c result.Check) bool { return c.Valid() != nil })
}

// plausibleOutcome checks the values that depend on the outcome.
func plausibleOutcome(r *result.Record) bool {
	if r.Outcome == result.Scored != (r.Score != nil) || r.Outcome == result.Errored != (r.Error != nil) {
		return false
	}
	switch r.Outcome {
	case result.Scored:
		if !(*r.Score >= 0 && *r.Score <= 1) {
			return false
		}
	case result.Errored:
		if implausibleFailure(*r.Error) {
			return false
		}
	case result.Unscored:
	case result.Unjudged:
		return !r.Passed && r.Attempts >= 1 && r.Reason != ""
	case result.NoGold:
		return !r.Passed && r.ExpectedPaths == nil && r.Attempts == 0 && r.Retrieval == nil
	case result.NotMeasurable:
		return !r.Passed && r.Attempts == 0 && r.Retrieval == nil && r.Reason != ""
	default:
		return false
	}
	return r.Attempts >= 1 && (!r.Passed || r.Score != nil) && plausibleRetrieval(r.Retrieval)
}

func plausibleRetrieval(q *result.QuestionRetrieval) bool {
	return q == nil || q.Documents >= 0 && len(q.Gold) > 0 &&
		min(q.Recall, q.NDCG, q.ReciprocalRank, q.AveragePrecision) >= 0 &&
		max(q.Recall, q.NDCG, q.ReciprocalRank, q.AveragePrecision) <= 1 &&
		!slices.ContainsFunc(q.Gold, func(g scorer.Gold) bool {
			return g.Path == "" || !(g.Gain > 0) || g.Rank < 0
		})
}

func plausibleLeaks(leaks []result.Leak) bool {
	return !slices.ContainsFunc(leaks, func(l result.Leak) bool {
		return l.Text == "" || l.At == "" || !slices.Contains(result.Places(), l.Place)
	})
}

func plausibleReplay(r *result.Record) bool {
	if a := r.Actor; a != nil && (a.Attempts < 0 || a.USD < 0 || a.SavedUSD < 0 || a.LeftOut < 0 ||
		!plausibleUsage(&a.Usage)) {
		return false
	}
	if o := r.Original; o != nil && (!slices.Contains(verdicts, o.Verdict) || o.USD < 0 ||
		o.Score != nil && !(*o.Score >= 0 && *o.Score <= 1)) {
		return false
	}
	return slices.Contains(judgeTypes, r.JudgeType) && slices.Contains(verdicts, r.JudgeVerdict) &&
		slices.Contains(causes, r.Cause)
}

func implausibleFailure(f result.Failure) bool {
	return !slices.Contains(failures, f.Kind) || f.Message == "" || f.Status != 0 && (f.Status < 100 || f.Status > 999)
}

func implausibleVerdict(v result.RecipeVerdict) bool {
	return v.Recipe == "" || v.Score != nil && !(*v.Score >= 0 && *v.Score <= 1)
}

func plausibleUsage(u *protocol.Usage) bool {
	return u == nil || u.InputTokens >= 0 && u.OutputTokens >= 0
}

func distinct(list []string) bool {
	seen := make(map[string]bool, len(list))
	for _, s := range list {
		seen[s] = true
	}
	return len(seen) == len(list)
}
