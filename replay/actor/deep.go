package actor

import (
	"context"

	"evalctl/daemon/protocol"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// deepTopK is the number of chunks searched for gold outside the top-k.
const deepTopK = protocol.MaxSearchTopK

// probe sets the DeepRank of an answer that lacks gold. A failed probe leaves it unset. An error
// means that ctx has ended.
func (a *Actor) probe(ctx context.Context, q dataset.Question, ans *target.Answer) error {
	gold := q.Item().Gold
	if len(gold) == 0 || a.cfg.Documents == nil {
		return nil
	}
	documents := func(c result.Chunk) []string { return a.cfg.Documents(q, c, gold) }
	got := result.CompareWithGold(gold, ans.Retrieved, a.cfg.TopK, documents)
	missing := map[string]bool{}
	for _, g := range got.Gold {
		if g.Rank == 0 {
			missing[g.Path] = true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if a.target.Scenario == a.deepTarget.Scenario && a.cfg.TopK == deepTopK {
		ans.DeepRank = new(0) // this search was as deep
		return nil
	}
	deep, err := a.deepTarget.Ask(ctx, q, target.CallTimeout)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return nil
	}
	ans.DeepRank = new(0)
	for _, g := range result.CompareWithGold(gold, deep.Retrieved, deepTopK, documents).Gold {
		if missing[g.Path] && g.Rank > 0 && (*ans.DeepRank == 0 || g.Rank < *ans.DeepRank) {
			*ans.DeepRank = g.Rank
		}
	}
	return nil
}
