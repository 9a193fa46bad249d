package replay

import (
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
)

// requests returns what the daemon asked of its gateways, nil if it has none.
func (d *daemon) requests(filled *ingest.Filled) *result.ModelRequests {
	m, counted := d.money.Requests()
	if !counted {
		return nil
	}
	m.Silent = d.silent(m, filled)
	return &m
}

// silent returns what the daemon did without asking for its model. Brains count only if everything
// in them is new to the daemon: it may have kept facts and vectors otherwise.
func (d *daemon) silent(m result.ModelRequests, filled *ingest.Filled) []result.Generated {
	silent := []result.Generated{}
	generates := d.arm.Reader != nil && d.arm.Reader.Provider == llm.ProviderOpenAI
	wrote := d.newHome && filled.Report.Brains > filled.Report.Reused
	if generates && wrote && d.plan.Ingest == ingest.Replay && m.Ingest.Made == 0 {
		silent = append(silent, result.Facts)
	}
	if generates && d.plan.Style == actor.Full && d.outages.sourced.Load() && m.Answers.Made == 0 {
		silent = append(silent, result.Answers)
	}
	if d.arm.Embedding != nil && wrote && m.Embeddings.Made == 0 {
		silent = append(silent, result.Vectors)
	}
	return silent
}
