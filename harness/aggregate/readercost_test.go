package aggregate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/llm"
)

// TestReaderCost: each model has its price, one without a price makes the sum unknown, and the
// prices in a result give the same cost again.
func TestReaderCost(t *testing.T) {
	list := ReaderPrices{Date: "2026-11-22", Of: func(model string) (llm.Price, bool) {
		return llm.DefaultPrices().Of(llm.ProviderOpenAI, model)
	}}
	tokens := map[string]result.TokenSums{
		"gpt-4o":      {InputTokens: 1000, OutputTokens: 100, Reported: 2},
		"gpt-4o-mini": {InputTokens: 1000, OutputTokens: 0, Reported: 1},
	}
	c := newReaderCost(tokens, list)
	if c.USD == nil || *c.USD != 3_650_000 || wording.ReaderCost(c) != "$0.00365 at prices of 2026-11-22" { // 0.0025 + 0.001 + 0.00015
		t.Errorf("%+v: %s", c, wording.ReaderCost(c))
	}
	if again := newReaderCost(tokens, PricesOf(c)); !cmp.Equal(c, again) {
		t.Error(cmp.Diff(c, again))
	}
	tokens["house"], tokens[""] = result.TokenSums{InputTokens: 5, Reported: 1}, result.TokenSums{InputTokens: 5, Reported: 1}
	c = newReaderCost(tokens, list)
	if c.USD != nil || *c.Models["gpt-4o"].USD != 3_500_000 || c.Models["house"].USD != nil ||
		wording.ReaderCost(c) != "price unknown: a model that is not named, house" {
		t.Errorf("%+v: %s", c, wording.ReaderCost(c))
	}
	b, err := json.Marshal(c)
	if err != nil || !strings.Contains(string(b), `"house":{"input_tokens":5,"output_tokens":0,"reported":1,"usd":null,"price":null}`) {
		t.Errorf("%s, %v", b, err)
	}
	if again := newReaderCost(tokens, PricesOf(c)); !cmp.Equal(c, again) {
		t.Error(cmp.Diff(c, again))
	}
	if newReaderCost(nil, list) != nil {
		t.Error("a cost of nothing")
	}
}
