package replay

import (
	"context"
	"errors"
	"io/fs"

	"evalctl/harness"
	"evalctl/harness/aggregate"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/ingest"
	"evalctl/replay/ledger"
	"evalctl/replay/verdict"
	"evalctl/scorer"
)

// DaemonError means that an arm's daemon could not be started, reached or filled.
type DaemonError struct{ Err error }

func (e *DaemonError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *DaemonError) Unwrap() error { return e.Err }

// armRun measures one arm.
type armRun struct {
	*replaying
	arm     Arm
	data    dataset.Dataset
	subject subject

	resumed bool // an earlier process has begun to measure the arm
	tally   *aggregate.ReplaySum
	// controls is what was found when the scorer was checked, nil for one that need not be.
	controls *result.Controls
}

// newArm returns the measuring of an arm of which nothing is open.
func (r *replaying) newArm(a Arm, d dataset.Dataset) armRun {
	return armRun{replaying: r, arm: a, data: d, subject: r.subjectOf(a), tally: aggregate.NewReplay()}
}

// run measures the arm, and leaves the lockstep at the end.
func (r *armRun) run(ctx context.Context) Outcome {
	defer r.steps.leave(r.arm.Name)
	out := Outcome{Arm: r.arm}
	if res := r.done[r.arm.Name]; res != nil {
		out.Result, out.Path = res, r.files.result(r.arm)
		return out
	}
	defer func() { out.Err = errors.Join(out.Err, r.subject.close()) }()
	opened, err := r.subject.open(ctx)
	if err != nil {
		out.Err = asDaemonError(ctx, err)
		return out
	}
	if r.controls, out.Err = r.checked(); out.Err == nil {
		r.measure(opened, &out)
	}
	return out
}

// identity returns what the arm measures. Its subject must be open.
func (r *armRun) identity() armIdentity {
	id, build := r.subject.program()
	return armIdentity{r.plan.identity(r.arm, id, r.data), build, r.arm.Models}
}

// measure fills the brains and asks the questions.
func (r *armRun) measure(ctx context.Context, out *Outcome) {
	j, resumed, err := r.files.open(r.arm, r.identity().Identity, r.ledger)
	if err != nil {
		out.Err = err
		return
	}
	defer j.Close()
	out.Journal, r.resumed = j.Path(), resumed
	if !r.controls.Valid() || !r.controls.Enough() {
		r.refuse(ctx, j, out)
		return
	}
	filled, err := r.place.prepare(ctx, r, j)
	if err != nil {
		out.Err = err
		return
	}
	r.ask(ctx, j, filled, out)
}

// ask asks the questions that the journal does not have, and writes the result.
func (r *armRun) ask(ctx context.Context, j *journal.Journal, filled *ingest.Filled, out *Outcome) {
	config, err := r.config(filled)
	if err != nil {
		out.Err = err
		return
	}
	ended, err := harness.Measure(ctx, config, j)
	if err != nil {
		out.Err = err
		return
	}
	if err := r.finish(ctx, &ended.Result, filled); err != nil {
		out.Err = errors.Join(ended.Stopped, err)
		return
	}
	if out.Path, out.Err = ended.Write(); out.Path != "" {
		out.Result = &ended.Result
	}
}

// fill makes all brains ready. with says who knows which of them are filled already.
func (r *armRun) fill(ctx context.Context, with func(*ingest.Config)) (*ingest.Filled, error) {
	return r.subject.fill(ctx, func(c *ingest.Config) {
		c.Progress = func(n int) { r.ingested(r.arm.Name, n) }
		with(c)
	}, r.haystacks())
}

// haystacks returns the ids of all haystacks.
func (r *armRun) haystacks() []string {
	ids := make([]string, len(r.plan.Haystacks))
	for i, h := range r.plan.Haystacks {
		ids[i] = h.ID
	}
	return ids
}

// settings returns the settings of an arm's run.
func (p *Plan) settings(a Arm) result.Settings {
	s := p.Gate
	s.DaemonEnv = a.DaemonEnv
	s.Concurrency, s.TimeoutSeconds = p.Concurrency, p.Timeout.Seconds()
	return s
}

// config returns the pipeline of the arm's run.
func (r *armRun) config(filled *ingest.Filled) (harness.Config, error) {
	p := r.plan
	config := harness.Config{
		TopK: p.TopK, Dataset: r.data, Concurrency: p.Concurrency, Paid: true, RetryErrors: p.RetryErrors, Observer: r,
		Notes: harness.Notes{CapUSD: r.ledger.Cap(), Settings: p.settings(r.arm)},
	}
	if p.judging != nil {
		config.Notes.UnpricedModel = p.judging.UnpricedModel()
	}
	brains, err := r.brains(filled)
	if err != nil {
		return config, err
	}
	config.Notes.Brains = harness.BrainInfos(brains)
	if err := r.asks(&config, filled, brains); err != nil {
		return config, err
	}
	return config, r.place.stages(r, &config, filled)
}

// brains returns the brains of the arm's questions, none if none is filled.
func (r *armRun) brains(filled *ingest.Filled) ([]dataset.Brain, error) {
	if len(filled.Brains) == 0 {
		return nil, nil
	}
	return r.data.Brains(nil)
}

// asks has a configuration ask the arm's subject.
func (r *armRun) asks(c *harness.Config, filled *ingest.Filled, brains []dataset.Brain) error {
	reader, err := r.counted(r.plan.reader, r.plan.Reader, ledger.Actor, r.arm.Name, r.cache.Wrap)
	if err != nil {
		return err
	}
	return r.subject.asks(c, harness.Daemon{
		Timeout: r.plan.Timeout, TopK: r.plan.TopK, Brains: brains, Documents: filled,
	}, reader, filled)
}

// grading returns the stage that scores with sc, and adds verdicts and losses.
func (r *armRun) grading(sc scorer.Scorer, filled *ingest.Filled) pipeline.Scorer {
	p := r.plan
	return verdict.Scorer{
		Scorer: pipeline.Grader{Scorer: sc}, Questions: p.byID, TopK: p.TopK,
		Reads: p.scenario(r.arm).Reads(), Judged: p.judging != nil && p.Prompts != nil, Retrieves: r.arm.daemon(),
		Gold: p.Scorer.Needs == scorer.NeedGold, Documents: filled,
	}
}

// asDaemonError marks the error of a daemon that cannot be used. The end of ctx, of the money and
// of what is cached are not the daemon's, nor are files that cannot be used.
func asDaemonError(ctx context.Context, err error) error {
	_, marked := errors.AsType[*DaemonError](err)
	_, local := errors.AsType[*fs.PathError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, llm.ErrBudgetExceeded), errors.Is(err, llm.ErrNotCached):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case marked, local, errors.Is(err, harness.ErrHome):
		return err
	}
	return &DaemonError{err}
}
