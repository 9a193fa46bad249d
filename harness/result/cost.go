package result

import (
	"fmt"
	"math"

	"evalctl/internal/figure"
	"evalctl/internal/llm"
)

// Cost is what judging cost over the whole run, resumed parts and calls without a verdict included.
// SpentUSD is the sum of JudgeUSD over the questions and of USD over Unassigned.
type Cost struct {
	SpentUSD llm.USD `json:"spent_usd"`
	// MayHaveBeenChargedUSD is the part of SpentUSD that is worst cases: of requests whose tokens the
	// provider did not count, such as those that broke off or were in flight when the run was killed.
	MayHaveBeenChargedUSD llm.USD `json:"may_have_been_charged_usd,omitempty"`
	// JudgeRequests counts the HTTP requests that were sent, those of Unassigned included. So do the
	// tokens.
	JudgeRequests int   `json:"judge_requests"`
	InputTokens   int64 `json:"input_tokens"`
	OutputTokens  int64 `json:"output_tokens"`
	// UsageEstimated is the number of questions for which the judge's tokens were estimated,
	// because its provider did not count all of them.
	UsageEstimated int `json:"usage_estimated"`
	// UsageImplausible is the number of requests whose count of tokens cannot be, such as a negative
	// one. They are charged as worst cases.
	UsageImplausible int `json:"usage_implausible,omitempty"`
	// UnpricedModel is a judge whose price is not known and whose cost is therefore missing.
	UnpricedModel string `json:"unpriced_model,omitempty"`
	// PricesDate is the day of the judge's price, YYYY-MM-DD; empty if the day is not known, as of a
	// price that was given, or nothing was priced.
	PricesDate string `json:"prices_date,omitempty"`
	Spending
	// Unassigned are the judge's requests that belong to the verdict of no question in the file,
	// because the run ended before it, or the question was asked again.
	Unassigned []JudgeCall `json:"unassigned,omitempty"`
}

// Spending is what all models together cost that evalctl called, or that a started daemon called
// through its gateway.
type Spending struct {
	// CapUSD is the limit, nil for none.
	CapUSD *llm.USD `json:"cap_usd"`
	// TotalUSD is the sum of Parts. Both are nil in a file of an evalctl that did not count this.
	TotalUSD *llm.USD   `json:"total_usd,omitempty"`
	Parts    *CostParts `json:"parts,omitempty"`
	// Unpriced are the models whose price is not known, and whose cost is missing.
	Unpriced []string `json:"unpriced_models,omitempty"`
	// Bill is nil if no request was made.
	Bill *Bill `json:"bill,omitempty"`
	// ModelRequests are what the daemons asked of their gateways, nil without gateways, and in a
	// replay, where Replay has them.
	ModelRequests *ModelRequests `json:"model_requests,omitempty"`
}

// SetParts sets the parts and the total. unpriced are the models whose cost is not in them.
func (s *Spending) SetParts(p CostParts, unpriced []string) {
	s.Parts, s.TotalUSD, s.Unpriced = &p, new(p.Total()), unpriced
}

// Parts returns the parts of a cost.
func (c *CostAccounting) Parts() CostParts {
	return CostParts{
		ReaderUSD: c.ActorUSD, JudgeUSD: c.JudgeUSD, EmbeddingsUSD: c.EmbedUSD, DaemonUSD: c.IngestUSD, MayHaveUSD: c.LostUSD,
	}
}

// JudgeCall is an HTTP request to the judge with what it was charged.
type JudgeCall struct {
	// ID and Repeat name the question. They are empty in its record.
	ID     string `json:"id,omitempty"`
	Repeat int    `json:"repeat,omitempty"`
	// Attempt counts the requests for the question, from 1, again from 1 after a resume. It is 0 for
	// the sum of all of Requests.
	Attempt  int    `json:"attempt"`
	Requests int    `json:"requests,omitempty"`
	Outcome  string `json:"outcome"`
	// Charged is how USD follows.
	Charged      Basis   `json:"charged"`
	USD          llm.USD `json:"usd"`
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	// MayHaveUSD is the part of a sum that is worst cases.
	MayHaveUSD   llm.USD `json:"may_have_been_charged_usd,omitempty"`
	UsageProblem string  `json:"usage_problem,omitempty"`
}

// Basis is what the charge of a request follows from.
type Basis string

// The bases. Only a worst case may be more than what was really charged.
const (
	ByUsage     Basis = "usage"      // the provider's count of tokens
	ByEstimate  Basis = "estimate"   // tokens estimated from the text, without a cap
	ByWorstCase Basis = "worst_case" // the most that the request can cost
	ByNothing   Basis = "nothing"    // the provider accepted no request
	BySum       Basis = "sum"        // of several requests
)

// InFlight is the outcome of a request that had none when its run was killed.
const InFlight = "in flight when the run was killed"

// NewJudgeCall returns the n-th request for a question with its outcome and charge.
func NewJudgeCall(n int, outcome string, c llm.Charge) JudgeCall {
	call := JudgeCall{
		Attempt: n, Outcome: outcome, Charged: ByUsage, USD: c.Cost, UsageProblem: c.UsageProblem,
		InputTokens: int64(c.Usage.InputTokens), OutputTokens: int64(c.Usage.OutputTokens),
	}
	switch {
	case c.Rejected:
		call.Charged = ByNothing
	case c.Lost > 0, outcome != llm.OutcomeAnswered, c.UsageProblem != "":
		call.Charged = ByWorstCase
	case c.Usage.Estimated:
		call.Charged = ByEstimate
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

// Plain reports whether nothing needs to be said of a call: it was charged by the provider's count,
// or not at all.
func (c *JudgeCall) Plain() bool {
	return c.UsageProblem == "" && (c.USD == 0 || c.Charged == ByUsage)
}

// add counts a request that is in no record.
func (c *Cost) add(u JudgeCall) {
	c.JudgeRequests += max(1, u.Requests)
	c.InputTokens = AddTokens(c.InputTokens, u.InputTokens)
	c.OutputTokens = AddTokens(c.OutputTokens, u.OutputTokens)
	c.SpentUSD = c.SpentUSD.Plus(u.USD)
	c.count(u)
}

// count adds to the sums over the requests that are not plain.
func (c *Cost) count(u JudgeCall) {
	c.MayHaveBeenChargedUSD = c.MayHaveBeenChargedUSD.Plus(u.MayHave())
	if u.UsageProblem != "" {
		c.UsageImplausible++
	}
}

// AddRecord counts the judge's requests of a question.
func (c *Cost) AddRecord(r *Record) {
	c.JudgeRequests += r.JudgeAttempts
	c.SpentUSD = c.SpentUSD.Plus(r.JudgeUSD)
	if u := r.JudgeUsage; u != nil {
		c.InputTokens = AddTokens(c.InputTokens, int64(u.InputTokens))
		c.OutputTokens = AddTokens(c.OutputTokens, int64(u.OutputTokens))
	}
	if r.JudgeUsageEstimated {
		c.UsageEstimated++
	}
	for _, u := range r.JudgeCharges {
		c.count(u)
	}
}

// AddUnassigned adds up Unassigned. The questions must have been added.
func (c *Cost) AddUnassigned() {
	for _, u := range c.Unassigned {
		c.add(u)
	}
}

// ListCost is what an arm of a replay would have cost alone with an empty cache: what was spent,
// and what replies from the cache would have cost that others have paid for. It does not depend on
// which arm asked first, nor on earlier replays. What may have been charged is part of it.
type ListCost struct {
	// USD is the sum of CostAccounting.TotalUSD, SavedUSD, SharedUSD and ReusedUSD, nil if the price
	// of one of the models is not known, or ReusedUnrecorded is not 0.
	USD *llm.USD `json:"usd"`
	// SavedUSD is what the cached replies would have cost that the arm, or the check of the judge,
	// got, each once and without those that they paid for themselves.
	SavedUSD llm.USD `json:"saved_usd"`
	// SharedUSD is what the check of the judge cost, which the arm would have had to pay alone. It
	// is 0 if TotalUSD has it, because there is one arm.
	SharedUSD llm.USD `json:"shared_usd"`
	// ReusedUSD is what filling the brains cost that an earlier replay has filled, ReusedUnrecorded
	// the number of those for which it is not known.
	ReusedUSD        llm.USD `json:"reused_usd,omitempty"`
	ReusedUnrecorded int     `json:"reused_brains_unrecorded,omitempty"`
	// SavedEstimated counts the replies in SavedUSD whose tokens were estimated.
	SavedEstimated int `json:"saved_estimated,omitempty"`
	// UnassignedSavingsUSD is the part of CachedSavingsUSD that belongs to no question in the file:
	// savings of the daemon, of the check of the judge, and of questions that were asked again.
	UnassignedSavingsUSD llm.USD `json:"unassigned_savings_usd"`
}

// SetList sets the list cost. questions is what cached replies have saved that belong to questions.
func (c *CostAccounting) SetList(l ListCost, questions llm.USD) {
	// A crash of the machine may have lost lines of the ledger whose questions were kept.
	c.CachedSavingsUSD = max(c.CachedSavingsUSD, questions)
	l.UnassignedSavingsUSD = c.CachedSavingsUSD - questions
	c.List = &l
	l.USD = c.ListUSD()
}

// ListUSD adds up the list cost, nil if it is not recorded or not known.
func (c *CostAccounting) ListUSD() *llm.USD {
	if c.List == nil || len(c.Unpriced) > 0 || c.List.ReusedUnrecorded > 0 {
		return nil
	}
	return new(c.TotalUSD.Plus(c.List.SavedUSD).Plus(c.List.SharedUSD).Plus(c.List.ReusedUSD))
}

// SpentKnown reports whether TotalUSD has everything that was spent. Models without a price whose
// replies were all in the cache cost nothing.
func (c *CostAccounting) SpentKnown() bool { return len(c.Missing()) == 0 }

// Missing returns the models whose cost is not in TotalUSD, because their price is not known.
func (c *CostAccounting) Missing() (models []string) {
	for _, model := range c.Unpriced {
		if c.Tokens[model].Requests > 0 {
			models = append(models, model)
		}
	}
	return models
}

// ListText returns the list cost as outputs show it: "unknown" if the price of a model is not
// known, "not recorded" if it or a part of it was not.
func (c *CostAccounting) ListText() string {
	switch {
	case c.List == nil || c.List.ReusedUnrecorded > 0:
		return "not recorded"
	case c.List.USD == nil:
		return unknownAmount
	}
	return c.List.USD.String()
}

// SavedText returns as outputs show it what cached replies saved, in the sum of the list cost, and
// of how many the tokens are estimates.
func (c *CostAccounting) SavedText() string {
	switch l := c.List; {
	case l == nil:
		return c.CachedSavingsUSD.String()
	case len(c.Unpriced) > 0 && l.SavedUSD == 0 && c.CacheHits > 0:
		return unknownAmount
	case l.SavedEstimated > 0:
		return fmt.Sprintf("%s (tokens estimated in %s)", l.SavedUSD, figure.Count(l.SavedEstimated, "request"))
	default:
		return l.SavedUSD.String()
	}
}

// unknownAmount is what outputs have for an amount without a price.
const unknownAmount = "unknown"

// Amount returns what was spent in total as outputs show it: apart what may have been charged, and
// "unknown" if the price of a model is not known.
func (c *Cost) Amount() string {
	total, unknown := c.Total()
	mayHave := c.MayHaveBeenChargedUSD
	if c.Parts != nil {
		mayHave = c.Parts.MayHaveUSD
	}
	return amount(total, mayHave, unknown)
}

// Judge returns what judging cost as Amount does.
func (c *Cost) Judge() string {
	return amount(c.SpentUSD, c.MayHaveBeenChargedUSD, c.UnpricedModel != "")
}

// Total returns what was spent in total, as far as the file has it. unknown is set if the price of
// a model is not known, so that its cost is missing.
func (c *Cost) Total() (total llm.USD, unknown bool) {
	if c.TotalUSD == nil {
		return c.SpentUSD, c.UnpricedModel != ""
	}
	return *c.TotalUSD, len(c.Unpriced) > 0
}

// Amount returns what was spent as Cost.Amount does.
func (c *CostAccounting) Amount() string { return amount(c.TotalUSD, c.LostUSD, !c.SpentKnown()) }

// Amount returns what a run or a replay cost as Cost.Amount does.
func (r *Result) Amount() string {
	if r.GivenVerdicts() {
		return unknownAmount
	}
	if total, _ := r.Cost.Total(); r.Unmetered() {
		return amount(total, 0, true)
	}
	if c := r.CostAccounting; c != nil && r.Cost.TotalUSD == nil {
		return c.Amount()
	}
	return r.Cost.Amount()
}

// Spent returns what a run or a replay cost as Cost.Total does. What another harness spent is not
// known.
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

// Unmetered reports whether the service may have called models by itself, at a cost that is not known.
func (r *Result) Unmetered() bool { return r.Mapped != nil && r.Mapped.Models == ModelsUnknown }

func amount(spent, mayHave llm.USD, unpriced bool) string {
	text := (spent - min(mayHave, spent)).String()
	if mayHave > 0 {
		text += fmt.Sprintf(" + up to %s that may have been charged", mayHave)
	}
	switch {
	case unpriced && spent == 0:
		return unknownAmount
	case unpriced:
		return text + " + an " + unknownAmount + " amount"
	}
	return text
}

// AddTokens adds two counts that are not negative. A sum beyond the range is the largest number.
func AddTokens(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}
