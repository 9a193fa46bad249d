package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/printable"
	"evalctl/scorer"
)

// deathGrace is how long to wait, after a broken connection, for the daemon's process to end. The
// outcome decides between a failed question and a stopped run.
const deathGrace = 250 * time.Millisecond

// answeringGrace is the wait after an answer that reports a failure.
const answeringGrace = 25 * time.Millisecond

// healthTimeout limits the health check of a daemon that may be dead.
const healthTimeout = 5 * time.Second

// Answerer answers questions. A *target.Target is an Answerer that asks a daemon.
type Answerer interface {
	// Ask answers one question within timeout. target.AsFailure reports whether an error means that
	// the question has no usable answer. Any other error stops the run; with llm.ErrBudgetExceeded,
	// questions in progress still finish.
	Ask(ctx context.Context, q dataset.Question, timeout time.Duration) (target.Answer, error)
	// Health returns an error unless the answering service is alive. It is called after transport
	// failures.
	Health(ctx context.Context) error
}

// daemon is the pipeline.Asker of a daemon that may die.
type daemon struct {
	answerer  Answerer
	timeout   time.Duration
	topK      int
	documents Documents
	several   bool // brains are asked
	cluster   string
	watched   bool // the context ends with ErrDaemonDied when the daemon's process does
}

// Ask implements pipeline.Asker.
func (d *daemon) Ask(ctx context.Context, j pipeline.Job) (result.Record, error) {
	a, err := d.answerer.Ask(ctx, j.Question, d.timeout)
	var failure *target.Failure
	if err != nil {
		var ok bool
		if failure, ok = target.AsFailure(err); !ok {
			return result.Record{}, err
		}
		if d.stopping(ctx, failure) {
			return result.Record{}, context.Cause(ctx)
		}
		if err := d.dead(ctx, failure); err != nil {
			return result.Record{}, err
		}
	}
	return d.compared(j.Question, a, failure), nil
}

// compared returns the record of an answer, with the retrieval compared to the gold and the dates
// needed by checks.
func (d *daemon) compared(q dataset.Question, a target.Answer, f *target.Failure) result.Record {
	rec := pipeline.NewRecord(q, a, f)
	switch {
	case d.several:
		rec.Brain = q.Brain
	case d.cluster == result.ByBrain:
		rec.Haystack = q.Brain
	}
	if slices.ContainsFunc(q.Checks, func(c scorer.Check) bool { return c.Before != "" }) {
		rec.Retrieved = slices.Clone(rec.Retrieved)
		for i, c := range rec.Retrieved {
			rec.Retrieved[i].CorpusDate = d.documents.Date(q, c)
		}
	}
	rec.Retrieval = a.Retrieval
	if a.NoPassages || a.Lacks != "" || f != nil && a.Retrieved == nil {
		return rec
	}
	rec.CompareEvidence(d.topK)
	if q.ExpectedEvidence != nil || q.ExpectedPaths != nil {
		rec.Returned = new(result.SizeOf(rec.Retrieved, d.topK))
	}
	if gold := q.Item().Gold; rec.Retrieval == nil && gold != nil {
		rec.Retrieval = result.CompareWithGold(gold, rec.Retrieved, d.topK, func(c result.Chunk) []string {
			return d.documents.Documents(q, c, gold)
		})
	}
	return rec
}

// dead returns ErrDaemonDied if a question failed in transport and the health check fails too. A
// resumed run asks the question again.
func (d *daemon) dead(ctx context.Context, f *target.Failure) error {
	if f.Kind != result.KindTransport {
		return nil
	}
	hctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	err := d.answerer.Health(hctx)
	if h, ok := errors.AsType[*target.Failure](err); ok && h.Kind == result.KindTransport {
		return fmt.Errorf("%w: %w", ErrDaemonDied, err)
	}
	return nil
}

// stopping reports whether a question failed because the daemon's process is ending, by waiting
// briefly for ctx. A stopping daemon may first send an error event or a 503.
func (d *daemon) stopping(ctx context.Context, f *target.Failure) bool {
	if !d.watched || f.Kind == result.KindProtocol || f.Kind == result.KindStatus && f.Status < 500 {
		return false
	}
	grace := answeringGrace
	if f.Retryable() {
		grace = deathGrace
	}
	select {
	case <-ctx.Done():
		return true
	case <-time.After(grace):
		return false
	}
}

// modeAsker is an Asker whose answers must report a mode.
type modeAsker struct {
	pipeline.Asker
	want string
}

// Ask implements pipeline.Asker.
func (m modeAsker) Ask(ctx context.Context, j pipeline.Job) (result.Record, error) {
	rec, err := m.Asker.Ask(ctx, j)
	if err == nil {
		err = checkMode(rec, m.want)
	}
	return rec, err
}

// checkMode compares an answer's mode with the required mode, "" for any. A failed question has
// none.
func checkMode(rec result.Record, want string) error {
	switch {
	case want == "" || rec.Outcome == result.Errored || !rec.Outcome.Counts() || rec.EffectiveMode == want:
		return nil
	case rec.EffectiveMode == "":
		return fmt.Errorf("%w: question %q does not say which one ran, and %s is required; leave --require-mode out for this daemon", ErrMode, rec.ID, want)
	}
	return fmt.Errorf("%w: question %q ran in %s, and %s is required; set the daemon up for %s, or ask for what it has with --mode",
		ErrMode, rec.ID, printable.Line(rec.EffectiveMode, 300), want, want)
}
