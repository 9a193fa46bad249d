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

// deathGrace is how long the end of the daemon's process is waited for after a broken connection.
// It decides between a failed question and a stopped run.
const deathGrace = 250 * time.Millisecond

// answeringGrace is the same after an answer in which the daemon reports a failure.
const answeringGrace = 25 * time.Millisecond

// healthTimeout limits the health check of a daemon that may be dead.
const healthTimeout = 5 * time.Second

// Answerer answers questions. *target.Target is one that asks a daemon.
type Answerer interface {
	// Ask answers one question within timeout. target.AsFailure reports whether an error means that
	// the question has no usable answer. Any other error stops the run; llm.ErrBudgetExceeded lets
	// the questions finish that are being asked.
	Ask(ctx context.Context, q dataset.Question, timeout time.Duration) (target.Answer, error)
	// Health returns an error unless what answers is alive. It is called after a failure of
	// transport.
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

// compared returns the record of an answer, with the dates that a check needs, and with what was
// retrieved compared with the gold.
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

// dead returns ErrDaemonDied if a question failed in transport and the daemon's health check does
// too. A resumed run then asks the question again.
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

// stopping reports whether a question failed because the daemon's process is ending, by waiting a
// moment for ctx to end. A daemon that is being stopped may send an error event or a 503 first.
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

// checkMode compares an answer's mode with the required one, "" for any. A question without an
// answer has none.
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
