package replay

import (
	"context"
	"fmt"

	"evalctl/harness/aggregate"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
	"evalctl/replay/ledger"
	"evalctl/scorer"
)

// actorConfig returns how an arm answers. Without a target, the actor only prices answers.
func (p *Plan) actorConfig(
	a Arm, reader llm.Provider, t *target.Target,
	documents func(dataset.Question, result.Chunk, scorer.Ranking) []string,
) actor.Config {
	c := actor.Config{
		Style: p.style(a), Target: t, Prices: p.Prices, TopK: p.TopK, QuestionDate: p.QuestionDate,
		Benchmark: p.Benchmark, Documents: documents,
	}
	if c.Style != actor.Full && reader != nil {
		c.Reader, c.Model, c.BaseURL = reader, p.Reader.Model, llm.RecordedURL(*p.Reader)
	}
	if t == nil && a.daemon() {
		c.Target = &target.Target{Mode: a.Mode, Dialect: a.Dialect}
	}
	return c
}

// finish adds the figures of a replay to the result, and has the subject add its own.
func (r *armRun) finish(ctx context.Context, res *result.Result, filled *ingest.Filled) error {
	if err := filled.Err(); err != nil {
		return fmt.Errorf("find the gold in what was retrieved: %w", err)
	}
	res.Replay = r.plan.manifest(r.arm, r.controls)
	if len(filled.Brains) > 0 {
		res.Replay.Ingest = &filled.Report
	}
	res.Replay.Together = r.place.together(r)
	if err := r.subject.report(ctx, res, filled); err != nil {
		return err
	}
	r.tally.Fill(res)
	list := result.ListCost{ReusedUSD: filled.ReusedUSD, ReusedUnrecorded: filled.Unrecorded}
	cost := r.plan.accounting(r.ledger, r.arm, list, r.tally.Saved())
	if m := res.Replay.ModelRequests; m != nil {
		m.SinceResumed = r.resumed
		cost.Unmetered = cost.Unmetered || len(m.Silent) > 0
	}
	aggregate.PerCorrect(&cost, res.Counts)
	res.CostAccounting = &cost
	return r.ledger.Err()
}

// originals returns the references before errata.
func (r *armRun) originals() map[string]scorer.Reference {
	out := map[string]scorer.Reference{}
	for _, q := range r.plan.Questions {
		if e := q.Erratum; e != nil && !e.Exclude && e.OriginalAnswer != q.Answer {
			out[q.ID] = scorer.Reference{
				Answer: e.OriginalAnswer, Expected: e.OriginalExpected, Type: q.JudgeType(),
			}
		}
	}
	return out
}

// cached returns the provider of a cache that asks a model: llm.Cache.Wrap or llm.Cache.Refresh.
type cached func(m *llm.Meter, baseURL string) llm.Provider

// scorer returns the scorer whose money is an arm's.
func (r *replaying) scorer(arm string, wrap cached) (scorer.Scorer, error) {
	if r.plan.judging == nil {
		return r.plan.scoredBy(nil)
	}
	if arm == controlArm {
		// The items check the headline, and package control has a limit of its own.
		judge, err := r.openedJudge(arm, wrap, 0)
		if err != nil {
			return nil, err
		}
		return judge.NewScorer(0)
	}
	judge, err := r.openedJudge(arm, wrap, r.plan.MaxUnusable)
	if err != nil {
		return nil, err
	}
	return r.plan.scoredBy(judge)
}

// counted returns a model whose calls are in the ledger and whose replies are cached, nil for nil.
func (r *replaying) counted(
	p llm.Provider, m *llm.Config, phase ledger.Phase, arm string, wrap cached,
) (llm.Provider, error) {
	if p == nil {
		return nil, nil
	}
	meter, err := llm.NewAccountMeter(p, r.plan.Prices, r.ledger.Account(phase, arm))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", phase, err)
	}
	return wrap(meter, llm.RecordedURL(*m)), nil
}
