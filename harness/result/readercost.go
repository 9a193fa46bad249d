package result

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/internal/llm"
)

// ReaderCost is the cost of the tokens that a daemon reported for its reader, at list prices. The
// daemon pays for them: they are in no other cost, and no cap limits them.
type ReaderCost struct {
	// USD is the sum over Models, nil if any price is unknown.
	USD *llm.USD `json:"usd"`
	// PricesDate is the day of the list prices, YYYY-MM-DD, empty if unknown.
	PricesDate string `json:"prices_date,omitempty"`
	// Models are by the name reported by the daemon, "" if it reported none.
	Models map[string]ReaderModelCost `json:"models"`
}

// ReaderModelCost is the part of a model. USD and Price are nil if the price is unknown.
type ReaderModelCost struct {
	TokenSums
	USD   *llm.USD    `json:"usd"`
	Price *ModelPrice `json:"price"`
}

// ReaderPrices are the prices of reader tokens for NewReaderCost.
type ReaderPrices struct {
	// Of returns the price of a model; ok is false if it is unknown.
	Of   func(model string) (price llm.Price, ok bool)
	Date string
}

// NewReaderCost prices the tokens of models. It returns nil if there are none.
func NewReaderCost(tokens map[string]TokenSums, prices ReaderPrices) *ReaderCost {
	if len(tokens) == 0 {
		return nil
	}
	c := &ReaderCost{USD: new(llm.USD(0)), PricesDate: prices.Date, Models: map[string]ReaderModelCost{}}
	for _, name := range slices.Sorted(maps.Keys(tokens)) {
		m := ReaderModelCost{TokenSums: tokens[name]}
		price, ok := prices.Of(name)
		switch {
		case !ok:
			c.USD = nil
		default:
			usd := price.Cost(llm.Usage{InputTokens: int(m.InputTokens), OutputTokens: int(m.OutputTokens)})
			m.USD, m.Price = &usd, &ModelPrice{Input: price.Input, Output: price.Output}
			if c.USD != nil {
				c.USD = new(c.USD.Plus(usd))
			}
		}
		c.Models[name] = m
	}
	return c
}

// Prices returns the prices in c, so that NewReaderCost can recompute it.
func (c *ReaderCost) Prices() ReaderPrices {
	return ReaderPrices{Date: c.PricesDate, Of: func(model string) (llm.Price, bool) {
		p := c.Models[model].Price
		if p == nil {
			return llm.Price{}, false
		}
		return llm.Price{Input: p.Input, Output: p.Output}, true
	}}
}

// Text describes the cost of the daemon's reader. Names in it are as the daemon wrote them: outputs
// must escape it.
func (c *ReaderCost) Text() string {
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
