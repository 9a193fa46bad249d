package wording

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
)

// ListCost formats the list cost: "unknown" if the price of a model is unknown, "not recorded" if a
// part was not recorded.
func ListCost(c *result.CostAccounting) string {
	switch {
	case c.List == nil || c.List.ReusedUnrecorded > 0:
		return "not recorded"
	case c.List.USD == nil:
		return unknownAmount
	}
	return c.List.USD.String()
}

// Savings formats the savings by cached replies in the list cost, with the number of replies whose
// tokens are estimates.
func Savings(c *result.CostAccounting) string {
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

// unknownAmount replaces an amount without a price.
const unknownAmount = "unknown"

// CostAmount formats the total cost. Possible charges are listed apart. It is "unknown" if the price
// of a model is unknown.
func CostAmount(c *result.Cost) string {
	total, unknown := c.Total()
	mayHave := c.MayHaveBeenChargedUSD
	if c.Parts != nil {
		mayHave = c.Parts.MayHaveUSD
	}
	return amount(total, mayHave, unknown)
}

// JudgeAmount formats the cost of judging like CostAmount.
func JudgeAmount(c *result.Cost) string {
	return amount(c.SpentUSD, c.MayHaveBeenChargedUSD, c.UnpricedModel != "")
}

// ReplayAmount formats the total cost of an arm like CostAmount.
func ReplayAmount(c *result.CostAccounting) string {
	return amount(c.TotalUSD, c.LostUSD, !c.SpentKnown())
}

// Amount formats the cost of a run or a replay like CostAmount.
func Amount(r *result.Result) string {
	if r.GivenVerdicts() {
		return unknownAmount
	}
	if total, _ := r.Cost.Total(); r.Unmetered() {
		return amount(total, 0, true)
	}
	if c := r.CostAccounting; c != nil && r.Cost.TotalUSD == nil {
		return ReplayAmount(c)
	}
	return CostAmount(&r.Cost)
}

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

// ReaderCost describes the cost of the daemon's reader. Names in it are as the daemon wrote them:
// outputs must escape it.
func ReaderCost(c *result.ReaderCost) string {
	var unpriced []string
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		switch {
		case c.Models[name].Price != nil:
		case name == "":
			unpriced = append(unpriced, "a model that is not named")
		default:
			unpriced = append(unpriced, name)
		}
	}
	text := "price unknown"
	if c.USD != nil {
		text = c.USD.String()
	} else {
		text += ": " + strings.Join(unpriced, ", ")
	}
	if c.PricesDate != "" && c.USD != nil && *c.USD > 0 {
		text += fmt.Sprintf(" at prices of %s", c.PricesDate)
	}
	return text
}

// Embeddings describes the embeddings and their cost. The name of the model is as the daemon wrote
// it.
func Embeddings(e *result.Embeddings) string {
	text := EmbeddingsCount(e)
	switch {
	case e.USD != nil:
		text += ", " + e.USD.String()
	case e.Price == nil:
		text += ", price unknown"
	default:
		text += ", tokens unknown"
	}
	if e.PricesDate != "" && e.USD != nil && *e.USD > 0 {
		text += " at prices of " + e.PricesDate
	}
	return text
}

// EmbeddingsCount is Embeddings without the cost.
func EmbeddingsCount(e *result.Embeddings) string {
	text := fmt.Sprintf("%d by %s, %d from a cache", e.Embedded, strings.TrimSpace(e.Model), e.Cached)
	if e.Tokens != nil && *e.Tokens > 0 {
		text += fmt.Sprintf(", %d tokens", *e.Tokens)
	}
	if e.Incomplete {
		text = "at least " + text
	}
	return text
}
