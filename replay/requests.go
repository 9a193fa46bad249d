package replay

import (
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
)

// requests returns what the daemon asked of its gateways, nil if it has none. If brains were not
// filled by this process, filled is nil or says so in its report.
func (r *armRun) requests(filled *ingest.Filled, asked answers) *result.ModelRequests {
	if len(r.money.gates) == 0 {
		return nil
	}
	var m result.ModelRequests
	for _, g := range r.money.gates {
		m = m.Plus(g.Requests())
	}
	m.SinceResumed = r.resumed
	m.Silent = r.silent(m, filled, asked)
	return &m
}

// silent returns what the daemon did without asking for its model. Brains count only if everything
// in them is new to the daemon: it may have kept facts and vectors otherwise.
func (r *armRun) silent(m result.ModelRequests, filled *ingest.Filled, asked answers) []result.Generated {
	silent := []result.Generated{}
	generates := r.arm.Reader != nil && r.arm.Reader.Provider == llm.ProviderOpenAI
	wrote := r.newHome && filled != nil && filled.Report.Brains > filled.Report.Reused
	if generates && wrote && r.plan.Ingest == ingest.Replay && m.Ingest.Made == 0 {
		silent = append(silent, result.Facts)
	}
	if generates && r.plan.style(r.arm) == actor.Full && asked.watch != nil && asked.watch.sources() > 0 &&
		m.Answers.Made == 0 {
		silent = append(silent, result.Answers)
	}
	if r.arm.Embedding != nil && wrote && m.Embeddings.Made == 0 {
		silent = append(silent, result.Vectors)
	}
	return silent
}
