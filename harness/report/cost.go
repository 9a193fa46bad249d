package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
)

// cost returns the costs.
func (run *Run) cost() form.Section {
	res := &run.Result
	s := form.Section{ID: "cost", Title: "Cost"}
	if r := res.Replay; r != nil {
		if i := r.Ingest; i != nil {
			what := figure.Count(i.Sessions, "session")
			if i.Sessions == 0 {
				what = figure.Count(i.Documents, "document")
			}
			s.Fact("ingest", "%s  %s (%d reused)  %s  %.1f s", form.Name(i.Mode), figure.Count(i.Brains, "brain"), i.Reused, what, i.Seconds)
			s.FactIn(form.Pages, "", "signature %s", form.Name(i.Signature))
		}
		if m := r.ModelRequests; m != nil {
			if m.Ingest.Made+m.Answers.Made+m.Embeddings.Made > 0 {
				s.Fact("requests", "%s", requestsText(m))
			}
			for _, warning := range requestWarnings(m) {
				s.Warn(form.Everywhere, "%s", form.Data(warning))
			}
		}
	}
	if res.CostAccounting != nil {
		run.accounting(&s)
		if e := res.Embeddings; e != nil {
			s.Fact("embedded", "%s", form.Data(wording.EmbeddingsCount(e)))
		}
		return s
	}
	run.total(&s)
	if c := &res.Cost; c.JudgeRequests > 0 {
		doubt := ""
		if c.UsageEstimated > 0 {
			doubt = "  tokens estimated for " + figure.Count(c.UsageEstimated, "question")
		}
		if c.UsageImplausible > 0 {
			doubt += fmt.Sprintf("  %s counted tokens that cannot be, charged as the worst case", figure.Count(c.UsageImplausible, "request"))
		}
		s.Fact("judge", "%s  %s  %d tokens in  %d out%s%s", wording.JudgeAmount(c), figure.Count(c.JudgeRequests, "request"), c.InputTokens, c.OutputTokens, doubt, PricesOf(c.PricesDate))
		if n := len(c.Unassigned); n > 0 {
			s.FactIn(form.Pages, "without a verdict", "%s that the run ended before, or asked again", figure.Count(n, "request"))
		}
	}
	if c := res.ReaderCost; c != nil && (c.USD == nil || *c.USD > 0) { // free readers are not shown
		payer := "; the daemon pays"
		if p := res.Cost.Parts; p != nil && p.ReaderUSD > 0 || res.Identity.Rescored != nil {
			payer = "" // the cost includes it, or it belongs to the rescored run
		}
		s.Fact("reader", "%s  %d tokens in  %d out  reported for %s%s", form.Data(wording.ReaderCost(c)),
			res.ReaderUsage.InputTokens, res.ReaderUsage.OutputTokens, figure.Count(res.ReaderUsage.Reported, "answer"), payer)
	}
	if e := res.Embeddings; e != nil {
		s.Fact("embedded", "%s", form.Data(wording.Embeddings(e)))
	}
	return s
}

// total adds the total cost of a run, its parts if there are several, and the daemon's requests to
// the gateway.
func (run *Run) total(s *form.Section) {
	c := &run.Result.Cost
	defer func() {
		for _, warning := range requestWarnings(c.ModelRequests) {
			s.Warn(form.Everywhere, "%s", form.Data(warning))
		}
	}()
	if total, unknown := run.Result.Spent(); total == 0 && !unknown && c.CapUSD == nil {
		return
	}
	parts := []form.Text{form.F("%s%s", wording.Amount(&run.Result), OfCap(c.CapUSD))}
	if run.Result.Unmetered() {
		parts = append(parts, form.F("the service may call models by itself, at a cost that is not known"))
	} else if id := &run.Result.Identity; c.CapUSD != nil && id.Daemon.Endpoint != "" && run.Result.Mapped == nil && id.Rescored == nil {
		parts = append(parts, form.F("the daemon's own models are not counted"))
	}
	if p := c.Parts; p != nil {
		for _, part := range []struct {
			name string
			usd  llm.USD
		}{{"reader", p.ReaderUSD}, {"judge", p.JudgeUSD}, {"embeddings", p.EmbeddingsUSD}, {"daemon", p.DaemonUSD}} {
			if part.usd > 0 && part.usd < p.Total() {
				parts = append(parts, form.F("%s %s", part.name, part.usd))
			}
		}
	}
	if len(c.Unpriced) > 0 {
		parts = append(parts, form.F("not counted, price unknown: %s", form.Join(", ", form.Names(c.Unpriced)...)))
	}
	if c.Bill != nil {
		parts = append(parts, form.F("bill %s", form.Name(c.Bill.File)))
	}
	s.Fact("cost", "%s", form.Parts(parts...))
}

// PricesOf names the day of the prices of a cost, "" if unknown.
func PricesOf(date string) form.Text {
	if date == "" {
		return form.F("")
	}
	return form.F("  prices of %s", form.Name(date))
}

// OfCap formats the cap to follow an amount.
func OfCap(limit *llm.USD) string {
	if limit == nil {
		return " (no cap)"
	}
	return " of " + limit.String()
}

// accounting adds the cost of an arm: its parts, and the tokens of each model.
func (run *Run) accounting(s *form.Section) {
	res, c := &run.Result, run.Result.CostAccounting
	parts := []form.Text{form.F("%s%s", wording.Amount(res), OfCap(c.CapUSD))}
	add := func(format string, args ...any) { parts = append(parts, form.F(format, args...)) }
	shares := form.NewTable(form.F("Cost of this arm"), "for", ">USD", "share")
	var phases []string
	for _, p := range costParts(res) {
		phases = append(phases, p.Name+" "+p.String())
		bar := form.Cell{}
		if c.TotalUSD > 0 {
			bar = share(float64(p.USD), float64(c.TotalUSD))
		}
		shares.Row(p.Name, p, bar)
	}
	shares.Row("spent", wording.Amount(res), "")
	if c.TotalUSD > 0 {
		add("%s", strings.Join(phases, ", "))
	}
	if c.List == nil && !res.Unmetered() {
		parts = append(parts, perCorrect(c)...)
	}
	if asked := c.CacheHits + c.CacheMisses; asked > 0 {
		add("cache hits %.0f%% (%d of %d) saved %s", 100*float64(c.CacheHits)/float64(asked), c.CacheHits, asked, c.CachedSavingsUSD)
	}
	if len(c.Unpriced) > 0 {
		add("not counted, price unknown: %s", form.Join(", ", form.Names(c.Unpriced)...))
	}
	if c.Unmetered {
		add("the daemon's own models are not counted")
	}
	s.Fact("cost", "%s", form.Parts(parts...))
	if !res.Unmetered() {
		listCost(s, c)
	}
	s.Show(form.HTML, shares)
	costItems(s, c)
	if len(c.Tokens) == 0 {
		return
	}
	t := form.NewTable(form.F("Tokens by model, prices of %s", form.Name(c.Prices.Date)), "model", ">requests", ">tokens in", ">tokens out", ">estimated", ">USD", ">USD per million in", ">out")
	for _, m := range sortedKeys(c.Tokens) {
		k, price := c.Tokens[m], c.Prices.Models[m]
		usd, in, out := k.USD.String(), price.Input.String(), price.Output.String()
		if slices.Contains(c.Unpriced, m) {
			usd, in, out = "unknown", "unknown", "unknown"
		}
		t.Row(form.Name(m), k.Requests, k.InputTokens, k.OutputTokens, k.Estimated, usd, in, out)
	}
	s.Show(form.Pages, t)
}

// costItems adds further figures of the cost of an arm.
func costItems(s *form.Section, c *result.CostAccounting) {
	add := func(name, text string) { s.FactIn(form.HTML, name, "%s", text) }
	if c.LostUSD > 0 {
		add("may have been charged, part of what was spent", c.LostUSD.String())
	}
	limit := "no cap"
	if c.CapUSD != nil {
		limit = c.CapUSD.String()
	}
	add("cap of all arms together", limit)
	add("saved by cached replies", wording.Savings(c))
	if c.SharedUSD > 0 {
		add("what all arms share, such as controls", c.SharedUSD.String())
	}
	if l := c.List; l != nil && l.ReusedUSD > 0 {
		add("filling the brains that were reused", l.ReusedUSD.String())
	}
	if l := c.List; l != nil && l.ReusedUnrecorded > 0 {
		add("filling "+figure.Count(l.ReusedUnrecorded, "reused brain"), "not recorded")
	}
	add("list cost: alone, with an empty cache", wording.ListCost(c))
}

// listCost adds the cost of the arm on its own, unless it is free.
func listCost(s *form.Section, c *result.CostAccounting) {
	l := c.List
	if l == nil || l.USD != nil && *l.USD == 0 {
		return
	}
	sum := fmt.Sprintf("%s = spent %s + saved by the cache %s", wording.ListCost(c), wording.ReplayAmount(c), wording.Savings(c))
	if l.SharedUSD > 0 {
		sum += fmt.Sprintf(" + the check of the judge %s", l.SharedUSD)
	}
	if l.ReusedUSD > 0 {
		sum += fmt.Sprintf(" + filling reused brains %s", l.ReusedUSD)
	}
	if l.ReusedUnrecorded > 0 {
		sum += fmt.Sprintf(" + filling %s, not recorded", figure.Count(l.ReusedUnrecorded, "reused brain"))
	}
	s.Fact("list cost", "%s", form.Parts(append([]form.Text{form.F("%s", sum)}, perCorrect(c)...)...))
}

// perCorrect formats the cost of a correct answer, nothing if it is unknown or 0.
func perCorrect(c *result.CostAccounting) []form.Text {
	if c.PerCorrectUSD == nil || *c.PerCorrectUSD == 0 || len(c.Unpriced) > 0 {
		return nil
	}
	text := form.F("%s per correct answer", c.PerCorrectUSD)
	if i := c.PerCorrectInterval; i != nil {
		text = form.F("%s [%s %s] (%s)", text, dollars(i.Low), dollars(i.High), wording.IntervalName(i))
	}
	return []form.Text{text}
}

// dollars returns an amount that was computed as a number of dollars.
func dollars(f float64) llm.USD { return llm.USD(math.Round(f * float64(llm.Dollar))) }
