package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evalctl/internal/llm"
	"evalctl/scorer"
)

// work answers and scores one question. An error stops the run; the question
// is then asked again on resume, unless its answer was recorded.
func (r *runner) work(ctx context.Context, j job, entries chan<- entryLine) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	rec := j.answer
	if rec == nil && errors.Is(r.cfg.Scorer.Check(j.q.Item()), scorer.ErrNoGold) {
		left := notAsked(j.q)
		entries <- entryLine{Kind: kindGrade, Index: j.index, Record: &left}
		return nil
	}
	if rec == nil {
		fresh, err := r.answer(ctx, j.q)
		if err != nil {
			return err
		}
		rec = &fresh
		r.keep(entryLine{Kind: kindAnswer, Index: j.index, Record: rec}, entries)
		if rec.Outcome == Errored {
			return nil
		}
	}
	v, err := r.cfg.Scorer.Score(ctx, rec.item())
	if err != nil {
		if v.Cost > 0 {
			entries <- entryLine{Kind: kindSpent, Index: j.index, USD: v.Cost}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, llm.ErrBudgetExceeded) {
			return err
		}
		return fmt.Errorf("%w: %w", errScorer, err)
	}
	graded := rec.graded(v)
	entries <- entryLine{Kind: kindGrade, Index: j.index, Record: &graded}
	return nil
}

// answer asks one question. An error stops the run.
func (r *runner) answer(ctx context.Context, q Question) (Record, error) {
	a, err := r.cfg.Target.Ask(ctx, q, r.cfg.Timeout)
	var failure *Failure
	if err != nil {
		var ok bool
		if failure, ok = asFailure(err); !ok {
			return Record{}, err
		}
		if r.dying(ctx, failure) {
			return Record{}, context.Cause(ctx)
		}
		if err := r.gone(ctx, failure); err != nil {
			return Record{}, err
		}
	}
	rec := newRecord(q, a, failure)
	if len(r.cfg.Brains) > 1 {
		rec.Brain = q.Brain
	}
	if gold := q.Item().Gold; gold != nil && failure == nil {
		rec.Retrieval = retrievalOf(gold, a.Retrieved, r.cfg.Target.TopK, r.known[q.Brain])
	}
	return rec, r.checkMode(rec)
}

// checkMode compares an answer's mode with the required one. What got no answer
// has none.
func (r *runner) checkMode(rec Record) error {
	want := r.cfg.RequireMode
	switch {
	case want == "" || rec.Outcome == Errored || rec.Outcome == NoGold || rec.EffectiveMode == want:
		return nil
	case rec.EffectiveMode == "":
		return fmt.Errorf("%w: question %q does not say which one ran, and %s is required; leave --require-mode out for this daemon", ErrMode, rec.ID, want)
	}
	return fmt.Errorf("%w: question %q ran in %s, and %s is required; set the daemon up for %s, or ask for what it has with --mode",
		ErrMode, rec.ID, clip([]byte(rec.EffectiveMode)), want, want)
}

// keep sends a line to the recorder, and waits until it is written before money
// is spent on it.
func (r *runner) keep(e entryLine, entries chan<- entryLine) {
	if !r.cfg.Paid {
		entries <- e
		return
	}
	written := make(chan struct{})
	e.written = written
	entries <- e
	<-written
}

// gone asks a daemon whose connections are refused for its health. One that
// does not answer at all has died: its questions are asked again on resume.
func (r *runner) gone(ctx context.Context, f *Failure) error {
	if f.Kind != KindTransport {
		return nil
	}
	hctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	_, err := r.cfg.Target.Endpoint.Health(hctx)
	if h, ok := errors.AsType[*Failure](err); ok && h.Kind == KindTransport {
		return fmt.Errorf("%w: %w", ErrDaemonDied, err)
	}
	return nil
}

// dying tells whether a question failed because the daemon went away. A daemon
// that is being stopped may say so in an error event or a 503 first.
func (r *runner) dying(ctx context.Context, f *Failure) bool {
	if !r.cfg.Watched || f.Kind == KindProtocol || f.Kind == KindStatus && f.Status < 500 {
		return false
	}
	grace := answeringGrace
	if f.retry {
		grace = deathGrace
	}
	select {
	case <-ctx.Done():
		return true
	case <-time.After(grace):
		return false
	}
}
