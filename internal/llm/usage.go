package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"

	"evalctl/internal/decimal"
	"evalctl/internal/printable"
)

// Usage counts tokens. Estimated is set if the provider sent no plausible counts, and the counts
// are computed from the length of the text or are the largest possible.
type Usage struct {
	InputTokens  int
	OutputTokens int
	Estimated    bool
}

// Plus adds two usages. The sum is estimated if either of them is. Counts beyond the range of int
// are the largest int.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		addTokens(u.InputTokens, v.InputTokens), addTokens(u.OutputTokens, v.OutputTokens), u.Estimated || v.Estimated,
	}
}

// addTokens adds two counts that are not negative.
func addTokens(a, b int) int {
	if b > math.MaxInt-a {
		return math.MaxInt
	}
	return a + b
}

// ParseUsage reads the object usage of an answer of an OpenAI-compatible API. The output is
// completion_tokens, or total_tokens minus prompt_tokens if that is more: some servers count
// reasoning only in the total, and charge for it. problem says why the counts are implausible, such
// as a negative one; the usage is then empty. Without a problem, no InputTokens mean that the
// provider did not count.
func ParseUsage(raw []byte) (u Usage, problem string) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return Usage{}, ""
	}
	var counts wireUsage
	if json.Unmarshal(raw, &counts) != nil {
		return Usage{}, "usage is " + quoteJSON(raw) + ", not an object"
	}
	var n [3]int
	for i, field := range []struct {
		name string
		raw  json.RawMessage
	}{
		{"prompt_tokens", counts.Prompt}, {"completion_tokens", counts.Completion}, {"total_tokens", counts.Total},
	} {
		var ok bool
		if n[i], ok = parseTokens(field.raw); !ok {
			return Usage{}, fmt.Sprintf("%s is %s, not a number of tokens", field.name, quoteJSON(field.raw))
		}
	}
	if n[0] == 0 {
		return Usage{}, ""
	}
	return Usage{InputTokens: n[0], OutputTokens: max(n[1], n[2]-n[0])}, ""
}

// wireUsage is the object usage, whose counts may have any type.
type wireUsage struct {
	Prompt     json.RawMessage `json:"prompt_tokens"`
	Completion json.RawMessage `json:"completion_tokens"`
	Total      json.RawMessage `json:"total_tokens"`
}

// inputTokens returns the tokens in the usage of an answer without output, 0 if they were not
// counted or the count cannot be read.
func inputTokens(usage []byte) int {
	var counts wireUsage
	_ = json.Unmarshal(usage, &counts)
	prompt, _ := parseTokens(counts.Prompt)
	total, _ := parseTokens(counts.Total)
	return cmp.Or(prompt, total)
}

// RejectedUsage reads the usage in the body of a rejected request, beside its key error or inside
// it, as ParseUsage does. counted reports whether the provider sent a count there, even an
// implausible one. A usage that is not an object does not count.
func RejectedUsage(body []byte) (u Usage, problem string, counted bool) {
	var outer, inner struct {
		Usage, Error json.RawMessage
	}
	if json.Unmarshal(body, &outer) != nil {
		return Usage{}, "", false
	}
	raw := outer.Usage
	if raw == nil && json.Unmarshal(outer.Error, &inner) == nil {
		raw = inner.Usage
	}
	if !bytes.HasPrefix(raw, []byte("{")) {
		return Usage{}, "", false // words, such as how to use the API
	}
	u, problem = ParseUsage(raw)
	read := Response{Usage: u, UsageProblem: problem}
	return u, problem, read.counted()
}

// parseTokens returns a count, 0 if it is missing. It rejects numbers below 0, with a fraction or
// beyond decimal.Most.
func parseTokens(raw json.RawMessage) (n int, ok bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return 0, true
	}
	f, err := decimal.Parse(string(raw))
	if err != nil || f != math.Trunc(f) || f < 0 {
		return 0, false
	}
	return int(f), true
}

// quoteJSON returns a short piece of JSON for a message.
func quoteJSON(raw []byte) string {
	return escaped(printable.Short(string(raw), 60))
}

// Overrun describes a usage above the worst case of a request, and is empty for any other usage. It
// compares prices or, without a price, numbers of tokens.
func (u Usage) Overrun(worst Usage, price Price) string {
	if price == (Price{}) {
		price = Price{Dollar, Dollar}
	}
	if price.Cost(u) <= price.Cost(worst) {
		return ""
	}
	return fmt.Sprintf("%d tokens in and %d out are more than the request allows (%d in, %d out)",
		u.InputTokens, u.OutputTokens, worst.InputTokens, worst.OutputTokens)
}
