package llm

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"strings"
	"time"
)

// Price is the price of a model per million tokens. It ignores discounts for cached input and for
// batches, so a cost is never below the bill.
type Price struct {
	Input  USD
	Output USD
}

// Cost returns the price of the usage, rounded up to a nano-dollar. Negative counts cost nothing. A
// sum beyond USD's range is the largest USD.
func (p Price) Cost(u Usage) USD {
	inHi, inLo := bits.Mul64(uint64(max(u.InputTokens, 0)), uint64(p.Input))
	outHi, outLo := bits.Mul64(uint64(max(u.OutputTokens, 0)), uint64(p.Output))
	lo, carry := bits.Add64(inLo, outLo, 0)
	hi, _ := bits.Add64(inHi, outHi, carry)
	const million = 1_000_000
	lo, carry = bits.Add64(lo, million-1, 0)
	hi += carry
	if hi >= million {
		return math.MaxInt64
	}
	quo, _ := bits.Div64(hi, lo, million)
	return USD(min(quo, math.MaxInt64))
}

// Prices maps the name of a model to its price.
type Prices map[string]Price

// PricesDate is the day on which the table of DefaultPrices was compiled; docs/costs.md names the
// sources.
const PricesDate = "2026-11-22"

// DefaultPrices returns a new table of well-known models with their public list prices of
// PricesDate. The caller may add to it. It leaves out models whose price depends on the length of
// the prompt or on the time of day.
func DefaultPrices() Prices {
	return maps.Clone(listPrices)
}

const cent = Dollar / 100

// listPrices has the sources in docs/costs.md.
var listPrices = Prices{
	"gpt-4o":            {250 * cent, 1000 * cent},
	"gpt-4o-2024-05-13": {500 * cent, 1500 * cent}, // the first snapshot kept its old price
	"gpt-4o-mini":       {15 * cent, 60 * cent},
	"gpt-4.1":           {200 * cent, 800 * cent},
	"gpt-4.1-mini":      {40 * cent, 160 * cent},
	"gpt-4.1-nano":      {10 * cent, 40 * cent},
	"gpt-5":             {125 * cent, 1000 * cent},
	"gpt-5-mini":        {25 * cent, 200 * cent},
	"gpt-5-nano":        {5 * cent, 40 * cent},
	"gpt-5.1":           {125 * cent, 1000 * cent},
	"gpt-5.2":           {175 * cent, 1400 * cent},
	"o1":                {1500 * cent, 6000 * cent},
	"o3":                {200 * cent, 800 * cent},
	"o3-mini":           {110 * cent, 440 * cent},
	"o4-mini":           {110 * cent, 440 * cent},

	"text-embedding-3-small": {2 * cent, 0},
	"text-embedding-3-large": {13 * cent, 0},
	"text-embedding-ada-002": {10 * cent, 0},

	"claude-opus-4-1":   {1500 * cent, 7500 * cent},
	"claude-opus-4-5":   {500 * cent, 2500 * cent},
	"claude-sonnet-4-5": {300 * cent, 1500 * cent},
	"claude-haiku-4-5":  {100 * cent, 500 * cent},
	"claude-opus-5":     {500 * cent, 2500 * cent},
	"claude-sonnet-5":   {200 * cent, 1000 * cent},

	"gemini-2.5-flash":      {30 * cent, 250 * cent},
	"gemini-2.5-flash-lite": {10 * cent, 40 * cent},
}

// Of returns the price of a provider's model. The providers "fake" and "ollama" charge nothing. A
// dated snapshot such as gpt-4.1-2025-04-14 or claude-haiku-4-5-20251001 costs as much as its model
// unless it has its own entry. ok is false for a model that is not in the table, or not under this
// name: a router's openai/gpt-4o has prices of the router, and gpt-5-chat-latest may be another
// model tomorrow.
func (p Prices) Of(provider, model string) (price Price, ok bool) {
	if provider == ProviderFake || provider == ProviderOllama {
		return Price{}, true
	}
	if price, ok = p[model]; ok {
		return price, true
	}
	for _, form := range []string{"-2006-01-02", "-20060102"} {
		cut := len(model) - len(form)
		if cut <= 0 {
			continue
		}
		if _, err := time.Parse(form, model[cut:]); err == nil {
			price, ok = p[model[:cut]]
			return price, ok
		}
	}
	return Price{}, false
}

// Check returns an error for a model with an unknown price. A cap cannot be enforced for it.
func (p Prices) Check(provider, model string) error {
	if _, ok := p.Of(provider, model); ok {
		return nil
	}
	return fmt.Errorf("no price is known for model %s of provider %s, so the spend cap cannot be enforced: "+
		"give --price model=in/out in dollars per million tokens", quote(model), provider)
}

// ParsePrice parses "model=in/out" in dollars per million tokens, such as "gpt-4o=2.50/10".
func ParsePrice(s string) (model string, price Price, err error) {
	// The last "=", because the name of a model may contain one, as in "host/x=y".
	i := strings.LastIndexByte(s, '=')
	if i <= 0 {
		return "", Price{}, badPrice(s, errors.New("no model before ="))
	}
	in, out, ok := strings.Cut(s[i+1:], "/")
	if !ok {
		return "", Price{}, badPrice(s, errors.New("no / between the input and the output price"))
	}
	if price.Input, err = ParseUSD(in); err != nil {
		return "", Price{}, badPrice(s, err)
	}
	if price.Output, err = ParseUSD(out); err != nil {
		return "", Price{}, badPrice(s, err)
	}
	return s[:i], price, nil
}

func badPrice(s string, err error) error {
	return fmt.Errorf("price %q: %w; write model=in/out in dollars per million tokens, such as gpt-4o=2.50/10",
		s, err)
}
