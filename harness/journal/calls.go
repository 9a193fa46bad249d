package journal

import (
	"maps"
	"slices"

	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// Calls are a run's judge requests that belong to no question's verdict. The zero value has none.
// It is not safe for concurrent use.
type Calls struct {
	// open has the requests for answers without a grade, by question.
	open  map[int][]result.JudgeCall
	ended []result.JudgeCall
}

// Add counts a line. A request counts with its worst case until its outcome is known. Once the
// question is graded, its record includes the cost.
func (c *Calls) Add(e Entry) {
	switch e.Kind {
	case KindAttempt:
		if c.open == nil {
			c.open = map[int][]result.JudgeCall{}
		}
		c.open[e.Index] = append(c.open[e.Index], *e.Call)
	case KindSettled:
		if i := c.find(e); i >= 0 {
			c.open[e.Index][i] = *e.Call
		}
	case KindSpent:
		c.ended = append(c.ended, *e.Call)
	case KindGrade:
		delete(c.open, e.Index)
	case kindResumed:
		c.ended, c.open = c.Unassigned(), nil
	}
}

// find returns the index, among its question's requests, of the request that a line settles, -1 if
// there is none.
func (c *Calls) find(e Entry) int {
	return slices.IndexFunc(c.open[e.Index], func(was result.JudgeCall) bool { return was.Attempt == e.Call.Attempt })
}

// replaced counts the requests of a verdict that has been replaced.
func (c *Calls) replaced(r *result.Record) {
	if r.JudgeAttempts == 0 && r.JudgeUSD == 0 {
		return
	}
	call := result.JudgeCall{
		ID: r.ID, Repeat: r.Repeat, Requests: r.JudgeAttempts, Outcome: "judged again", Charged: result.BySum, USD: r.JudgeUSD,
	}
	if u := r.JudgeUsage; u != nil {
		call.InputTokens, call.OutputTokens = int64(u.InputTokens), int64(u.OutputTokens)
	}
	for _, was := range r.JudgeCharges {
		call.MayHaveUSD = call.MayHaveUSD.Plus(was.MayHave())
	}
	c.ended = append(c.ended, call)
}

// Unassigned returns the requests.
func (c *Calls) Unassigned() []result.JudgeCall {
	out := slices.Clone(c.ended)
	for _, i := range slices.Sorted(maps.Keys(c.open)) {
		out = append(out, c.open[i]...)
	}
	return out
}

// usd returns the cost of the requests.
func (c *Calls) usd() (sum llm.USD) {
	for _, call := range c.Unassigned() {
		sum = sum.Plus(call.USD)
	}
	return sum
}
