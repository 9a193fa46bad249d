package nightly

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/markdown"
)

// cost writes what the arm cost.
func (m *measured) cost(w io.Writer) {
	c := m.res.CostAccounting
	if c == nil {
		return
	}
	fmt.Fprint(w, "### Cost\n\n")
	t := markdown.NewTable("lr", "for", "USD")
	for _, p := range m.res.CostParts() {
		t.Row(p.Name, plain(p.String()))
	}
	t.Row("**spent**", "**"+known(c.TotalUSD, c.SpentKnown() || c.TotalUSD > 0)+"**")
	for _, item := range m.res.CostItems() {
		t.Row(item.Name, plain(item.Text))
	}
	t.Row("each correct answer, by the list cost (95% Wilson)", perCorrect(c))
	t.Write(w)
	tokens(w, c)
}

// known formats an amount if its price is known.
func known(u llm.USD, priced bool) string {
	if !priced {
		return "unknown"
	}
	return exact(u)
}

// total formats what was spent on an arm.
func total(c *result.CostAccounting) string {
	if !c.SpentKnown() && c.TotalUSD == 0 {
		return "unknown"
	}
	return markdown.Dollars(float64(c.TotalUSD) / float64(llm.Dollar))
}

// listCost formats what an arm would have cost alone.
func listCost(c *result.CostAccounting) string {
	if c.List == nil || c.List.USD == nil {
		return c.ListText()
	}
	return markdown.Dollars(float64(*c.List.USD) / float64(llm.Dollar))
}

// perCorrect formats what a correct answer cost by the list cost.
func perCorrect(c *result.CostAccounting) string {
	if c.PerCorrectUSD == nil || len(c.Unpriced) > 0 {
		return markdown.None
	}
	s := markdown.Dollars(float64(*c.PerCorrectUSD) / float64(llm.Dollar))
	if i := c.PerCorrectInterval; i != nil && *c.PerCorrectUSD > 0 {
		s += fmt.Sprintf(" (%s–%s)", markdown.Dollars(i.Low), markdown.Dollars(i.High))
	}
	return s
}

// tokens writes the tokens of each model, the hit rate of the cache, and what is not counted.
func tokens(w io.Writer, c *result.CostAccounting) {
	t := markdown.NewTable("lrrrrr", "model", "requests", "input tokens", "output tokens", "tokens estimated in", "USD")
	for _, model := range slices.Sorted(maps.Keys(c.Tokens)) {
		u := c.Tokens[model]
		t.Row(markdown.Cell(model), markdown.Grouped(int64(u.Requests)), markdown.Grouped(u.InputTokens), markdown.Grouped(u.OutputTokens),
			markdown.Count(u.Estimated, "request"), known(u.USD, !slices.Contains(c.Unpriced, model)))
	}
	t.Write(w)
	if looked := c.CacheHits + c.CacheMisses; looked > 0 {
		fmt.Fprintf(w, "%s of %s replies came from the cache: hit rate %s.\n\n",
			markdown.Grouped(int64(c.CacheHits)), markdown.Grouped(int64(looked)), markdown.Share(c.CacheHits, looked))
	}
	var missing []string
	if len(c.Unpriced) > 0 {
		var models []string
		for _, model := range c.Unpriced {
			models = append(models, markdown.Code(model))
		}
		missing = append(missing, "that of models without a known price: "+strings.Join(models, ", "))
	}
	if c.Unmetered {
		missing = append(missing, "that of models which the daemon may call by itself")
	}
	if len(missing) > 0 {
		fmt.Fprintf(w, "**The cost is incomplete.** It lacks %s.\n\n", strings.Join(missing, ", and "))
	}
}
