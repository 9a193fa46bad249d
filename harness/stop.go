package harness

import (
	"context"
	"errors"

	"evalctl/harness/journal"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// stopLine returns the journal's line about the stop.
func (r *runner) stopLine(stopped error) journal.Entry {
	e := journal.Entry{Kind: journal.KindStopped}
	if errors.As(stopped, new(*SystematicError)) {
		e.Questions = r.streak.questions
	}
	return e
}

// incomplete returns the reason for stopping, or nil for a run that finished all questions, even if
// its context has ended since. A finished run with doubtful scores still counts as stopped.
func (r *runner) incomplete(stopped error) error {
	doubt := errors.Is(stopped, ErrControls) || errors.Is(stopped, scorer.ErrUnusable)
	if r.sum.Finished() == r.cfg.Dataset.Planned() && !doubt {
		return nil
	}
	return stopped
}

// StopReason returns the name in results for the error that stopped a run.
func StopReason(err error) result.Stop {
	switch {
	case err == nil:
		return ""
	case errors.As(err, new(*SystematicError)):
		return result.StopSystematic
	case errors.Is(err, llm.ErrBudgetExceeded):
		return result.StopBudget
	case errors.Is(err, ErrDaemonDied):
		return result.StopDaemon
	case errors.Is(err, ErrNoWorkers):
		return result.StopNoWorkers
	case errors.Is(err, ErrMode):
		return result.StopMode
	case errors.Is(err, ErrControls):
		return result.StopControls
	case errors.Is(err, ErrMaxFailures):
		return result.StopMaxFailures
	case errors.Is(err, scorer.ErrUnusable):
		return result.StopUnusable
	case errors.Is(err, pipeline.ErrScorer):
		return result.StopScorer
	case errors.Is(err, context.Canceled):
		return result.StopInterrupted
	}
	return result.StopFailed
}
