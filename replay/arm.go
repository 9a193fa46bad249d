package replay

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"evalctl/harness"
	"evalctl/harness/aggregate"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
	"evalctl/replay/ledger"
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
	arm  Arm
	data dataset.Dataset

	held
	resumed bool // an earlier process has begun to measure the arm
	tally   *aggregate.ReplaySum
	// controls is what was found when the scorer was checked, nil for one that need not be.
	controls *result.Controls
}

// newArm returns the measuring of an arm of which nothing is open.
func (r *replaying) newArm(a Arm, d dataset.Dataset) armRun {
	return armRun{replaying: r, arm: a, data: d, held: held{money: &moneyGate{}}, tally: aggregate.NewReplay()}
}

// run measures the arm, and leaves the lockstep at the end.
func (r *armRun) run(ctx context.Context) Outcome {
	defer r.steps.leave(r.arm.Name)
	out := Outcome{Arm: r.arm}
	if res := r.done[r.arm.Name]; res != nil {
		out.Result, out.Path = res, r.files.result(r.arm)
		return out
	}
	if err := r.open(ctx); err != nil {
		out.Err = asDaemonError(ctx, err)
		return out
	}
	defer func() { out.Err = errors.Join(out.Err, r.close()) }()
	if r.session != nil {
		watched, stop := r.place.watch(ctx, r.session)
		defer stop()
		ctx = watched
		r.opened(r.arm.Name, r.session)
	}
	if r.controls, out.Err = r.checked(); out.Err == nil {
		r.measure(ctx, &out)
	}
	return out
}

// measure fills the brains and asks the questions.
func (r *armRun) measure(ctx context.Context, out *Outcome) {
	j, resumed, err := r.files.open(r.arm, r.plan.identity(r.arm, r.daemon(), r.data), r.ledger)
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

// ask asks the questions that the journal does not have, and writes the result. filled is nil if
// there are no brains.
func (r *armRun) ask(ctx context.Context, j *journal.Journal, filled *ingest.Filled, out *Outcome) {
	config, asked, err := r.config(filled)
	if err != nil {
		out.Err = err
		return
	}
	ended, err := harness.Measure(ctx, config, j)
	if err != nil {
		out.Err = err
		return
	}
	if err := r.finish(ctx, &ended.Result, filled, asked); err != nil {
		out.Err = errors.Join(ended.Stopped, err)
		return
	}
	if out.Path, out.Err = ended.Write(); out.Path != "" {
		out.Result = &ended.Result
	}
}

// deathGrace is how long the end of the daemon's process is waited for after a failure, which it
// would explain.
const deathGrace = 250 * time.Millisecond

// awaitDeath waits a moment for ctx to end, as it does when the daemon's process does.
func (r *armRun) awaitDeath(ctx context.Context) {
	if !r.process() {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(deathGrace):
	}
}

// open starts or reaches the daemon.
func (r *armRun) open(ctx context.Context) (err error) {
	if !r.arm.daemon() {
		return nil
	}
	config := r.arm.Session
	if r.arm.started() {
		if config, err = r.startConfig(); err != nil {
			return errors.Join(err, r.close())
		}
	}
	if r.session, err = harness.Open(ctx, config); err != nil {
		if !errors.Is(err, harness.ErrHome) {
			err = &DaemonError{err}
		}
		return errors.Join(err, r.close())
	}
	if err := r.checkForeign(); err != nil {
		return errors.Join(&DaemonError{err}, r.close())
	}
	return nil
}

// checkForeign returns an error if a service with a mapping cannot do what the replay needs.
func (r *armRun) checkForeign() error {
	f := r.session.Foreign()
	if f == nil {
		return nil
	}
	brains := len(r.plan.Haystacks)
	if r.plan.Shared {
		brains = 1
	}
	scenario := result.SearchOnly
	if r.plan.style(r.arm) == actor.Full {
		scenario = result.AskBasic
	}
	return harness.CheckForeign(f.Mapping(), scenario, brains, r.arm.Mode)
}

// startConfig returns how the daemon is started: in a home that is kept for the next replay, with a
// log beside the result, and with its calls of models counted.
func (r *armRun) startConfig() (harness.SessionConfig, error) {
	config := r.arm.Session
	log, err := journal.DaemonLog(r.files.Dir, r.files.of(r.arm))
	if err != nil {
		return config, err
	}
	config.Launch.LogPath = log
	if config.Launch.Home == "" {
		build, err := ingest.Build(config.Profile.Command, "")
		if err != nil {
			return config, err
		}
		if r.home, err = ingest.Home(r.plan.Cache.Dir, r.arm.Name, build); err != nil {
			return config, err
		}
		config.Launch.Home, r.newHome = r.home.Dir(), r.home.New()
	}
	if err := r.openGate(r.money, r.arm, r.failed()); err != nil {
		return config, err
	}
	config.Profile.Env = slices.Concat(config.Profile.Env, r.money.environment())
	return config, nil
}

// fillAll makes all brains ready.
func (r *armRun) fillAll(ctx context.Context, j *journal.Journal) (*ingest.Filled, error) {
	config, err := r.ingestConfig()
	if err != nil {
		return nil, err
	}
	config.Record, config.Progress = r.record(r.plan.Cache.Dir), func(n int) { r.ingested(r.arm.Name, n) }
	r.place.seeding(r, j, &config)
	return r.fill(ctx, config, r.haystacks())
}

// haystacks returns the ids of all haystacks.
func (r *armRun) haystacks() []string {
	ids := make([]string, len(r.plan.Haystacks))
	for i, h := range r.plan.Haystacks {
		ids[i] = h.ID
	}
	return ids
}

// ingestConfig returns how brains of the arm are filled.
func (r *armRun) ingestConfig() (ingest.Config, error) {
	build, err := ingest.Build(r.arm.Session.Profile.Command, r.session.ID().Version)
	if err != nil {
		return ingest.Config{}, err
	}
	config := ingest.Config{
		Service: r.session.Service(), Dialect: r.arm.Dialect, Mode: r.plan.Ingest,
		Concurrency: r.plan.Concurrency, Daemon: ingest.Daemon{Build: build, Models: r.arm.Models},
	}
	if r.plan.Shared {
		config.Shared = sharedBrain
	}
	if f := r.session.Foreign(); f != nil {
		config.Daemon.Models = append(slices.Clone(config.Daemon.Models), "mapping "+f.Mapping().SHA256)
	}
	return config, nil
}

// fill makes the brains of haystacks ready.
func (r *armRun) fill(ctx context.Context, config ingest.Config, ids []string) (*ingest.Filled, error) {
	r.money.phase(ledger.Ingest)
	ctx, stop := r.money.watch(ctx)
	defer stop()
	filled, err := ingest.Fill(ctx, config, r.plan.Benchmark, ids)
	return filled, errors.Join(err, r.filled(ctx, err))
}

// filled notes whether the daemon could use what its models replied. If the end of the run, the cap
// or the cache stopped it, that is not known.
func (r *armRun) filled(ctx context.Context, err error) error {
	if r.home == nil || r.plan.Ingest != ingest.Replay || ctx.Err() != nil ||
		errors.Is(err, llm.ErrBudgetExceeded) || errors.Is(err, llm.ErrNotCached) {
		return nil
	}
	return r.home.SetFailed(err != nil)
}

// settings returns the settings of an arm's run.
func (p *Plan) settings(a Arm) result.Settings {
	s := p.Gate
	s.DaemonEnv = a.DaemonEnv
	s.Concurrency, s.TimeoutSeconds = p.Concurrency, p.Timeout.Seconds()
	return s
}

// config returns the pipeline of the arm's run, and what answers in it.
func (r *armRun) config(filled *ingest.Filled) (harness.Config, answers, error) {
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
		return config, answers{}, err
	}
	config.Notes.Brains = harness.BrainInfos(brains)
	if r.session != nil && filled != nil {
		r.session.NoteForeign(&config, r.plan.style(r.arm) == actor.Full, filled.ByText)
	}
	asked, err := r.place.stages(r, &config, brains, filled)
	return config, asked, err
}

// brains returns the brains of the arm's questions, none if there is nothing to ask.
func (r *armRun) brains(filled *ingest.Filled) ([]dataset.Brain, error) {
	if filled == nil {
		return nil, nil
	}
	return r.data.Brains(nil)
}

// asker returns the stage that asks.
func (r *armRun) asker(asked answers, brains []dataset.Brain, filled *ingest.Filled) pipeline.Asker {
	return harness.NewDaemon(harness.Daemon{
		Answerer: asked.Answerer, Timeout: r.plan.Timeout, TopK: r.plan.TopK, Brains: brains,
		Documents: documents(filled), Watched: r.process(),
	})
}

// grading returns the stage that scores with sc, and adds verdicts and losses.
func (r *armRun) grading(sc scorer.Scorer, filled *ingest.Filled) pipeline.Scorer {
	return verdicts{
		Scorer: pipeline.Grader{Scorer: sc}, plan: r.plan, arm: r.arm, documents: documents(filled),
	}
}

// documents returns what finds the documents of filled brains, nil without any.
func documents(filled *ingest.Filled) harness.Documents {
	if filled == nil {
		return nil
	}
	return filled
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
