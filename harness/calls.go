package harness

import (
	"context"
	"slices"
	"sync"

	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// judged is the requests to the judge for one answer.
type judged struct {
	index   int
	rec     *result.Record
	entries chan<- entry

	mu    sync.Mutex
	calls []result.JudgeCall
}

// score scores an answer and returns the judge's requests that are not plain. Each request is
// written before it is sent, so that a killed run knows what may have been charged.
func (r *runner) score(ctx context.Context, index int, rec *result.Record, entries chan<- entry) (
	scorer.Verdict, []result.JudgeCall, error) {
	j := judged{index: index, rec: rec, entries: entries}
	v, err := r.cfg.Scorer.Score(llm.WithWitness(ctx, j.begin), rec.Item())
	if err != nil && v.Cost > 0 && len(j.calls) == 0 { // a scorer whose requests are not witnessed
		entries <- j.entry(journal.KindSpent, result.JudgeCall{
			Requests: v.Attempts, Outcome: "no verdict", Charged: result.BySum, USD: v.Cost,
		})
	}
	return v, slices.DeleteFunc(j.calls, func(c result.JudgeCall) bool { return c.Plain() }), err
}

// begin is the llm.Witness of the judgement.
func (j *judged) begin(worst llm.Charge) (end func(string, llm.Charge), err error) {
	j.mu.Lock()
	n := len(j.calls) + 1
	call := result.NewJudgeCall(n, result.InFlight, worst)
	j.calls = append(j.calls, call)
	j.mu.Unlock()
	if err := write(j.entry(journal.KindAttempt, call).Entry, j.entries); err != nil {
		return nil, err
	}
	return func(outcome string, c llm.Charge) {
		call := result.NewJudgeCall(n, outcome, c)
		j.mu.Lock()
		j.calls[n-1] = call
		j.mu.Unlock()
		j.entries <- j.entry(journal.KindSettled, call)
	}, nil
}

// entry returns the line of a request.
func (j *judged) entry(kind string, call result.JudgeCall) entry {
	call.ID, call.Repeat = j.rec.ID, j.rec.Repeat
	return entry{Entry: journal.Entry{Kind: kind, Index: j.index, Call: &call}}
}
