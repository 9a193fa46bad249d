package pipeline

import (
	"context"
	"slices"
	"sync"
	"time"

	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// judgeRequests are the judge's requests for one answer.
type judgeRequests struct {
	*loop
	index int
	rec   *result.Record

	mu    sync.Mutex
	calls []result.JudgeCall
}

// score scores an answer and records the judge's requests, unless they are plain. Each request is
// written before it is sent, so that a killed run knows what may have been charged.
func (l *loop) score(ctx context.Context, index int, rec *result.Record) (result.Record, error) {
	j := judgeRequests{loop: l, index: index, rec: rec}
	began := time.Now()
	graded, err := l.Scorer.Score(llm.WithQuestion(llm.WithWitness(ctx, j.begin), rec.ID), *rec)
	if err != nil && graded.JudgeUSD > 0 && len(j.calls) == 0 { // a scorer whose requests are not witnessed
		l.entries <- entry{Entry: j.line(journal.KindSpent, result.JudgeCall{
			Requests: graded.JudgeAttempts, Outcome: "no verdict", Charged: result.BySum, USD: graded.JudgeUSD,
		})}
	}
	if graded.JudgedAt, graded.JudgeMS = (time.Time{}), 0; graded.JudgeAttempts > 0 {
		graded.JudgedAt, graded.JudgeMS = began.UTC().Truncate(time.Microsecond), millis(time.Since(began))
	}
	graded.JudgeCharges = slices.DeleteFunc(j.calls, func(c result.JudgeCall) bool { return isPlain(&c) })
	return graded, err
}

// begin is the judgement's llm.Witness.
func (j *judgeRequests) begin(worst llm.Charge) (end func(string, llm.Charge), err error) {
	j.mu.Lock()
	n := len(j.calls) + 1
	call := result.NewJudgeCall(n, result.InFlight, worst)
	j.calls = append(j.calls, call)
	j.mu.Unlock()
	if err := j.write(j.line(journal.KindAttempt, call)); err != nil {
		return nil, err
	}
	return func(outcome string, c llm.Charge) {
		call := result.NewJudgeCall(n, outcome, c)
		j.mu.Lock()
		j.calls[n-1] = call
		j.mu.Unlock()
		j.entries <- entry{Entry: j.line(journal.KindSettled, call)}
	}, nil
}

// line returns a request's journal line.
func (j *judgeRequests) line(kind string, call result.JudgeCall) journal.Entry {
	call.ID, call.Repeat = j.rec.ID, j.rec.Repeat
	return journal.Entry{Kind: kind, Index: j.index, Call: &call}
}

// isPlain reports whether a call needs no comment: it was charged by the provider's count, or not
// at all.
func isPlain(c *result.JudgeCall) bool {
	return c.UsageProblem == "" && (c.USD == 0 || c.Charged == result.ByUsage)
}
