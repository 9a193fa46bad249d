package nightly

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// cost writes what the arm cost.
func (m *measured) cost(w io.Writer) {
	c := m.res.CostAccounting
	if c == nil {
		return
	}
	fmt.Fprint(w, "### Cost\n\n")
	t := newTable("lr", "for", "USD")
	t.row("ingest", exact(c.IngestUSD))
	t.row("actor", exact(c.ActorUSD))
	t.row("judge", exact(c.JudgeUSD))
	t.row("embeddings", exact(c.EmbedUSD))
	t.row("**total**", "**"+exact(c.TotalUSD)+"**")
	t.row("cap of all arms together", limit(c))
	t.row("saved by cached replies", exact(c.CachedSavingsUSD))
	t.row("each correct answer (95% CI)", perCorrect(c))
	if c.LostUSD > 0 {
		t.row("calls whose reply was lost, part of the total", exact(c.LostUSD))
	}
	if c.SharedUSD > 0 {
		t.row("what all arms share, such as controls", exact(c.SharedUSD))
	}
	t.write(w)
	tokens(w, c)
}

func limit(c *result.CostAccounting) string {
	if c.CapUSD == nil {
		return "no cap"
	}
	return exact(*c.CapUSD)
}

// perCorrect formats what a correct answer cost.
func perCorrect(c *result.CostAccounting) string {
	if c.PerCorrectUSD == nil {
		return none
	}
	s := dollars(float64(*c.PerCorrectUSD) / float64(llm.Dollar))
	if i := c.PerCorrectInterval; i != nil && *c.PerCorrectUSD > 0 {
		s += fmt.Sprintf(" (%s–%s)", dollars(i.Low), dollars(i.High))
	}
	return s
}

// tokens writes the tokens of each model, the hit rate of the cache, and what is not counted.
func tokens(w io.Writer, c *result.CostAccounting) {
	t := newTable("lrrrrr", "model", "requests", "input tokens", "output tokens", "tokens estimated in", "USD")
	for _, model := range slices.Sorted(maps.Keys(c.Tokens)) {
		u := c.Tokens[model]
		t.row(cell(model), grouped(int64(u.Requests)), grouped(u.InputTokens), grouped(u.OutputTokens),
			count(u.Estimated, "request"), exact(u.USD))
	}
	t.write(w)
	if looked := c.CacheHits + c.CacheMisses; looked > 0 {
		fmt.Fprintf(w, "%s of %s replies came from the cache: hit rate %s.\n\n",
			grouped(int64(c.CacheHits)), grouped(int64(looked)), share(c.CacheHits, looked))
	}
	var missing []string
	if len(c.Unpriced) > 0 {
		var models []string
		for _, model := range c.Unpriced {
			models = append(models, code(model))
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
