package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/svg"
)

// costSection shows what was paid for.
func costSection(res *result.Result) section {
	s := section{ID: "cost", Title: "Cost"}
	if a := res.CostAccounting; a != nil {
		s.add(accounting(res)...)
		if res.Replay != nil {
			s.add(modelRequests(res.Replay.ModelRequests)...)
		}
		return s
	}
	c := res.Cost
	if c.JudgeRequests == 0 && res.ReaderUsage.Reported == 0 && res.Embeddings == nil {
		return s
	}
	var facts []fact
	if c.JudgeRequests > 0 {
		limit := "no cap"
		if c.CapUSD != nil {
			limit = "cap " + c.CapUSD.String()
		}
		facts = append(facts, fact{Name: "Judge", Value: fmt.Sprintf("%s (%s), %s, %d tokens in, %d out", c.Amount(), limit, count(c.JudgeRequests, "request"), c.InputTokens, c.OutputTokens)})
		if c.PricesDate != "" {
			facts = append(facts, fact{Name: "Prices of", Value: clean(c.PricesDate)})
		}
		if c.UsageEstimated > 0 {
			facts = append(facts, fact{Name: "Estimated", Value: "the tokens of " + count(c.UsageEstimated, "question")})
		}
		if c.UsageImplausible > 0 {
			facts = append(facts, fact{Name: "Not believed", Value: "the tokens of " + count(c.UsageImplausible, "request") + ", charged as the worst case"})
		}
		if n := len(c.Unassigned); n > 0 {
			facts = append(facts, fact{Name: "Without a verdict", Value: count(n, "request") + " that the run ended before, or asked again"})
		}
	}
	if u := res.ReaderUsage; u.Reported > 0 {
		facts = append(facts, fact{Name: "Reader", Value: fmt.Sprintf("%d tokens in, %d out, reported for %s; the daemon pays for them", u.InputTokens, u.OutputTokens, count(u.Reported, "answer"))})
		if rc := res.ReaderCost; rc != nil {
			facts = append(facts, fact{Name: "Cost of the reader", Value: clean(rc.Text()) + ", apart from the judge"})
		}
	}
	if e := res.Embeddings; e != nil {
		facts = append(facts, fact{Name: "Embeddings", Value: e.Text(clean) + "; the daemon pays for them"})
	}
	if c.TotalUSD != nil {
		facts = append(facts, fact{Name: "Total", Value: c.TotalUSD.String() + ", with what the daemon pays"})
	}
	if text := res.OwnText(); text != "" && res.Identity.Scenario.Reads() {
		facts = append(facts, fact{Name: "Own questions", Value: text})
	}
	s.add(block{Facts: facts})
	return s
}

// modelRequests shows what a started daemon asked of its models.
func modelRequests(m *result.ModelRequests) (out []block) {
	if m == nil {
		return nil
	}
	out = append(out, block{Facts: []fact{{Name: "Requests of the daemon to its models", Value: m.Text()}}})
	for _, warning := range m.Warnings() {
		out = append(out, block{Warning: clean(warning)})
	}
	return out
}

// accounting shows the cost of a replay: its parts, and the tokens of each model.
func accounting(res *result.Result) []block {
	a := res.CostAccounting
	parts := &table{Caption: "Cost of this arm", Columns: columns("for", ">USD", "share")}
	for _, p := range res.CostParts() {
		row := append(cells(p.Name, p.String()), cell{})
		if a.TotalUSD > 0 {
			share := svg.Interval{Value: float64(p.USD) / float64(a.TotalUSD), Low: math.NaN(), High: math.NaN()}
			row[2].Bar = svg.Bar(share, math.NaN())
		}
		parts.row(row...)
	}
	parts.row(append(cells("spent", a.Amount()), cell{})...)
	facts := []fact{{Name: "Requests from the cache", Value: fmt.Sprintf("%d of %d", a.CacheHits, a.CacheHits+a.CacheMisses)}}
	for _, item := range res.CostItems() {
		facts = append(facts, fact{Name: strings.ToUpper(item.Name[:1]) + item.Name[1:], Value: clean(item.Text)})
	}
	if a.PerCorrectUSD != nil {
		text := a.PerCorrectUSD.String()
		if i := a.PerCorrectInterval; i != nil {
			text += fmt.Sprintf(", %s $%.4f to $%.4f", clean(i.Name()), i.Low, i.High)
		}
		if a.List != nil {
			text += ", by the list cost"
		}
		facts = append(facts, fact{Name: "Per correct answer", Value: text})
	}
	out := []block{{Table: parts}, {Facts: facts}}
	if len(a.Unpriced) > 0 {
		out = append(out, block{Warning: "no price is known for " + some(a.Unpriced) + ": their cost is missing"})
	}
	if a.Unmetered {
		out = append(out, block{Warning: "the daemon may have called models by itself, at a cost that is missing"})
	}
	if len(a.Tokens) > 0 {
		t := &table{Caption: "Tokens by model", Columns: columns("model", ">requests", ">tokens in", ">tokens out", ">USD", ">USD per million in", ">out")}
		for _, m := range sortedKeys(a.Tokens) {
			k, price := a.Tokens[m], a.Prices.Models[m]
			usd, in, out := k.USD.String(), price.Input.String(), price.Output.String()
			if slices.Contains(a.Unpriced, m) {
				usd, in, out = "unknown", "unknown", "unknown"
			}
			t.row(cells(name(m), fmt.Sprint(k.Requests), fmt.Sprint(k.InputTokens), fmt.Sprint(k.OutputTokens), usd, in, out)...)
		}
		out = append(out, block{Table: t}, block{Text: "Prices of " + name(a.Prices.Date) + "."})
	}
	return out
}
