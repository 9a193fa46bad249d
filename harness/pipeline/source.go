package pipeline

import (
	"context"
	"iter"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// UnfinishedSource is the Source of the questions that a keeper has not finished.
type UnfinishedSource struct {
	Dataset dataset.Dataset
	Keeper  Keeper
	// Again are the finished questions to retry.
	Again map[int]bool
}

// Jobs implements Source.
func (u UnfinishedSource) Jobs(ctx context.Context) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		i := -1
		for q, err := range u.Dataset.Passes() {
			if ctx.Err() != nil {
				return
			}
			i++
			if err == nil && u.Keeper.State(i).Finished && !u.Again[i] {
				continue
			}
			j := Job{Index: i, Question: q, Reopen: u.Again[i]}
			if err == nil {
				err = u.addRecord(&j)
			}
			if !yield(j, err) || err != nil {
				return
			}
		}
	}
}

// addRecord adds the keeper's record of a question.
func (u UnfinishedSource) addRecord(j *Job) error {
	state := u.Keeper.State(j.Index)
	if !state.Answered && !state.Reopened {
		return nil
	}
	rec, err := u.Keeper.Record(j.Index)
	if err != nil {
		return err
	}
	switch {
	case state.Reopened, j.Reopen && !rec.Outcome.Answered():
		j.Earlier = &rec
	case j.Reopen:
		again := rec.JudgeAgain()
		if j.Answer = &again; rec.Outcome == result.Scored {
			j.Judged = &rec
		}
	default:
		j.Answer = &rec
	}
	return nil
}

// Pace decides when questions may be asked.
type Pace interface {
	// Turn waits until a question may be asked. Questions ascend but may be skipped if they are
	// already answered or have no gold.
	Turn(ctx context.Context, j Job) error
}

// Paced returns a source that waits for each question's turn.
func Paced(s Source, p Pace) Source { return pacedSource{s, p} }

type pacedSource struct {
	Source
	pace Pace
}

// Jobs implements Source.
func (p pacedSource) Jobs(ctx context.Context) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		for j, err := range p.Source.Jobs(ctx) {
			if err == nil {
				err = p.pace.Turn(ctx, j)
			}
			if !yield(j, err) || err != nil {
				return
			}
		}
	}
}
