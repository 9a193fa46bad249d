package replay

import (
	"context"
	"errors"
	"slices"

	"evalctl/harness/aggregate"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/ledger"
)

// identity returns what determines the outcome of an arm, asked at daemon, which is zero for a
// baseline.
func (p *Plan) identity(a Arm, daemon result.DaemonID, d dataset.Dataset) result.Identity {
	id := result.Identity{
		SchemaVersion: result.SchemaVersion, SDK: a.Name, Scorer: p.Scorer.Name, ExactCase: p.ExactCase,
		Scenario: p.scenario(a), Mode: a.Mode, TopK: p.TopK, Dialect: a.Dialect,
		Dataset: result.DatasetID{
			Path: p.Benchmark.Path, SHA256: p.Benchmark.SHA256, Selected: d.Selected, Tags: d.Tags,
		},
		Daemon: daemon, Reader: a.Reader, Tool: p.Tool,
		Replay: &result.ReplayID{Sample: p.Drawn.Signature, Actor: p.actorID(a), OptionSeed: p.Benchmark.OptionSeed},
	}
	if b := p.Benchmark; b.CorpusSHA256 != "" {
		documents := 0
		for _, h := range b.Infos() {
			documents += h.Sessions
		}
		id.Corpus = &result.CorpusID{Path: b.Corpus, SHA256: b.CorpusSHA256, Documents: documents}
	}
	if a.daemon() {
		id.Replay.Ingest, id.Replay.Shared = string(p.Ingest), p.Shared
	}
	if e := p.Benchmark.Errata; e != nil {
		id.Replay.Errata = e.SHA256
	}
	id.Judge, id.Panel = p.JudgeID(), p.Recipes()
	if p.External != nil {
		id.External = new(p.External.Identity())
	}
	if brains, err := d.Brains(nil); err == nil {
		id.Brain = dataset.BrainName(brains, "")
	}
	return id
}

// JudgeID identifies the model that judges and its prompts, nil for none.
func (p *Plan) JudgeID() *result.JudgeModel {
	if p.judging == nil {
		return nil
	}
	return new(p.judging.Identity())
}

// actorID returns what writes the arm's answers.
func (p *Plan) actorID(a Arm) result.Actor {
	return p.actors[a.Name].Identity()
}

// manifest returns what the result of an arm has besides that of a run, without figures.
func (p *Plan) manifest(a Arm, controls *result.Controls) *result.Replay {
	r := &result.Replay{
		SchemaVersion: result.ReplaySchemaVersion, Arm: a.Name, Load: p.Benchmark.Report,
		Sample: p.Drawn, Actor: p.actorID(a), Controls: controls,
		Cache: result.CacheSetting{Mode: string(p.Cache.Mode)},
	}
	if e := p.Benchmark.Errata; e != nil {
		r.Errata = &result.ErrataUse{Path: e.Path, SHA256: e.SHA256, IDs: []string{}}
		for _, q := range p.Questions {
			switch {
			case q.Erratum == nil:
				continue
			case q.Erratum.Exclude:
				r.Errata.Excluded++
			default:
				r.Errata.Corrected++
			}
			r.Errata.IDs = append(r.Errata.IDs, q.ID)
		}
		slices.Sort(r.Errata.IDs)
	}
	return r
}

// controlArm is the account of what all arms share.
const controlArm = "controls"

// accounting returns what an arm has cost. If it is the only one, everything is its own. questions
// is what cached replies have saved that belong to its questions; list has what filling reused
// brains cost.
func (p *Plan) accounting(l ledger.Books, a Arm, list result.ListCost, questions llm.USD) result.CostAccounting {
	shared := l.Accounting(controlArm)
	c := l.Accounting(a.Name)
	if len(p.Arms) == 1 {
		c = l.Accounting("")
	}
	c.SharedUSD = shared.TotalUSD
	c.Prices = p.priced(c.Tokens)
	c.Unmetered = p.uncounted(a) != ""
	list.SavedUSD, list.SavedEstimated = l.Saved(a.Name, controlArm)
	if len(p.Arms) > 1 {
		list.SharedUSD = shared.TotalUSD
		c.Unpriced = append(c.Unpriced, shared.Unpriced...)
		slices.Sort(c.Unpriced)
		c.Unpriced = slices.Compact(c.Unpriced)
	}
	c.SetList(list, questions)
	return c
}

// account brings the costs of finished arms up to date. An arm that finished before others may have
// been charged since: the judge is checked again when the replay is resumed, and requests whose
// process vanished count when that is noticed.
func (r *replaying) account(ctx context.Context, outcomes []Outcome) error {
	if finished(outcomes) {
		if err := r.place.settle(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for _, o := range outcomes {
		if o.Result == nil || o.Err != nil || o.Result.CostAccounting == nil {
			continue
		}
		was := o.Result.CostAccounting
		var questions llm.USD
		var list result.ListCost
		if was.List != nil {
			list, questions = *was.List, was.CachedSavingsUSD-was.List.UnassignedSavingsUSD
		}
		now := r.plan.accounting(r.ledger, o.Arm, list, questions)
		if was.List == nil {
			now.List = nil // an older evalctl has measured it
		}
		if err := r.ledger.Err(); err != nil {
			return err
		}
		if now.TotalUSD == was.TotalUSD && now.SharedUSD == was.SharedUSD && now.LostUSD == was.LostUSD &&
			(was.List == nil || now.List.SavedUSD == was.List.SavedUSD) {
			continue
		}
		now.Unmetered = was.Unmetered
		aggregate.PerCorrect(&now, o.Result.Counts)
		if err := journal.ReplaceCosts(o.Path, &now); err != nil {
			errs = append(errs, err)
			continue
		}
		o.Result.CostAccounting = &now
	}
	return errors.Join(errs...)
}

// priced returns the prices of the models that were used and are not free.
func (p *Plan) priced(used map[string]result.ModelTokens) result.PriceTable {
	t := result.PriceTable{Date: p.PricesDate, Models: map[string]result.ModelPrice{}}
	for model := range used {
		if price, ok := p.Prices.Of(llm.ProviderOpenAI, model); ok {
			t.Models[model] = result.ModelPrice{Input: price.Input, Output: price.Output}
		}
	}
	return t
}
