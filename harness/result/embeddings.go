package result

import (
	"fmt"
	"strings"

	"evalctl/internal/llm"
)

// Embeddings is what a daemon embedded during a run, from the seeding of its brains to the last
// answer, as its metrics say. A daemon that others use too counts their texts as well. The daemon
// pays.
type Embeddings struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Embedded is the number of texts that the model embedded, Cached that of the texts whose
	// vectors were known.
	Embedded int64 `json:"embedded"`
	Cached   int64 `json:"from_cache"`
	// Tokens is nil if the provider did not count all of them.
	Tokens *int64 `json:"tokens"`
	// USD and Price, of a million tokens, are nil if they are not known.
	USD   *llm.USD `json:"usd"`
	Price *llm.USD `json:"price"`
	// PricesDate is the day of the list price, YYYY-MM-DD; empty if it is not known or 0.
	PricesDate string `json:"prices_date,omitempty"`
	// Resumed is set if the run was resumed: what was embedded before that is missing.
	Resumed bool `json:"since_resumed,omitempty"`
}

// Cost returns what USD must be.
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

// Text says what was embedded and what it cost. The name of the model is as the daemon wrote it.
func (e *Embeddings) Text() string {
	text := fmt.Sprintf("%d by %s, %d from a cache", e.Embedded, strings.TrimSpace(e.Model), e.Cached)
	if e.Tokens != nil && *e.Tokens > 0 {
		text += fmt.Sprintf(", %d tokens", *e.Tokens)
	}
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
	if e.Resumed {
		text += ", since the run was resumed"
	}
	return text
}
