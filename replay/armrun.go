package replay

import (
	"context"
	"errors"
	"fmt"

	"evalctl/harness"
	"evalctl/harness/aggregate"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/replay/ingest"
)

// armRun measures one arm in the process that runs the replay.
type armRun struct {
	measurement
	run *runState

	resumed bool // an earlier process has begun to measure the arm
	tally   *aggregate.ReplaySum
	// controls is the outcome of checking the scorer, nil for a scorer that needs no check.
	controls *result.Controls
}

// newArm prepares to measure the i-th arm.
func (r *runState) newArm(i int) *armRun {
	return &armRun{measurement: r.newMeasurement(r.plan.Arms[i], r.data[i], r.replay.uses), run: r, tally: aggregate.NewReplay()}
}

// outcome measures the arm, then leaves the lockstep.
func (r *armRun) outcome(ctx context.Context) Outcome {
	defer r.run.lockstep.leave(r.arm.Name)
	out := Outcome{Arm: r.arm}
	if res, ok := r.run.results[r.arm.Name]; ok {
		out.Result, out.Path = &res, r.files.result(r.arm)
		return out
	}
	defer func() { out.Err = errors.Join(out.Err, r.subject.close()) }()
	opened, err := r.subject.open(ctx, func(s *harness.Session) { r.run.observer.Opened(r.arm.Name, s) })
	if err != nil {
		out.Err = asDaemonError(ctx, err)
		return out
	}
	if r.controls, out.Err = r.run.controls(); out.Err == nil {
		r.measure(opened, &out)
	}
	return out
}

// measure fills the brains and asks the questions.
func (r *armRun) measure(ctx context.Context, out *Outcome) {
	j, resumed, err := r.files.open(r.arm, r.identity().Identity, r.books)
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
	filled, err := r.run.replay.prepare(ctx, &r.measurement, j, r.run.observer)
	if err != nil {
		out.Err = err
		return
	}
	r.ask(ctx, j, filled, out)
}

// ask asks the questions missing from the journal and writes the result.
func (r *armRun) ask(ctx context.Context, j *journal.Journal, filled *ingest.FilledBrains, out *Outcome) {
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
	err = r.finish(ctx, &ended.Result, ended.OwnPath(), filled)
	if err == nil {
		err = ended.Left(ended.Result.Escaped)
	}
	if err != nil {
		out.Err = errors.Join(ended.Stopped, err)
		return
	}
	if out.Path, out.Err = ended.Write(); out.Path != "" {
		out.Result = &ended.Result
	}
}

// config returns the pipeline configuration of the arm's run.
func (r *armRun) config(filled *ingest.FilledBrains) (harness.Config, error) {
	p := r.plan
	config := harness.Config{
		TopK: p.TopK, Dataset: r.data, Concurrency: p.Concurrency, Paid: true, RetryErrors: p.RetryErrors, Observer: r, Counted: r.tally.Add,
		Secrets: p.Secrets,
		Notes:   harness.Notes{UnpricedModel: p.unpricedJudge(), CapUSD: r.books.Cap(), Settings: p.settings(r.arm)},
	}
	var err error
	if config.Brains, err = r.brains(filled); err != nil {
		return config, err
	}
	if config.Subject, err = r.harnessSubject(filled); err != nil {
		return config, err
	}
	return config, r.run.replay.stages(&r.measurement, &config, filled, r.pace())
}

// finish adds a replay's figures to the result, which will be written to own, and lets the subject
// add its own.
func (r *armRun) finish(ctx context.Context, res *result.Result, own string, filled *ingest.FilledBrains) error {
	if err := filled.Err(); err != nil {
		return fmt.Errorf("find the gold in the retrieved passages: %w", err)
	}
	res.Replay = r.plan.manifest(r.arm, r.controls)
	var err error
	if res.Replay.Trivial, err = r.plan.Trivial(r.arm); err != nil {
		return err
	}
	if len(filled.Brains) > 0 {
		res.Replay.Ingest = &filled.Report
	}
	res.Replay.Together = r.run.replay.together(r.plan, r.run.lockstep)
	if err := r.subject.report(ctx, res, filled, r.pace()); err != nil {
		return err
	}
	r.tally.Fill(res)
	list := result.ListCost{ReusedUSD: filled.ReusedUSD, ReusedUnrecorded: filled.Unrecorded}
	cost := r.plan.accounting(r.books, r.arm, list, r.tally.Saved())
	if m := res.Replay.ModelRequests; m != nil {
		m.SinceResumed = r.resumed
		cost.Unmetered = cost.Unmetered || len(m.Silent) > 0
	}
	aggregate.PerCorrect(&cost, res.Counts, res.Believed())
	return errors.Join(r.plan.setCost(context.WithoutCancel(ctx), r.books, r.arm, res, cost, own), r.books.Err())
}

// refuse writes the result of an arm whose scorer failed its check or could not be checked. The
// result has the questions finished before, and the journal is kept.
func (r *armRun) refuse(ctx context.Context, j *journal.Journal, out *Outcome) {
	ctx, stop := context.WithCancelCause(ctx)
	stop(&controlsError{*r.controls, r.plan.judgePlan != nil})
	r.ask(ctx, j, &ingest.FilledBrains{}, out)
}

// pace keeps the arm in step with the others.
func (r *armRun) pace() pace { return pace{r.run.lockstep, r.arm.Name} }

// Asking implements pipeline.Observer.
func (r *armRun) Asking(id string, begin bool) { r.run.observer.Asking(r.arm.Name, id, begin) }

// Recorded implements pipeline.Observer.
func (r *armRun) Recorded(rec result.Record) {
	r.run.observer.Recorded(r.arm.Name, rec)
}
