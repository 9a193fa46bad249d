package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"time"

	"evalctl/harness"
	"evalctl/harness/gateway"
	"evalctl/harness/journal"
	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
)

// DaemonError means that an arm's daemon could not be started, reached or filled.
type DaemonError struct{ Err error }

func (e *DaemonError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *DaemonError) Unwrap() error { return e.Err }

// daemon is the subject of an arm with a daemon.
type daemon struct {
	*instruments
	arm     Arm
	money   gateway.Gates // without gateways unless the daemon is started
	session *harness.Session
	build   string         // of the program, see ingest.Build, empty unless the daemon is started
	home    *ingest.Folder // nil unless the daemon is started in a home that is kept
	newHome bool           // the daemon has never had its home
	ingest  ingest.Config
	canary  *seed.Canary // nil before brains are filled, and if others have filled them
	outages outages
	closers []func() error // of everything opened
}

func (d *daemon) open(ctx context.Context, healthy func(*harness.Session)) (_ context.Context, err error) {
	config := d.arm.Session
	if d.arm.started() {
		if config, err = d.startConfig(); err != nil {
			return nil, err
		}
	}
	config.Described = config.Described.InNewNamespace()
	if d.session, err = harness.Open(ctx, config); err != nil {
		if !errors.Is(err, harness.ErrHome) {
			err = &DaemonError{err}
		}
		return nil, err
	}
	d.closers = append(d.closers, d.session.Close)
	if err := d.checkAbilities(); err != nil {
		return nil, &DaemonError{err}
	}
	if d.ingest, err = d.ingestConfig(); err != nil {
		return nil, err
	}
	watched, stop := d.session.Watch(ctx)
	d.closers = append(d.closers, func() error { stop(); return nil })
	d.session.MeterEmbeddings(ctx)
	healthy(d.session)
	return watched, nil
}

// checkAbilities returns an error if the service lacks an ability that the replay needs.
func (d *daemon) checkAbilities() error {
	n := harness.Need{Scenario: result.SearchOnly, Brains: len(d.plan.Haystacks), Mode: d.arm.Mode}
	if d.plan.Shared {
		n.Brains = 1
	}
	if d.plan.Style == actor.Full {
		n.Scenario = result.AskBasic
	}
	err := n.Check(d.session.Service())
	if err != nil && n.Brains > 1 && d.session.Service().Lacks(target.Brains) != "" {
		err = fmt.Errorf("%w, or put all of them into one with --shared-brain", err)
	}
	return err
}

// startConfig returns how the daemon is started: with a home that the next replay reuses, a log
// beside the result, and counted model calls.
func (d *daemon) startConfig() (harness.SessionConfig, error) {
	config := d.arm.Session
	log, err := journal.DaemonLog(d.files.Dir, d.files.of(d.arm))
	if err != nil {
		return config, err
	}
	config.Launch.LogPath = log
	if d.build, err = ingest.Build(config.Profile.Command); err != nil {
		return config, err
	}
	failed := false
	if config.Launch.Home == "" {
		if d.home, err = ingest.Home(d.plan.Cache.Dir, d.arm.Name, d.build); err != nil {
			return config, err
		}
		d.closers = append(d.closers, d.home.Close)
		config.Launch.Home, d.newHome, failed = d.home.Dir(), d.home.New(), d.home.Failed()
	}
	d.closers = append(d.closers, d.money.Close)
	err = d.money.Open(gateway.Config{
		Ledger: d.books, Prices: d.plan.Prices, Cache: d.cache, Arm: d.arm.Name, Fresh: failed,
		Log: slog.New(slog.DiscardHandler), // its rejections are errors of the arm
	}, d.arm.Calls.Models)
	config.Profile.Env = slices.Concat(config.Profile.Env, d.money.Environment())
	return config, err
}

// ingestConfig returns how the daemon's brains are filled. The record of filled brains and the notes
// on them are in the cache folder for a daemon that was already running, and in the home for a
// started one. A home that is not kept has no record, and its notes are in the cache folder.
func (d *daemon) ingestConfig() (config ingest.Config, err error) {
	config = ingest.Config{
		Service: d.session.Service(), Dialect: d.arm.Dialect, Mode: d.plan.Ingest,
		Concurrency: d.plan.Concurrency, OwnProcesses: d.session.OwnProcesses(), NewHome: d.newHome,
		Daemon: ingest.Daemon{Build: d.session.ID().Version + d.build, Models: d.arm.Models},
	}
	if d.plan.Shared {
		config.Shared = sharedBrain
	}
	if sum := d.session.ID().MappingSHA256; sum != "" {
		config.Daemon.Models = append(slices.Clone(config.Daemon.Models), "mapping "+sum)
	}
	switch {
	case !d.session.Started():
		config.Record = ingest.EndpointRecord(d.plan.Cache.Dir, d.session.Service().URL())
		config.Notes = ingest.NotesBeside(config.Record)
	case d.home == nil:
		config.Notes = ingest.NotesBeside(ingest.EndpointRecord(d.plan.Cache.Dir, d.arm.Session.Launch.Home))
	case d.plan.Ingest != ingest.None:
		config.Notes = ingest.NotesBeside(d.home.Record())
		if config.SharedRecord, err = ingest.OpenRecord(d.home.Record()); err == nil {
			d.closers = append(d.closers, config.SharedRecord.Close)
		}
	}
	return config, err
}

func (d *daemon) program() (id result.DaemonID, build string) {
	return d.session.ID(), d.ingest.Daemon.Build
}

func (d *daemon) fill(
	ctx context.Context, with func(*ingest.Config), haystacks []string,
) (*ingest.FilledBrains, error) {
	config := d.ingest
	with(&config)
	defer d.money.Enter(ledger.Ingest)()
	limited, stop := d.money.Watch(ctx)
	defer stop()
	filled, err := ingest.Fill(limited, config, d.plan.Benchmark, haystacks)
	if err = errors.Join(err, d.recordFill(limited, err)); err == nil {
		return filled, nil
	}
	d.awaitDeath(ctx)
	if stop := d.money.Err(); stop != nil {
		return nil, stop // which the daemon passed on as a failure of its own
	}
	return nil, asDaemonError(ctx, err)
}

func (d *daemon) admit(ctx context.Context, filled *ingest.FilledBrains) *result.Admission {
	if d.plan.Ingest == ingest.None || len(filled.Brains) == 0 {
		return nil
	}
	defer d.money.Enter(ledger.Ingest)()
	ctx, stop := d.money.Watch(ctx)
	defer stop()
	first := filled.Brains[slices.Min(slices.Collect(maps.Keys(filled.Brains)))]
	d.canary = seed.NewCanary(ctx, d.session.Service, d.arm.Dialect, first)
	d.closers = append(d.closers, func() error { d.canary.Remove(context.WithoutCancel(ctx)); return nil })
	d.canary.Before(ctx)
	return d.canary.Seen(nil)
}

// recordFill records whether filling failed because the daemon could not use its models' replies.
// It records nothing if the end of the run, the cap or the cache stopped filling.
func (d *daemon) recordFill(ctx context.Context, err error) error {
	if d.home == nil || d.plan.Ingest != ingest.Replay || ctx.Err() != nil ||
		errors.Is(err, llm.ErrBudgetExceeded) || errors.Is(err, llm.ErrNotCached) {
		return nil
	}
	return d.home.SetFailed(err != nil)
}

// deathGrace is how long to wait after a failure for the daemon's process to end, which would
// explain the failure.
const deathGrace = 250 * time.Millisecond

// awaitDeath waits up to deathGrace for ctx, which ends with the daemon's process.
func (d *daemon) awaitDeath(ctx context.Context) {
	if !d.session.Started() {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(deathGrace):
	}
}

func (d *daemon) harnessSubject(reader llm.Provider, filled *ingest.FilledBrains) (s harness.Subject, err error) {
	a, t, err := d.actor(reader, filled)
	if err != nil {
		return s, err
	}
	t.Scenario, t.TopK = result.SearchOnly, 1
	return harness.Subject{
		Target: t, Session: d.session, Reads: d.plan.Style == actor.Full, Documents: filled, Canary: d.canary,
		Answerer: &watch{Answerer: a, probe: t, money: &d.money, outages: &d.outages},
	}, nil
}

// actor returns an actor that asks the daemon about filled brains, and its target.
func (d *daemon) actor(reader llm.Provider, filled *ingest.FilledBrains) (*actor.Actor, *target.Target, error) {
	t := &target.Target{
		Service: d.session.Service(), Brains: filled.Brains, Mode: d.arm.Mode, Dialect: d.arm.Dialect,
	}
	a, err := actor.New(d.plan.actorConfig(d.arm, reader, t, filled.Documents))
	return a, t, err
}

func (d *daemon) report(ctx context.Context, res *result.Result, filled *ingest.FilledBrains, p pace) error {
	if d.plan.Alone > 0 {
		a, _, err := d.actor(nil, filled)
		if err == nil {
			res.Replay.Alone, err = aloneAsker{d.plan, &d.money, a, p}.ask(ctx, res.Stopped)
		}
		if err != nil {
			return err
		}
	}
	res.Replay.Daemon = &result.DaemonSeen{Dialects: d.session.Service().Dialects()}
	if process := d.session.Process(); process != nil {
		res.Replay.Daemon.PeakRSSBytes = process.PeakRSS()
	}
	res.Replay.Restarts = d.outages.count()
	res.Replay.ModelRequests = d.requests(filled)
	if err := d.leave(ctx, res, filled); err != nil {
		d.closers = append(d.closers, func() error { return err }) // the result is written first
	}
	_ = d.session.Close() // close does so too, and returns the error
	if left := d.session.Escaped(); left != nil {
		res.Escaped = left
	}
	return nil
}

// leave removes the brains of a finished arm from a service that goes on running, unless the next
// replay can reuse them. It cannot if the service reports no version.
func (d *daemon) leave(ctx context.Context, res *result.Result, filled *ingest.FilledBrains) error {
	if res.Stopped != "" || d.session.Started() || d.session.Namespace() == "" || d.ingest.Daemon.Build != "" ||
		d.plan.Ingest == ingest.None {
		return nil
	}
	return filled.Leave(ctx)
}

// close stops the daemon unless report has stopped it, and closes everything it used.
func (d *daemon) close() error {
	var errs []error
	for _, c := range slices.Backward(d.closers) {
		errs = append(errs, c())
	}
	d.closers = nil
	return errors.Join(errs...)
}

// asDaemonError wraps errors of an unusable daemon in a DaemonError. Errors with other causes are
// returned as they are: the end of ctx, the cap, a missing cached reply, and unusable files.
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

// requests returns the daemon's requests to its gateways, nil if it has none.
func (d *daemon) requests(filled *ingest.FilledBrains) *result.ModelRequests {
	m, counted := d.money.Requests()
	if !counted {
		return nil
	}
	m.Silent = d.silent(m, filled)
	return &m
}

// silent lists the work of the daemon that called no model. Filling counts only with a new
// home, because facts and vectors may otherwise have been kept.
func (d *daemon) silent(m result.ModelRequests, filled *ingest.FilledBrains) []result.GeneratedKind {
	silent := []result.GeneratedKind{}
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
