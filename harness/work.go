package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
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

// work asks and scores one question. An error stops the run. A resumed run then asks the question
// again, unless its answer was recorded.
func (r *runner) work(ctx context.Context, j job, entries chan<- entry) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.cfg.Remote != nil {
		return r.await(ctx, j, entries)
	}
	rec := j.answer
	if rec == nil && errors.Is(r.cfg.Scorer.Check(j.q.Item()), scorer.ErrNoGold) {
		left := r.complete(notAsked(j.q))
		entries <- entry{Entry: journal.Entry{Kind: journal.KindGrade, Index: j.index, Record: &left}}
		return nil
	}
	if rec != nil && j.reopen {
		if err := r.keep(journal.Entry{Kind: journal.KindReopened, Index: j.index, Record: rec}, entries); err != nil {
			return err
		}
	}
	if rec == nil {
		fresh, err := r.answer(ctx, j.q)
		if err != nil {
			return err
		}
		if j.reopen {
			entries <- entry{Entry: journal.Entry{Kind: journal.KindReopened, Index: j.index, Record: j.earlier}}
		}
		if j.earlier != nil {
			fresh = fresh.After(j.earlier)
		}
		if fresh.Outcome == result.Errored {
			if fresh = r.complete(fresh); fresh.Outcome != result.Errored {
				r.completed(j.index, &fresh)
				entries <- entry{Entry: journal.Entry{Kind: journal.KindGrade, Index: j.index, Record: &fresh}}
				return nil
			}
		}
		rec = &fresh
		if err := r.keep(journal.Entry{Kind: journal.KindAnswer, Index: j.index, Record: rec}, entries); err != nil {
			return err
		}
		if rec.Outcome == result.Errored {
			r.completed(j.index, rec)
			return nil
		}
	}
	v, calls, err := r.score(ctx, j.index, rec, entries)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if softly(err) {
			return err
		}
		return fmt.Errorf("%w: %w", errScorer, err)
	}
	graded := rec.Graded(v)
	graded.JudgeCharges = calls
	graded = r.complete(graded)
	r.completed(j.index, &graded)
	entries <- entry{Entry: journal.Entry{Kind: journal.KindGrade, Index: j.index, Record: &graded}}
	return nil
}

// await records what somebody else has made of a question.
func (r *runner) await(ctx context.Context, j job, entries chan<- entry) error {
	rec, err := r.cfg.Remote.Record(ctx, j.index, j.q)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case rec.ID != j.q.ID || rec.Repeat != j.q.Repeat:
		return fmt.Errorf("question %q has got the record of %q; was the dataset changed?", j.q.ID, rec.ID)
	}
	if j.reopen {
		earlier := j.earlier
		if earlier == nil {
			earlier = j.answer
		}
		entries <- entry{Entry: journal.Entry{Kind: journal.KindReopened, Index: j.index, Record: earlier}}
	}
	kind := journal.KindGrade
	if rec.Outcome == result.Errored {
		kind = journal.KindAnswer
	}
	r.completed(j.index, &rec)
	entries <- entry{Entry: journal.Entry{Kind: kind, Index: j.index, Record: &rec}}
	return nil
}

// softly reports whether an error of a question ends the run as soon as those that are being asked
// have finished: what they cost is spent already.
func softly(err error) bool {
	return errors.Is(err, llm.ErrBudgetExceeded) || errors.Is(err, scorer.ErrUnusable)
}

// answer asks one question and returns its record, not yet scored. An error stops the run.
func (r *runner) answer(ctx context.Context, q dataset.Question) (result.Record, error) {
	a, err := r.ask(ctx, q)
	var failure *target.Failure
	if err != nil {
		var ok bool
		if failure, ok = target.AsFailure(err); !ok {
			return result.Record{}, err
		}
		if r.stopping(ctx, failure) {
			return result.Record{}, context.Cause(ctx)
		}
		if err := r.daemonDead(ctx, failure); err != nil {
			return result.Record{}, err
		}
	}
	rec := newRecord(q, a, failure)
	if len(r.cfg.Brains) > 1 {
		rec.Brain = q.Brain
	}
	if rec.Retrieval = a.Retrieval; rec.Retrieval != nil {
		return rec, r.checkMode(rec)
	}
	if gold := q.Item().Gold; gold != nil && (failure == nil || a.Retrieved != nil) {
		rec.Retrieval = result.CompareWithGold(gold, rec.Retrieved, r.cfg.TopK, func(c result.Chunk) []string {
			return r.documents(q, c, gold)
		})
	}
	return rec, r.checkMode(rec)
}

func (r *runner) ask(ctx context.Context, q dataset.Question) (target.Answer, error) {
	if r.cfg.Asking != nil {
		r.cfg.Asking(q.ID, true)
		defer r.cfg.Asking(q.ID, false)
	}
	return r.cfg.Asker.Ask(ctx, q, r.cfg.Timeout)
}

// complete returns a record with what Config.Complete adds.
func (r *runner) complete(rec result.Record) result.Record {
	if r.cfg.Complete != nil {
		r.cfg.Complete(&rec)
	}
	return rec
}

// checkMode compares an answer's mode with the required one. A question without an answer has none.
func (r *runner) checkMode(rec result.Record) error {
	want := r.cfg.RequireMode
	switch {
	case want == "" || rec.Outcome == result.Errored || rec.Outcome == result.NoGold || rec.EffectiveMode == want:
		return nil
	case rec.EffectiveMode == "":
		return fmt.Errorf("%w: question %q does not say which one ran, and %s is required; leave --require-mode out for this daemon", ErrMode, rec.ID, want)
	}
	return fmt.Errorf("%w: question %q ran in %s, and %s is required; set the daemon up for %s, or ask for what it has with --mode",
		ErrMode, rec.ID, printable.Line(rec.EffectiveMode, 300), want, want)
}

// keep sends an entry to the recorder. If judging costs money, it waits until the entry is written.
func (r *runner) keep(e journal.Entry, entries chan<- entry) error {
	if !r.cfg.Paid {
		entries <- entry{Entry: e}
		return nil
	}
	return write(e, entries)
}

// write sends an entry to the recorder and waits until it is written.
func write(e journal.Entry, entries chan<- entry) error {
	written := make(chan error, 1)
	entries <- entry{Entry: e, written: written}
	return <-written
}

// daemonDead returns ErrDaemonDied if a question failed in transport and the daemon's health check
// does too. A resumed run then asks the question again.
func (r *runner) daemonDead(ctx context.Context, f *target.Failure) error {
	if f.Kind != result.KindTransport {
		return nil
	}
	hctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	err := r.cfg.Asker.Health(hctx)
	if h, ok := errors.AsType[*target.Failure](err); ok && h.Kind == result.KindTransport {
		return fmt.Errorf("%w: %w", ErrDaemonDied, err)
	}
	return nil
}

// stopping reports whether a question failed because the daemon's process is ending, by waiting a
// moment for ctx to end. A daemon that is being stopped may send an error event or a 503 first.
func (r *runner) stopping(ctx context.Context, f *target.Failure) bool {
	if !r.cfg.Watched || f.Kind == result.KindProtocol || f.Kind == result.KindStatus && f.Status < 500 {
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
