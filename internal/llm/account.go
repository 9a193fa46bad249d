package llm

import "context"

// Account admits the paid requests of a Meter and keeps their books. Implementations are safe for
// concurrent use.
type Account interface {
	// Capped reports whether there is a spend cap. Models without a known price are then rejected.
	Capped() bool
	// Reserve admits one request to a model that may cost up to worst. It may wait for other
	// requests to settle. An error prevents the request; it wraps ErrBudgetExceeded if the cap is
	// the reason. settle must be called once the outcome is known. Only its first call counts.
	Reserve(ctx context.Context, model string, worst USD) (settle func(Charge), err error)
	// Lookup records a lookup of a model's cached reply, for a call with ctx. saved is the charge
	// that a found reply has saved, or nil if none was found. reply is the key of the reply that
	// was found, or that was paid for and stored instead. It is zero if none was stored.
	Lookup(ctx context.Context, model string, reply CacheKey, saved *Charge)
}

// Charge is the outcome of one request.
type Charge struct {
	Usage Usage
	// Cost is everything charged, Lost included.
	Cost USD
	// Lost is Cost if Cost is the worst case because the provider's count of tokens is unknown:
	// there was no answer, or a count was missing or implausible. The request may have been charged
	// less.
	Lost USD
	// UsageProblem says why the provider's count is implausible.
	UsageProblem string
	// Rejected is set if the provider accepted no request, so that nothing was charged.
	Rejected bool
	// Unpriced is set if the price of the model is unknown. Its cost is missing.
	Unpriced bool
}

// NewAccount returns an account without books. limit is its cap, nil for none.
func NewAccount(limit *USD) Account {
	if limit == nil {
		return budgetAccount{}
	}
	return budgetAccount{NewBudget(*limit)}
}

// budgetAccount is a Budget without books. The budget may be nil.
type budgetAccount struct{ budget *Budget }

func (a budgetAccount) Capped() bool { return a.budget != nil }

func (a budgetAccount) Reserve(ctx context.Context, _ string, worst USD) (func(Charge), error) {
	held, err := a.budget.Reserve(ctx, worst)
	if err != nil {
		return nil, err
	}
	return func(c Charge) { held.Settle(c.Cost) }, nil
}

func (budgetAccount) Lookup(context.Context, string, CacheKey, *Charge) {}
