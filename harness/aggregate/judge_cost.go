package aggregate

import "evalctl/harness/result"

// addCall counts a request that is not in a record.
func addCall(c *result.Cost, u result.JudgeCall) {
	c.JudgeRequests += max(1, u.Requests)
	c.InputTokens = result.AddTokens(c.InputTokens, u.InputTokens)
	c.OutputTokens = result.AddTokens(c.OutputTokens, u.OutputTokens)
	c.SpentUSD = c.SpentUSD.Plus(u.USD)
	countCall(c, u)
}

// countCall adds to the sums over requests that are not plain.
func countCall(c *result.Cost, u result.JudgeCall) {
	c.MayHaveBeenChargedUSD = c.MayHaveBeenChargedUSD.Plus(u.MayHave())
	if u.UsageProblem != "" {
		c.UsageImplausible++
	}
}

// addRecord counts the judge's requests of a question.
func addRecord(c *result.Cost, r *result.Record) {
	c.JudgeRequests += r.JudgeAttempts
	c.SpentUSD = c.SpentUSD.Plus(r.JudgeUSD)
	if u := r.JudgeUsage; u != nil {
		c.InputTokens = result.AddTokens(c.InputTokens, int64(u.InputTokens))
		c.OutputTokens = result.AddTokens(c.OutputTokens, int64(u.OutputTokens))
	}
	if r.JudgeUsageEstimated {
		c.UsageEstimated++
	}
	for _, u := range r.JudgeCharges {
		countCall(c, u)
	}
}

// addUnassigned adds up Unassigned. The questions must have been added before.
func addUnassigned(c *result.Cost) {
	for _, u := range c.Unassigned {
		addCall(c, u)
	}
}
