package replay

import (
	"context"
	"slices"

	"evalctl/harness/ledger"
	"evalctl/harness/plan"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
)

// daemonPays reports whether daemons call models during ingest or to answer.
func (p *Plan) daemonPays() bool {
	return p.Ingest == ingest.Replay || p.Style == actor.Full
}

// uncounted describes what an arm's daemon may pay for without being counted, "" for nothing.
func (p *Plan) uncounted(a Arm) string {
	if a.hasDaemon() && !a.started() && p.daemonPays() {
		return plan.AtEndpoint(a.Session.Endpoint)
	}
	return a.NotCounted(a.Name)
}

// paid reports whether an arm's daemon calls models through a gateway and any of them is not known
// to be free.
func (p *Plan) paid(a Arm) bool {
	return slices.ContainsFunc(a.models(), func(m llm.Config) bool {
		price, ok := p.Prices.Of(m.Provider, m.Model)
		return !ok || price != llm.Price{}
	})
}

// listCost returns what an arm would have cost so far if run alone with an empty cache, nil if a
// model has no known price.
func listCost(l ledger.Books, a Arm) *llm.USD {
	c := l.Accounting(a.Name)
	if len(c.Unpriced) > 0 {
		return nil
	}
	saved, _ := l.Saved(a.Name)
	return new(c.TotalUSD.Plus(saved))
}

// controlArm is the account for costs shared by all arms.
const controlArm = "controls"

// accounting returns the cost of an arm. A single arm also carries the shared costs. questions is
// the amount saved by cached replies to its questions; list has the cost of filling the reused
// brains.
func (p *Plan) accounting(l ledger.Books, a Arm, list result.ListCost, questions llm.USD) result.CostAccounting {
	shared := l.Accounting(controlArm)
	c := l.Accounting(a.Name)
	if len(p.Arms) == 1 {
		c = l.Accounting("")
	}
	c.SharedUSD = shared.TotalUSD
	c.Prices = p.usedPrices(c.Tokens)
	c.Unmetered = p.uncounted(a) != ""
	list.SavedUSD, list.SavedEstimated = l.Saved(a.Name, controlArm)
	if len(p.Arms) > 1 {
		list.SharedUSD = shared.TotalUSD
		c.Unpriced = append(c.Unpriced, shared.Unpriced...)
		slices.Sort(c.Unpriced)
		c.Unpriced = slices.Compact(c.Unpriced)
	}
	c.SetList(list, questions)
	return c
}

// setCost sets the cost of an arm and writes its bill beside the result file own.
func (p *Plan) setCost(ctx context.Context, l ledger.Books, a Arm, res *result.Result, c result.CostAccounting, own string) (err error) {
	var arms []string // all that there are
	if len(p.Arms) > 1 {
		arms = []string{a.Name}
	}
	res.CostAccounting = &c
	res.Cost.SetParts(c.Parts(), c.Missing())
	res.Cost.Bill, err = ledger.WriteBill(ctx, l, own, arms...)
	return err
}

// usedPrices returns the prices of the used models that are not free.
func (p *Plan) usedPrices(used map[string]result.ModelTokens) result.PriceTable {
	t := result.PriceTable{Date: p.PricesDate, Models: map[string]result.ModelPrice{}}
	for model := range used {
		if price, ok := p.Prices.Of(llm.ProviderOpenAI, model); ok {
			t.Models[model] = result.ModelPrice{Input: price.Input, Output: price.Output}
		}
	}
	return t
}
