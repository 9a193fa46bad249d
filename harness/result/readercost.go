package result

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/internal/llm"
)

// ReaderCost is what the tokens cost that a daemon reported for its reader, at list prices. The
// daemon pays for them: they are in no other cost, and no cap limits them.
type ReaderCost struct {
	// USD is the sum over Models, nil if the price of any is not known.
	USD *llm.USD `json:"usd"`
	// PricesDate is the day of the list prices, YYYY-MM-DD; empty if the day is not known.
	PricesDate string `json:"prices_date,omitempty"`
	// Models are by the name that the daemon reported, "" if it named none.
	Models map[string]ReaderModelCost `json:"models"`
}

// ReaderModelCost is the part of a model. USD and Price are nil if the price is not known.
type ReaderModelCost struct {
	TokenSums
	USD   *llm.USD    `json:"usd"`
	Price *ModelPrice `json:"price"`
}

// ReaderPrices are the prices with which Sum prices the tokens of readers.
type ReaderPrices struct {
	// Of returns the price of a model; ok is false if it is not known.
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

// Prices returns the prices in c, from which NewReaderCost makes it again.
func (c *ReaderCost) Prices() ReaderPrices {
	return ReaderPrices{Date: c.PricesDate, Of: func(model string) (llm.Price, bool) {
		p := c.Models[model].Price
		if p == nil {
			return llm.Price{}, false
		}
		return llm.Price{Input: p.Input, Output: p.Output}, true
	}}
}

// Text says what the daemon's reader cost. The names in it are as the daemon wrote them: outputs
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
