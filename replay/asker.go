package replay

import (
	"context"
	"fmt"

	"evalctl/harness"
	"evalctl/harness/aggregate"
	"evalctl/harness/dataset"
	"evalctl/harness/judging"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
	"evalctl/replay/ledger"
	"evalctl/scorer"
)

// answers is what answers the questions of an arm. Only that of filled brains has an actor and a
// watch.
type answers struct {
	harness.Answerer
	actor *actor.Actor
	watch *watch
}

// answers returns what answers the arm's questions.
func (r *armRun) answers(filled *ingest.Filled) (answers, error) {
	reader, err := r.counted(r.plan.reader, r.plan.Reader, ledger.Actor, r.arm.Name, r.cache.Wrap)
	if err != nil {
		return answers{}, err
	}
	if filled == nil {
		a, err := actor.New(r.plan.actorConfig(r.arm, reader, nil, nil))
		return answers{Answerer: a}, err
	}
	t := &target.Target{
		Service: r.session.Service(), Brains: filled.Brains, Mode: r.arm.Mode, Dialect: r.arm.Dialect,
	}
	a, err := actor.New(r.plan.actorConfig(r.arm, reader, t, filled.Documents))
	if err != nil {
		return answers{}, err
	}
	probe := *t
	probe.Scenario, probe.TopK = result.SearchOnly, 1
	w := &watch{Answerer: a, probe: &probe, money: r.money}
	r.money.phase(ledger.Actor)
	return answers{w, a, w}, nil
}

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
		c.Reader, c.Model, c.BaseURL = reader, p.Reader.Model, p.Reader.URL
	}
	if t == nil && a.daemon() {
		c.Target = &target.Target{Mode: a.Mode, Dialect: a.Dialect}
	}
	return c
}

// finish adds the figures of a replay to the result, and asks the daemon alone if that is wanted.
func (r *armRun) finish(ctx context.Context, res *result.Result, filled *ingest.Filled, asked answers) error {
	var report *result.Ingest
	if filled != nil {
		if err := filled.Err(); err != nil {
			return fmt.Errorf("find the gold in what was retrieved: %w", err)
		}
		report = &filled.Report
	}
	res.Replay = r.plan.manifest(r.arm, report, r.controls)
	res.Replay.Daemon = r.seen()
	res.Replay.Together = r.place.together(r)
	if r.plan.Alone > 0 && asked.actor != nil {
		var err error
		if res.Replay.Alone, err = r.askAlone(ctx, asked.actor, res.Stopped); err != nil {
			return err
		}
	}
	r.tally.Fill(res)
	if asked.watch != nil {
		res.Replay.Restarts = asked.watch.count()
	}
	var list result.ListCost
	if filled != nil {
		list.ReusedUSD, list.ReusedUnrecorded = filled.ReusedUSD, filled.Unrecorded
	}
	cost := r.plan.accounting(r.ledger, r.arm, list, r.tally.Saved())
	if m := r.requests(filled, asked); m != nil {
		res.Replay.ModelRequests = m
		cost.Unmetered = cost.Unmetered || len(m.Silent) > 0
	}
	aggregate.PerCorrect(&cost, res.Counts)
	res.CostAccounting = &cost
	return r.ledger.Err()
}

// seen returns what this process has seen of the daemon, nil for a baseline, or if workers start
// it.
func (r *armRun) seen() *result.DaemonSeen {
	if r.session == nil {
		return nil
	}
	d := &result.DaemonSeen{Dialects: r.session.Service().Dialects()}
	if process := r.session.Process(); process != nil {
		d.PeakRSSBytes = process.PeakRSS()
	}
	return d
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
	if sc := r.plan.offline(); sc != nil {
		return sc, nil
	}
	provider, err := r.counted(r.plan.judge, r.plan.Judge, ledger.Judge, arm, wrap)
	if err != nil {
		return nil, err
	}
	most := r.plan.MaxUnusable
	if arm == controlArm {
		most = 0 // package control has a limit of its own
	}
	plan, err := judging.New(judging.Config{
		Provider: provider, Model: r.plan.Judge.Model, BaseURL: r.plan.Judge.URL,
		ByType: r.plan.Prompts, Prices: r.plan.Prices, Metered: true, MaxUnusable: most,
	})
	if err != nil {
		return nil, err
	}
	return plan.NewScorer(0)
}

// counted returns a model whose calls are in the ledger and whose replies are cached, nil for nil.
func (r *replaying) counted(
	p llm.Provider, m *Model, phase ledger.Phase, arm string, wrap cached,
) (llm.Provider, error) {
	if p == nil {
		return nil, nil
	}
	meter, err := llm.NewAccountMeter(p, r.plan.Prices, r.ledger.Account(phase, arm))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", phase, err)
	}
	return wrap(meter, m.URL), nil
}
