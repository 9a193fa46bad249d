package replay

import (
	"slices"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// identity returns everything that determines the outcome of an arm. daemon is zero for a baseline.
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
	if a.hasDaemon() {
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

// actorID identifies the writer of the arm's answers.
func (p *Plan) actorID(a Arm) result.Actor {
	return p.actors[a.Name].Identity()
}

// manifest returns the replay part of an arm's result, without figures.
func (p *Plan) manifest(a Arm, controls *result.Controls) *result.Replay {
	r := &result.Replay{
		SchemaVersion: replaySchemaVersion, Arm: a.Name, Load: p.Benchmark.Report,
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

// replaySchemaVersion is the version of Replay.
const replaySchemaVersion = 1
