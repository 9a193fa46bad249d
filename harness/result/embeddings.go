package result

import (
	"fmt"
	"strings"

	"evalctl/internal/llm"
)

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

// Plus adds the embeddings of two parts of a run, without their price. It returns nil if the models
// differ.
func (e *Embeddings) Plus(more *Embeddings) *Embeddings {
	if e.Provider != more.Provider || e.Model != more.Model {
		return nil
	}
	sum := &Embeddings{
		Provider: e.Provider, Model: e.Model, Embedded: e.Embedded + more.Embedded, Cached: e.Cached + more.Cached,
		Incomplete: e.Incomplete || more.Incomplete,
	}
	if e.Tokens != nil && more.Tokens != nil {
		sum.Tokens = new(*e.Tokens + *more.Tokens)
	}
	return sum
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

// Text describes the embeddings and their cost. The name of the model is as the daemon wrote it.
func (e *Embeddings) Text() string {
	text := e.Count()
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

// Count is Text without the cost.
func (e *Embeddings) Count() string {
	text := fmt.Sprintf("%d by %s, %d from a cache", e.Embedded, strings.TrimSpace(e.Model), e.Cached)
	if e.Tokens != nil && *e.Tokens > 0 {
		text += fmt.Sprintf(", %d tokens", *e.Tokens)
	}
	if e.Incomplete {
		text = "at least " + text
	}
	return text
}
