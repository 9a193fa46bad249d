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

// distributed reports whether workers answer the questions.
func (r *replaying) distributed() bool { return r.queue != nil }

// distribute puts the arm's questions on the queue and collects their records.
func (r *armRun) distribute(ctx context.Context, j *journal.Journal, out *Outcome) {
	want := armIdentity{Identity: j.Identity(), Models: r.arm.Models}
	filled, err := r.prepare(ctx, j, &want)
	if err != nil {
		out.Err = asDaemonError(ctx, err)
		return
	}
	ids := make([]string, len(r.plan.Questions))
	for i, q := range r.plan.Questions {
		ids[i] = q.ID
	}
	identity, err := json.Marshal(want)
	if err == nil && r.plan.RetryErrors {
		err = r.retryErrors(ctx, j)
	}
	if err == nil {
		err = r.queue.Dispatch(ctx, r.arm.Name, identity, ids)
	}
	if err != nil {
		out.Err = err
		return
	}
	r.queued(r.arm.Name)
	r.ask(ctx, j, filled, out)
}

// retryErrors has those questions tried again that the journal says, or their records if the run
// was begun on another machine.
func (r *armRun) retryErrors(ctx context.Context, j *journal.Journal) error {
	found, err := r.queue.Records(ctx, r.arm.Name)
	if err != nil {
		return fmt.Errorf("find the errors of %s: %w", r.arm.Name, err)
	}
	records := map[int]result.Record{}
	for i, data := range found {
		var rec result.Record
		if err := json.Unmarshal(data, &rec); err != nil {
			return fmt.Errorf("record of question %d of %s: %w", i+1, r.arm.Name, err)
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
	if err := r.queue.Retry(ctx, r.arm.Name, again); err != nil {
		return fmt.Errorf("try the errors of %s again: %w", r.arm.Name, err)
	}
	return nil
}

// prepare fills the brains of a daemon that is running already, since all workers ask that one. Of
// a daemon that each worker starts for itself, only its version is needed.
func (r *armRun) prepare(ctx context.Context, j *journal.Journal, want *armIdentity) (*ingest.Filled, error) {
	if r.session == nil {
		return nil, nil
	}
	config, err := r.ingestConfig()
	if err != nil {
		return nil, err
	}
	want.Build = config.Daemon.Build
	if !r.arm.started() {
		return r.fillAll(ctx, j)
	}
	err = r.close()
	r.session, r.money, r.home = nil, nil, nil
	if err != nil {
		return nil, err
	}
	config.Endpoint = nil
	return ingest.Describe(ctx, config, r.plan.Benchmark, r.haystacks())
}

// await has the questions answered by workers.
func (r *armRun) await(config *harness.Config) {
	config.Asker = queued{r} // the queue is in the order of the questions
	config.Concurrency = len(r.plan.Questions)
}

// queued is the pipeline.Asker of an arm whose questions workers answer and score.
type queued struct{ run *armRun }

var _ pipeline.Stopper = queued{}

// Ask implements pipeline.Asker.
func (r queued) Ask(ctx context.Context, j pipeline.Job) (result.Record, error) {
	rec, err := r.await(ctx, j.Index)
	if err != nil {
		err = pipeline.Soft(err) // workers are still at other questions
	}
	return rec, err
}

func (r queued) await(ctx context.Context, question int) (rec result.Record, err error) {
	data, err := r.run.queue.Await(ctx, r.run.arm.Name, question)
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
func (r queued) Stop(reason error) {
	if reason == nil {
		reason = context.Canceled
	}
	// If the queue does not answer, its watcher ends the calls of Ask.
	_ = r.run.queue.Stop(context.Background(), r.run.arm.Name, *stopOf(reason))
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
