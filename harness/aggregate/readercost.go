package aggregate

import (
	"maps"
	"slices"

	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// ReaderPrices are the prices of reader tokens.
type ReaderPrices struct {
	// Of returns the price of a model; ok is false if it is unknown.
	Of   func(model string) (price llm.Price, ok bool)
	Date string
}

// newReaderCost prices the tokens of models. It returns nil if there are none.
func newReaderCost(tokens map[string]result.TokenSums, prices ReaderPrices) *result.ReaderCost {
	if len(tokens) == 0 {
		return nil
	}
	c := &result.ReaderCost{USD: new(llm.USD(0)), PricesDate: prices.Date, Models: map[string]result.ReaderModelCost{}}
	for _, name := range slices.Sorted(maps.Keys(tokens)) {
		m := result.ReaderModelCost{TokenSums: tokens[name]}
		price, ok := prices.Of(name)
		switch {
		case !ok:
			c.USD = nil
		default:
			usd := price.Cost(llm.Usage{InputTokens: int(m.InputTokens), OutputTokens: int(m.OutputTokens)})
			m.USD, m.Price = &usd, &result.ModelPrice{Input: price.Input, Output: price.Output}
			if c.USD != nil {
				c.USD = new(c.USD.Plus(usd))
			}
		}
		c.Models[name] = m
	}
	return c
}

// PricesOf returns the prices in c, with which it can be recomputed.
func PricesOf(c *result.ReaderCost) ReaderPrices {
	return ReaderPrices{Date: c.PricesDate, Of: func(model string) (llm.Price, bool) {
		p := c.Models[model].Price
		if p == nil {
			return llm.Price{}, false
		}
		return llm.Price{Input: p.Input, Output: p.Output}, true
	}}
}
