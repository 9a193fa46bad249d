package report

import (
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// costPart is a part of the cost of a replay.
type costPart struct {
	Name string
	USD  llm.USD
	// Known is false if the price is unknown.
	Known bool
}

// costParts returns the parts of the cost of a replay, nil for another run.
func costParts(r *result.Result) []costPart {
	c := r.CostAccounting
	if c == nil {
		return nil
	}
	return []costPart{
		{"ingest", c.IngestUSD, true}, {"actor", c.ActorUSD, true},
		{"judge", c.JudgeUSD, r.Cost.UnpricedModel == ""}, {"embed", c.EmbedUSD, true},
	}
}

// String formats the amount, "unknown" if it is unknown.
func (p costPart) String() string {
	if !p.Known {
		return "unknown"
	}
	return p.USD.String()
}
