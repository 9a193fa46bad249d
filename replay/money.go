package replay

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
	"evalctl/replay/ledger"
)

// daemonPays reports whether daemons call models when brains are filled or questions are asked.
func (p *Plan) daemonPays() bool {
	return p.Ingest == ingest.Replay || p.Style == actor.Full
}

// uncounted returns what an arm's daemon may pay for that is not counted, "" for nothing.
func (p *Plan) uncounted(a Arm) string {
	switch {
	case a.daemon() && !a.started() && p.daemonPays():
		return fmt.Sprintf("the daemon at %s calls models by itself", a.Session.Endpoint)
	case a.Uncounted:
		return fmt.Sprintf("the daemon of %s calls the reranker at SVC_RERANK_BASE_URL by itself", a.Name)
	case len(a.Passed) > 0:
		return fmt.Sprintf("the daemon of %s has %s", a.Name, strings.Join(a.Passed, ", "))
	}
	return ""
}

// checkDaemonMoney returns an error if an arm's daemon could pay for what the cap does not limit.
func (p *Plan) checkDaemonMoney(a Arm) error {
	accepted := p.Unmetered || len(a.Passed) > 0 && !a.Uncounted
	if what := p.uncounted(a); what != "" && !accepted {
		remedy := "let this command start it"
		if a.started() {
			remedy = "leave it out with SVC_RERANK_PROVIDER="
		}
		return fmt.Errorf("the cap cannot be enforced: %s, which cannot be counted; %s, or accept that with --unmetered-daemon",
			what, remedy)
	}
	for _, m := range a.models() {
		if err := p.Prices.Check(m.Provider, m.Model); err != nil {
			return fmt.Errorf("models of the daemon of %s: %w", a.Name, err)
		}
	}
	return nil
}

// models returns the models that a started daemon calls through a gateway, or for free.
func (a Arm) models() (out []llm.Config) {
	if !a.started() {
		return nil
	}
	if a.Reader != nil {
		out = append(out, llm.Config{Provider: a.Reader.Provider, Model: a.Reader.Model})
	}
	if a.Reranker != "" {
		out = append(out, llm.Config{Provider: llm.ProviderOpenAI, Model: a.Reranker})
	}
	if a.Embedding != nil {
		out = append(out, *a.Embedding)
	}
	return out
}

// paid reports whether an arm's daemon calls models through a gateway that are not known to be
// free.
func (p *Plan) paid(a Arm) bool {
	return slices.ContainsFunc(a.models(), func(m llm.Config) bool {
		price, ok := p.Prices.Of(m.Provider, m.Model)
		return !ok || price != llm.Price{}
	})
}

// listCost returns what an arm has cost so far, had it been alone with an empty cache, nil if the
// price of a model is not known.
func listCost(l ledger.Books, a Arm) *llm.USD {
	c := l.Accounting(a.Name)
	if len(c.Unpriced) > 0 {
		return nil
	}
	saved, _ := l.Saved(a.Name)
	return new(c.TotalUSD.Plus(saved))
}

// completionModel is the model of the daemon's completions that name none, "" if the model that it
// is configured with is not behind the gateway.
func (a Arm) completionModel() string {
	if a.Reader != nil && a.Reader.Provider == llm.ProviderOpenAI {
		return a.Reader.Model
	}
	return a.Reranker
}
