package result

import (
	"math"

	"evalctl/internal/llm"
)

// Cost is the cost of judging over the whole run, including resumed parts and calls without a
// verdict. SpentUSD is the sum of JudgeUSD over the questions and of USD over Unassigned.
type Cost struct {
	SpentUSD llm.USD `json:"spent_usd"`
	// MayHaveBeenChargedUSD is the worst-case part of SpentUSD: the requests whose tokens the
	// provider did not count, such as those that broke off or were in flight when the run was
	// killed.
	MayHaveBeenChargedUSD llm.USD `json:"may_have_been_charged_usd,omitempty"`
	// JudgeRequests counts the HTTP requests sent, including Unassigned. The tokens also include
	// them.
	JudgeRequests int   `json:"judge_requests"`
	InputTokens   int64 `json:"input_tokens"`
	OutputTokens  int64 `json:"output_tokens"`
	// UsageEstimated is the number of questions with estimated judge tokens, because the provider
	// did not count all of them.
	UsageEstimated int `json:"usage_estimated"`
	// UsageImplausible is the number of requests with an impossible token count, such as a negative
	// one. They are charged as worst cases.
	UsageImplausible int `json:"usage_implausible,omitempty"`
	// UnpricedModel is a judge with an unknown price, whose cost is therefore missing.
	UnpricedModel string `json:"unpriced_model,omitempty"`
	// PricesDate is the day of the judge's price, YYYY-MM-DD. It is empty if unknown, as for a
	// price set by the user, or if nothing was priced.
	PricesDate string `json:"prices_date,omitempty"`
	Spending
	// Unassigned are judge requests that belong to no verdict in the file, because the run ended
	// first or the question was asked again.
	Unassigned []JudgeCall `json:"unassigned,omitempty"`
}

// Spending is the cost of all models called by evalctl, or by a started daemon through its gateway.
type Spending struct {
	// CapUSD is the spend cap, nil for none.
	CapUSD *llm.USD `json:"cap_usd"`
	// TotalUSD is the sum of Parts. Both are nil in files of older versions.
	TotalUSD *llm.USD   `json:"total_usd,omitempty"`
	Parts    *CostParts `json:"parts,omitempty"`
	// Unpriced are models with an unknown price, whose cost is missing.
	Unpriced []string `json:"unpriced_models,omitempty"`
	// Bill is nil if there was no request.
	Bill *Bill `json:"bill,omitempty"`
	// ModelRequests are the daemons' requests to their gateways. It is nil without gateways, and in
	// a replay, where Replay has them.
	ModelRequests *ModelRequests `json:"model_requests,omitempty"`
}

// SetParts sets the parts and the total. unpriced are the models whose cost is missing.
func (s *Spending) SetParts(p CostParts, unpriced []string) {
	s.Parts, s.TotalUSD, s.Unpriced = &p, new(p.Total()), unpriced
}

// Parts returns the parts of a cost.
func (c *CostAccounting) Parts() CostParts {
	return CostParts{
		ReaderUSD: c.ActorUSD, JudgeUSD: c.JudgeUSD, EmbeddingsUSD: c.EmbedUSD, DaemonUSD: c.IngestUSD, MayHaveUSD: c.LostUSD,
	}
}

// JudgeCall is an HTTP request to the judge with its charge.
type JudgeCall struct {
	// ID and Repeat identify the question. They are empty in its record.
	ID     string `json:"id,omitempty"`
	Repeat int    `json:"repeat,omitempty"`
	// Attempt numbers the requests for the question from 1, again from 1 after a resume. It is 0
	// for the sum of Requests.
	Attempt  int    `json:"attempt"`
	Requests int    `json:"requests,omitempty"`
	Outcome  string `json:"outcome"`
	// Charged is the basis of USD.
	Charged      Basis   `json:"charged"`
	USD          llm.USD `json:"usd"`
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	// MayHaveUSD is the worst-case part of a sum.
	MayHaveUSD   llm.USD `json:"may_have_been_charged_usd,omitempty"`
	UsageProblem string  `json:"usage_problem,omitempty"`
}

// Basis is the basis of a request's charge.
type Basis string

// The bases. Only a worst case may exceed the real charge.
const (
	ByUsage     Basis = "usage"      // the provider's count of tokens
	byEstimate  Basis = "estimate"   // tokens estimated from the text, without a cap
	ByWorstCase Basis = "worst_case" // the most that the request can cost
	byNothing   Basis = "nothing"    // the provider accepted no request
	BySum       Basis = "sum"        // of several requests
)

// InFlight is the outcome of a request that was in flight when its run was killed.
const InFlight = "in flight when the run was killed"

// NewJudgeCall returns the n-th request for a question with its outcome and charge.
func NewJudgeCall(n int, outcome string, c llm.Charge) JudgeCall {
	call := JudgeCall{
		Attempt: n, Outcome: outcome, Charged: ByUsage, USD: c.Cost, UsageProblem: c.UsageProblem,
		InputTokens: int64(c.Usage.InputTokens), OutputTokens: int64(c.Usage.OutputTokens),
	}
	switch {
	case c.Rejected:
		call.Charged = byNothing
	case c.Lost > 0, outcome != llm.OutcomeAnswered, c.UsageProblem != "":
		call.Charged = ByWorstCase
	case c.Usage.Estimated:
		call.Charged = byEstimate
	}
	return call
}

// MayHave returns the part of USD that may not have been charged.
func (c *JudgeCall) MayHave() llm.USD {
	if c.Charged == ByWorstCase {
		return c.USD
	}
	return c.MayHaveUSD
}

// ListCost is the cost of an arm of a replay as if it had run alone with an empty cache: the amount
// spent, and the cost of cached replies that others have paid for. It does not depend on the order
// of the arms or on earlier replays. It includes possible charges.
type ListCost struct {
	// USD is the sum of CostAccounting.TotalUSD, SavedUSD, SharedUSD and ReusedUSD. It is nil if a
	// model's price is unknown, or ReusedUnrecorded is not 0.
	USD *llm.USD `json:"usd"`
	// SavedUSD is the cost of the cached replies that the arm, or the check of the judge, got. Each
	// counts once, and replies that they paid for themselves do not count.
	SavedUSD llm.USD `json:"saved_usd"`
	// SharedUSD is the cost of the check of the judge, which the arm would have paid alone. It is 0
	// if TotalUSD includes it, because there is one arm.
	SharedUSD llm.USD `json:"shared_usd"`
	// ReusedUSD is what it cost an earlier replay to fill the reused brains, ReusedUnrecorded the
	// number of reused brains with an unknown cost.
	ReusedUSD        llm.USD `json:"reused_usd,omitempty"`
	ReusedUnrecorded int     `json:"reused_brains_unrecorded,omitempty"`
	// SavedEstimated counts the replies in SavedUSD with estimated tokens.
	SavedEstimated int `json:"saved_estimated,omitempty"`
	// UnassignedSavingsUSD is the part of CachedSavingsUSD that belongs to no question in the file:
	// savings of the daemon, of the check of the judge, and of questions that were asked again.
	UnassignedSavingsUSD llm.USD `json:"unassigned_savings_usd"`
}

// SetList sets the list cost. questions is the saving by cached replies that belong to questions.
func (c *CostAccounting) SetList(l ListCost, questions llm.USD) {
	// A crash of the machine may have lost ledger lines of questions that were kept.
	c.CachedSavingsUSD = max(c.CachedSavingsUSD, questions)
	l.UnassignedSavingsUSD = c.CachedSavingsUSD - questions
	c.List = &l
	l.USD = c.ListUSD()
}

// ListUSD returns the list cost, nil if it is unknown or not recorded.
func (c *CostAccounting) ListUSD() *llm.USD {
	if c.List == nil || len(c.Unpriced) > 0 || c.List.ReusedUnrecorded > 0 {
		return nil
	}
	return new(c.TotalUSD.Plus(c.List.SavedUSD).Plus(c.List.SharedUSD).Plus(c.List.ReusedUSD))
}

// SpentKnown reports whether TotalUSD is complete. Models without a price cost nothing if all their
// replies were cached.
func (c *CostAccounting) SpentKnown() bool { return len(c.Missing()) == 0 }

// Missing returns the models whose cost is not in TotalUSD, because their price is unknown.
func (c *CostAccounting) Missing() (models []string) {
	for _, model := range c.Unpriced {
		if c.Tokens[model].Requests > 0 {
			models = append(models, model)
		}
	}
	return models
}

// Total returns the total cost in the file. unknown is set if the price of a model is unknown, so
// that its cost is missing.
func (c *Cost) Total() (total llm.USD, unknown bool) {
	if c.TotalUSD == nil {
		return c.SpentUSD, c.UnpricedModel != ""
	}
	return *c.TotalUSD, len(c.Unpriced) > 0
}

// Spent returns the cost of a run or a replay like Cost.Total. The cost of another harness is
// unknown.
func (r *Result) Spent() (total llm.USD, unknown bool) {
	if r.GivenVerdicts() {
		return 0, true
	}
	if c := r.CostAccounting; c != nil && r.Cost.TotalUSD == nil {
		return c.TotalUSD, !c.SpentKnown()
	}
	total, unknown = r.Cost.Total()
	return total, unknown || r.Unmetered()
}

// Unmetered reports whether the service may have called models itself, at an unknown cost.
func (r *Result) Unmetered() bool { return r.Mapped != nil && r.Mapped.Models == ModelsUnknown }

// AddTokens adds two non-negative counts. It returns the maximum int64 on overflow.
func AddTokens(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}
