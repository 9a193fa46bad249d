package pipeline

import (
	"context"
	"errors"
	"fmt"

	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/intake"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// Grader is a Scorer that only grades answers with a scorer.
type Grader struct{ scorer.Scorer }

// Score implements Scorer.
func (g Grader) Score(ctx context.Context, rec result.Record) (result.Record, error) {
	if rec.Outcome == result.Errored || !rec.Outcome.Counts() {
		return rec, nil
	}
	v, err := g.Scorer.Score(ctx, rec.Item())
	return rec.Graded(v), err
}

// work asks and scores one question. An error stops the run. A resumed run then asks the question
// again, unless its answer was recorded.
func (l *loop) work(ctx context.Context, j Job) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, j.hold = intake.Begin(ctx)
	defer j.hold.End()
	switch {
	case l.Scorer == nil:
		return l.await(ctx, j)
	case j.Answer == nil && errors.Is(l.Scorer.Check(j.Question.Item()), scorer.ErrNoGold):
		left := notAsked(j.Question)
		if l.Several {
			left.Brain = j.Question.Brain
		}
		left, err := l.Scorer.Score(ctx, left)
		if err != nil {
			return err
		}
		l.send(journal.KindGrade, j, &left)
		return nil
	case j.Answer == nil:
		return l.ask(ctx, j)
	case j.Reopen && j.Judged == nil: // else its verdict counts until it has another
		reopened := journal.Entry{Kind: journal.KindReopened, Index: j.Index, Record: j.Answer}
		if err := l.keep(j, reopened); err != nil {
			return err
		}
	}
	return l.grade(ctx, j, j.Answer)
}

// ask asks a question and scores its answer.
func (l *loop) ask(ctx context.Context, j Job) error {
	fresh, err := l.request(ctx, j)
	if err != nil {
		return err
	}
	if j.Reopen {
		l.send(journal.KindReopened, j, j.Earlier)
	}
	if j.Earlier != nil {
		fresh = fresh.After(j.Earlier)
	}
	failed := fresh.Outcome == result.Errored
	if fresh.Outcome == result.NotMeasurable {
		l.finished(j, &fresh)
		l.send(journal.KindGrade, j, &fresh)
		return nil
	}
	if failed {
		if fresh, err = l.Scorer.Score(ctx, fresh); err != nil {
			return err
		}
		if fresh.Outcome != result.Errored { // it does not count
			l.finished(j, &fresh)
			l.send(journal.KindGrade, j, &fresh)
			return nil
		}
	}
	if err := l.keep(j, journal.Entry{Kind: journal.KindAnswer, Index: j.Index, Record: &fresh}); err != nil {
		return err
	}
	if failed {
		l.finished(j, &fresh)
		return nil
	}
	return l.grade(ctx, j, &fresh)
}

// request calls the asker.
func (l *loop) request(ctx context.Context, j Job) (result.Record, error) {
	l.Observer.Asking(j.Question.ID, true)
	defer l.Observer.Asking(j.Question.ID, false)
	return l.Asker.Ask(llm.WithQuestion(ctx, j.Question.ID), j)
}

// grade scores an answer.
func (l *loop) grade(ctx context.Context, j Job, rec *result.Record) error {
	graded, err := l.score(ctx, j.Index, rec)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case softly(err):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", ErrScorer, err)
	}
	if j.Judged != nil {
		if graded.JudgeUnanswered || graded.Outcome != result.Scored {
			graded = j.Judged.KeepVerdict(&graded)
		}
		l.send(journal.KindReopened, j, j.Answer)
	}
	l.finished(j, &graded)
	l.send(journal.KindGrade, j, &graded)
	return nil
}

// await records a question that the asker returns already scored.
func (l *loop) await(ctx context.Context, j Job) error {
	rec, err := l.Asker.Ask(ctx, j)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case rec.ID != j.Question.ID || rec.Repeat != j.Question.Repeat:
		return Soft(fmt.Errorf("question %q has got the record of %q; was the dataset changed?", j.Question.ID, rec.ID))
	}
	if j.Reopen {
		earlier := j.Earlier
		if earlier == nil {
			earlier = j.Answer
		}
		l.send(journal.KindReopened, j, earlier)
	}
	kind := journal.KindGrade
	if rec.Outcome == result.Errored {
		kind = journal.KindAnswer
	}
	l.finished(j, &rec)
	l.send(kind, j, &rec)
	return nil
}

// finished asks the brakes after a question has finished.
func (l *loop) finished(j Job, rec *result.Record) {
	for _, b := range l.Brakes {
		if err := b.Finished(j.Index, rec); err != nil {
			l.stopAsking(err)
		}
	}
}

// send sends a record to the recorder.
func (l *loop) send(kind string, j Job, rec *result.Record) {
	l.entries <- entry{Entry: journal.Entry{Kind: kind, Index: j.Index, Record: rec}, hold: j.hold.Share()}
}

// keep sends an entry to the recorder. If judging costs money, it waits until the entry is written.
func (l *loop) keep(j Job, e journal.Entry) error {
	if l.Paid {
		return l.write(e)
	}
	l.entries <- entry{Entry: e, hold: j.hold.Share()}
	return nil
}

// write sends an entry to the recorder and waits until it is written.
func (l *loop) write(e journal.Entry) error {
	written := make(chan error, 1)
	l.entries <- entry{Entry: e, written: written}
	return <-written
}
