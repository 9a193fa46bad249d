package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness"
	"evalctl/harness/journal"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/ingest"
	"evalctl/replay/queue"
	"evalctl/scorer"
)

// armIdentity is what a worker must measure, so that its records belong to the run.
type armIdentity struct {
	Identity result.Identity `json:"identity"`
	// Build and Models are those of ingest.Daemon.
	Build  string   `json:"build"`
	Models []string `json:"models"`
}

// check returns an error if a worker measures something else.
func (want armIdentity) check(have armIdentity) error {
	diff := want.Identity.Differences(have.Identity)
	if a, b := want.Identity.Tool, have.Identity.Tool; a.Version != b.Version || a.Commit != b.Commit {
		diff = append(diff, fmt.Sprintf("evalctl was %s (commit %s) and is now %s (commit %s)", a.Version, a.Commit, b.Version, b.Commit))
	}
	if !slices.Equal(want.Models, have.Models) {
		diff = append(diff, fmt.Sprintf("the daemon's models were %q and are now %q", want.Models, have.Models))
	}
	if len(diff) == 0 && want.Build != have.Build {
		diff = append(diff, "the daemon's program is another one: "+
			"install the same build, with SVC_SDK_<SDK>_CMD naming the same arguments")
	}
	if len(diff) > 0 {
		return &differentWorker{diff}
	}
	return nil
}

// differentWorker means that a worker would measure something else than the run.
type differentWorker struct{ differences []string }

func (e *differentWorker) Error() string {
	return "it would measure something else: " + strings.Join(e.differences, "; ") +
		"; give it the same evalctl, files, models and daemon"
}

// workers is the place of a replay whose questions are on a queue.
type workers struct{ queue *queue.Run }

func (workers) daemon(d *daemon) subject {
	if d.arm.started() {
		return described{d}
	}
	return d
}

// prepare fills the brains of a daemon that is running already, since all workers ask that one, and
// puts the arm's questions on the queue.
func (w workers) prepare(ctx context.Context, r *armRun, j *journal.Journal) (*ingest.Filled, error) {
	filled, err := r.fill(ctx, func(c *ingest.Config) {
		c.Seeded = func(brain string) bool { return w.queue.Seeded(r.arm.Name, brain) }
		c.MarkSeeded = func(brain string) error { return w.queue.MarkSeeded(r.arm.Name, brain) }
	})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(r.plan.Questions))
	for i, q := range r.plan.Questions {
		ids[i] = q.ID
	}
	want := r.identity()
	want.Identity = j.Identity()
	identity, err := json.Marshal(want)
	if err == nil && r.plan.RetryErrors {
		err = w.retryErrors(ctx, r.arm.Name, j)
	}
	if err == nil {
		err = w.queue.Dispatch(ctx, r.arm.Name, identity, ids)
	}
	if err == nil {
		r.queued(r.arm.Name)
	}
	return filled, err
}

// stages has no lockstep: the queue is in the order of the questions.
func (w workers) stages(r *armRun, c *harness.Config, _ *ingest.Filled) error {
	c.Asker, c.Concurrency = queued{w.queue, r.arm.Name}, len(r.plan.Questions)
	return nil
}

func (workers) together(*armRun) *result.Together { return nil }

func (w workers) settle(ctx context.Context) error { return w.queue.Settle(ctx) }

// retryErrors has those questions tried again that the journal says, or their records if the run
// was begun on another machine.
func (w workers) retryErrors(ctx context.Context, arm string, j *journal.Journal) error {
	found, err := w.queue.Records(ctx, arm)
	if err != nil {
		return fmt.Errorf("find the errors of %s: %w", arm, err)
	}
	records := map[int]result.Record{}
	for i, data := range found {
		var rec result.Record
		if err := json.Unmarshal(data, &rec); err != nil {
			return fmt.Errorf("record of question %d of %s: %w", i+1, arm, err)
		}
		records[i] = rec
	}
	systematic := harness.Systematic(records)
	var again []int
	for i, rec := range records {
		retry := rec.Outage() || systematic[i]
		if s := j.State(i); s.Finished {
			retry = s.Outage
		}
		if retry {
			again = append(again, i)
		}
	}
	if err := w.queue.Retry(ctx, arm, again); err != nil {
		return fmt.Errorf("try the errors of %s again: %w", arm, err)
	}
	return nil
}

// described is a daemon that each worker starts for itself. This process starts it only to identify
// it.
type described struct{ *daemon }

func (d described) open(ctx context.Context) (context.Context, error) {
	_, err := d.daemon.open(ctx)
	return ctx, errors.Join(err, d.close())
}

func (d described) fill(
	ctx context.Context, with func(*ingest.Config), haystacks []string,
) (*ingest.Filled, error) {
	config := d.ingest
	with(&config)
	filled, err := ingest.Describe(ctx, config, d.plan.Benchmark, haystacks)
	return filled, asDaemonError(ctx, err)
}

func (described) asks(*harness.Config, harness.Daemon, llm.Provider, *ingest.Filled) error {
	return nil
}

func (described) report(context.Context, *result.Result, *ingest.Filled) error { return nil }

// queued is the pipeline.Asker of an arm whose questions workers answer and score.
type queued struct {
	queue *queue.Run
	arm   string
}

var _ pipeline.Stopper = queued{}

// Ask implements pipeline.Asker.
func (q queued) Ask(ctx context.Context, j pipeline.Job) (result.Record, error) {
	rec, err := q.await(ctx, j.Index)
	if err != nil {
		err = pipeline.Soft(err) // workers are still at other questions
	}
	return rec, err
}

func (q queued) await(ctx context.Context, question int) (rec result.Record, err error) {
	data, err := q.queue.Await(ctx, q.arm, question)
	if stop, ok := errors.AsType[*queue.StopError](err); ok {
		return rec, stopped{stop}
	}
	if errors.Is(err, queue.ErrNoWorkers) {
		return rec, noWorkers{err}
	}
	if err != nil {
		return rec, err
	}
	return rec, json.Unmarshal(data, &rec)
}

// Stop implements pipeline.Stopper.
func (q queued) Stop(reason error) {
	if reason == nil {
		reason = context.Canceled
	}
	// If the queue does not answer, its watcher ends the calls of Ask.
	_ = q.queue.Stop(context.Background(), q.arm, *stopOf(reason))
}

// noWorkers is a run that nobody works for.
type noWorkers struct{ error }

// Unwrap returns the error of the queue, and what it is for a run.
func (e noWorkers) Unwrap() []error { return []error{e.error, harness.ErrNoWorkers} }

// stopKinds are the reasons to stop an arm that its result names. The first that an error is
// counts: what was refused for money may have been interrupted as well.
var stopKinds = []struct {
	kind string
	err  error
}{
	{"budget", llm.ErrBudgetExceeded}, {"unusable", scorer.ErrUnusable}, {"not_cached", llm.ErrNotCached},
	{"interrupted", context.Canceled},
}

// stopOf returns what the queue keeps of the reason to stop an arm.
func stopOf(reason error) *queue.StopError {
	for _, k := range stopKinds {
		if errors.Is(reason, k.err) {
			return &queue.StopError{Kind: k.kind, Text: reason.Error()}
		}
	}
	return &queue.StopError{Kind: "failed", Text: reason.Error()}
}

// stopped is the reason why an arm was stopped, as it was where that happened.
type stopped struct{ *queue.StopError }

// Unwrap returns the error of the kind, nil for one without.
func (e stopped) Unwrap() error {
	for _, k := range stopKinds {
		if k.kind == e.Kind {
			return k.err
		}
	}
	return nil
}
