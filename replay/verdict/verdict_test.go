package verdict

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/scorer"
)

// found returns what is known of the retrieval of gold documents at these ranks, 0 for none.
func found(ranks ...int) *result.QuestionRetrieval {
	q := &result.QuestionRetrieval{}
	for _, r := range ranks {
		q.Gold = append(q.Gold, scorer.Gold{Path: "s", Gain: 1, Rank: r})
	}
	return q
}

func TestCause(t *testing.T) {
	const topK = 10
	reader, daemon := &result.Failure{Kind: result.KindReader}, &result.Failure{Kind: result.KindTimeout}
	for name, tt := range map[string]struct {
		r          result.Record
		abstention bool
		silent     bool // no reader wrote the answer
		exact      bool // no model judged it
		baseline   bool // it retrieves nothing
		want       result.Cause
	}{
		"passed":        {r: result.Record{Outcome: result.Scored, Passed: true, Reply: result.Reply{Retrieval: found(0)}}},
		"left out":      {r: result.Record{Outcome: result.NoGold, Reply: result.Reply{Retrieval: found(0)}}},
		"reader failed": {r: result.Record{Outcome: result.Errored, Error: reader}, want: result.CauseReaderError},
		"daemon failed": {r: result.Record{Outcome: result.Errored, Error: daemon}, want: result.CauseDaemon},
		"unscored":      {r: result.Record{Outcome: result.Unscored, Reply: result.Reply{Retrieval: found(0)}}, want: result.CauseUnscored},
		"suspect": {r: result.Record{
			Outcome: result.Scored, Reply: result.Reply{Retrieval: found(0), Answer: "She moved to new york."}, Reference: "New  York",
		}, want: result.CauseJudgeSuspect},
		"part of a word": {r: result.Record{
			Outcome: result.Scored, Reply: result.Reply{Retrieval: found(1), Answer: "In 2012."}, Reference: "12",
		}, want: result.CauseReader},
		"somewhere in a long answer": {r: result.Record{
			Outcome: result.Scored, Reply: result.Reply{Retrieval: found(1), Answer: "Paris" + strings.Repeat(" or Oslo", 30)}, Reference: "Paris",
		}, want: result.CauseReader},
		"declines with the words": {r: result.Record{
			Outcome: result.Scored,
			Reply:   result.Reply{Retrieval: found(2), Answer: "I don't know whether it is Paris."}, Reference: "Paris",
		}, want: result.CauseAbstain},
		"rubric": {r: result.Record{
			Outcome: result.Scored, Reply: result.Reply{Retrieval: found(2), Answer: "Drink tea."}, Reference: "tea",
			JudgeType: scorer.TypePreference,
		}, want: result.CauseReader},
		"should decline": {abstention: true, r: result.Record{
			Outcome: result.Scored, Reference: "not mentioned", Reply: result.Reply{Answer: "It is not mentioned. Blue."},
		}, want: result.CauseAbstain},
		"declines for lack of gold": {r: result.Record{
			Outcome: result.Scored,
			Reply:   result.Reply{Retrieval: found(1, 0), Answer: "I don't know.", DeepRank: new(0)}, Reference: "a b",
		}, want: result.CauseMissRetrieval},
		"buried": {r: result.Record{Outcome: result.Scored,
			Reply: result.Reply{Retrieval: found(1, 0), DeepRank: new(14)}}, want: result.CauseRankBurial},
		"below top-k": {r: result.Record{Outcome: result.Scored,
			Reply: result.Reply{Retrieval: found(11), DeepRank: new(11)}}, want: result.CauseRankBurial},
		"not looked for": {r: result.Record{Outcome: result.Scored,
			Reply: result.Reply{Retrieval: found(0)}}, want: result.CauseMissRetrieval},
		"retrieval only": {silent: true, r: result.Record{
			Outcome: result.Scored, Reply: result.Reply{Retrieval: found(0, 1), Answer: "a"}, Reference: "a",
		}, want: result.CauseMissRetrieval},
		"contains the reference, scored by substrings": {exact: true, r: result.Record{
			Outcome: result.Scored, Reply: result.Reply{Retrieval: found(1), Answer: "In February 2023."}, Reference: "February, 2023",
		}, want: result.CauseReader},
		"reader": {r: result.Record{Outcome: result.Scored,
			Reply: result.Reply{Retrieval: found(10), Answer: "Blue"}, Reference: "red"}, want: result.CauseReader},
		"gold unknown": {r: result.Record{Outcome: result.Scored, Reference: "red",
			Reply: result.Reply{Answer: "Blue"}}, want: result.CauseUnknown},
		"declines, gold unknown": {r: result.Record{Outcome: result.Scored, Reference: "red",
			Reply: result.Reply{Answer: "I don't know."}}, want: result.CauseUnknown},
		"baseline": {baseline: true, r: result.Record{Outcome: result.Scored, Reference: "red",
			Reply: result.Reply{Answer: "Blue"}}, want: result.CauseReader},
	} {
		s := Scorer{TopK: topK, Reads: !tt.silent, Judged: !tt.exact, Retrieves: !tt.baseline}
		if got := s.cause(&tt.r, tt.abstention); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		outcome            result.Outcome
		passed, abstention bool
		want               result.JudgeVerdict
	}{
		{result.Scored, true, false, result.Correct},
		{result.Scored, false, false, result.Incorrect},
		{result.Scored, true, true, result.AbstainCorrect},
		{result.Scored, false, true, result.AbstainIncorrect},
		{result.Unscored, false, true, result.VerdictUnscored},
		{result.Errored, false, true, result.VerdictError},
		{result.NoGold, false, false, ""},
	} {
		r := result.Record{Outcome: tt.outcome, Passed: tt.passed}
		if got := verdictOf(&r, tt.abstention); got != tt.want {
			t.Errorf("%+v: got %q", tt, got)
		}
	}
}

// TestSetAside: a question that errata exclude does not count, and counts by the original gold as
// it ended.
func TestSetAside(t *testing.T) {
	score := 1.0
	for _, r := range []result.Record{
		{Outcome: result.Scored, Passed: true, Score: &score},
		{Outcome: result.Scored, Score: new(0.25)},
		{Outcome: result.Unscored, Reason: "no verdict"},
		{Outcome: result.Errored, Error: &result.Failure{Kind: result.KindTimeout, Message: "late"}},
	} {
		r.ExpectedPaths, r.Retrieval = []string{"s"}, found(1)
		r.JudgeVerdict, r.Cause = verdictOf(&r, false), result.CauseReader
		var want, got, none result.Counts
		want.Add(r)
		left := setAside(r, false)
		none.Add(left)
		sum, res := aggregate.NewReplay(), result.Result{Replay: &result.Replay{Errata: &result.ErrataUse{}}}
		sum.Add(left)
		sum.Fill(&res)
		got = res.Replay.Errata.Original
		if diff := cmp.Diff(want, got); diff != "" || none != (result.Counts{NoGold: 1}) {
			t.Errorf("%s: %+v, %s", r.Outcome, none, diff)
		}
		if left.JudgeVerdict != "" || left.Cause != "" {
			t.Errorf("%s: counted as %q, %q", r.Outcome, left.JudgeVerdict, left.Cause)
		}
		if left.Score != nil || left.Error != nil || left.ExpectedPaths != nil || left.Retrieval != nil {
			t.Errorf("%s: %+v is left", r.Outcome, left)
		}
	}
}
