package actor

import (
	"testing"

	"evalctl/internal/llm"
	"evalctl/internal/longtest"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// TestOfflineReader checks that the offline reader profits from what it is given: the more of it is
// gold, the more answers are right. Without notes it declines.
func TestOfflineReader(t *testing.T) {
	longtest.Skip(t)
	if raceDetector {
		t.Skip("answers are measured without the race detector")
	}
	b := shared(t, "locomo/locomo5.json")
	all := brainsOf(t, b)
	daemon := targetOf(t, search(t, all).URL, all)
	rates := map[Style]map[bool]float64{}
	for _, style := range []Style{Oracle, RetrieveOnly, NoMemory} {
		rates[style] = passRates(t, newActor(t, Config{
			Style: style, Target: daemon, Reader: llm.NewFake(), Model: llm.FakeModel, TopK: 10,
			QuestionDate: true, Benchmark: b, Documents: byPath,
		}), b)
		t.Logf("%s: answerable %.3f, abstention %.3f", style, rates[style][false], rates[style][true])
	}
	oracle, retrieved, none := rates[Oracle], rates[RetrieveOnly], rates[NoMemory]
	if oracle[false] <= retrieved[false] || retrieved[false] < 0.1 || none[false] != 0 {
		t.Error("what is given does not decide how many answers are right")
	}
	if none[true] != 1 || oracle[true] <= retrieved[true] || retrieved[true] < 0.2 {
		t.Error("the reader declines too seldom")
	}
}

// TestWholeHaystackFits checks that the baseline full-context can read whole haystacks of
// LongMemEval-S.
func TestWholeHaystackFits(t *testing.T) {
	b := shared(t, "longmemeval/longmemeval_s_3.json")
	a := newActor(t, Config{Style: FullContext, Reader: recording{new(llm.Request)}, Model: "m", Benchmark: b})
	for _, q := range b.Questions {
		ans, err := a.Ask(t.Context(), q.Dataset(), questionTime)
		if err != nil || ans.Actor.LeftOut != 0 {
			t.Errorf("%s: %+v, %v", q.ID, ans.Actor, err)
		}
	}
}

// passRates returns the pass rate of the exact scorer for the questions to abstain from (true) and
// for the others.
func passRates(t *testing.T, a *Actor, b *source.Benchmark) map[bool]float64 {
	t.Helper()
	rate, total := map[bool]float64{}, map[bool]float64{}
	for i, q := range b.Questions {
		if i%3 != 0 {
			continue // a third is enough
		}
		d := q.Dataset()
		if a.cfg.Style.Baseline() {
			d.ExpectedPaths = nil
		}
		ans, err := a.Ask(t.Context(), d, questionTime)
		if err != nil {
			t.Fatal(err)
		}
		item := d.Item()
		item.Answer = ans.Answer
		v, err := scorer.Exact{}.Score(t.Context(), item)
		if err != nil {
			t.Fatal(err)
		}
		total[q.Abstention]++
		rate[q.Abstention] += v.Score
	}
	for k := range rate {
		rate[k] /= total[k]
	}
	return rate
}
