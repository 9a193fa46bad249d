package result

import "evalctl/internal/llm"

// Embeddings counts a daemon's embeddings during a run, from the seeding of its brains to the last
// answer, as reported by its metrics. The count includes other users of the daemon. The daemon
// pays.
type Embeddings struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Embedded is the number of texts embedded by the model, Cached the number of texts with cached
	// vectors.
	Embedded int64 `json:"embedded"`
	Cached   int64 `json:"from_cache"`
	// Tokens is nil if the provider did not count all of them.
	Tokens *int64 `json:"tokens"`
	// USD and Price, per million tokens, are nil if unknown.
	USD   *llm.USD `json:"usd"`
	Price *llm.USD `json:"price"`
	// PricesDate is the day of the list price, YYYY-MM-DD; empty if it is unknown or 0.
	PricesDate string `json:"prices_date,omitempty"`
	// Incomplete is set if the daemon has embedded more: the run was killed and resumed, or the
	// daemon ended and its last embeddings are unknown.
	Incomplete bool `json:"incomplete,omitempty"`
}

// SetPrice sets Price, USD and PricesDate. date is the day of the list prices, "" if unknown.
func (e *Embeddings) SetPrice(prices llm.Prices, date string) {
	if e == nil {
		return
	}
	e.Price, e.PricesDate = nil, ""
	if price, ok := prices.Of(e.Provider, e.Model); ok {
		e.Price = &price.Input
		if price.Input > 0 {
			e.PricesDate = date
		}
	}
	e.USD = e.Cost()
}

// Cost returns USD as computed from Price and Tokens.
func (e *Embeddings) Cost() *llm.USD {
	switch {
	case e.Price == nil:
		return nil
	case e.Embedded == 0 || *e.Price == 0:
		return new(llm.USD(0))
	case e.Tokens == nil:
		return nil
	}
	return new(llm.Price{Input: *e.Price}.Cost(llm.Usage{InputTokens: int(*e.Tokens)}))
}
