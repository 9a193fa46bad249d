// Package harness evaluates one memory daemon from outside. It sends a dataset's questions to a
// daemon's ask or search endpoint, has every answer scored, and returns the result.
//
// Drive does that and writes nothing. Run also keeps a journal, from which a run that was
// interrupted is resumed, and writes the result file. The input comes from package dataset, the
// daemon's side from package target; both must be ready before a run begins. A Session starts a
// daemon, or reaches one that is running.
package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evalctl/harness/aggregate"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// ErrMode means that the daemon retrieved in another mode than the required one.
var ErrMode = errors.New("the daemon ran another retrieval mode")

// ErrControls means that the scorer misjudged answers that are known to be right or wrong. A
// context that ends with it as its cause stops a run before its next question; the answers that
// there are already are no score either.
var ErrControls = errors.New("the scorer cannot be trusted")

// ErrMaxFailures means that Config.MaxFailures questions did not pass.
var ErrMaxFailures = errors.New("the limit of --max-failures was reached")

// ErrNoWorkers means that nobody asks the questions of a run with Config.Remote.
var ErrNoWorkers = errors.New("nobody asks the questions")

// errScorer means that the scorer fails for a reason that does not depend on the answer.
var errScorer = errors.New("no answer can be scored")

// Config says what to ask, of which daemon, and how. Fields without a comment are required.
type Config struct {
	Asker Asker
	// TopK is how many chunks of an answer are compared with the gold, at least 1.
	TopK    int
	Dataset dataset.Dataset
	// Brains are the brains that are asked. Their documents, if known, are used to translate the
	// paths that a daemon reports to those of the corpus.
	Brains []dataset.Brain
	// Documents, if set, returns the documents of the corpus to which a chunk belongs, as
	// dataset.Paths.Documents does, which is used otherwise. It is called concurrently.
	Documents func(q dataset.Question, c result.Chunk, gold scorer.Ranking) []string
	Scorer    scorer.Scorer
	// Concurrency is the number of concurrent questions, at least 1.
	Concurrency int
	// Timeout limits one question, all attempts included.
	Timeout time.Duration
	// RequireMode, if set, is the retrieval mode that every answer must report. The first answer
	// that reports another one, or none, stops the run with ErrMode.
	RequireMode string
	// MaxFailures, if above 0, is how many questions may not pass before no other is asked. Those
	// that are being asked still finish, and the run stops with ErrMaxFailures.
	MaxFailures int
	// RetryErrors is set if Run tries the questions of a journal again that failed, or whose answers
	// have no verdict, for a reason that does not lie in them: see journal.State.
	RetryErrors bool
	// Earlier has the records of earlier tries at questions, by their indexes from 0, for Drive to try
	// again as Run does with RetryErrors.
	Earlier map[int]result.Record
	// KeepForRetry is set if Run keeps the journal of a finished run with such questions.
	KeepForRetry bool
	// OwnQuestions were asked before the run. They are recorded in the result.
	OwnQuestions []result.OwnQuestion
	// Warnings are recorded in the result, before those that the answers cause.
	Warnings []result.Warning
	// Watched is set if the context is cancelled with ErrDaemonDied when the daemon's process ends.
	Watched bool
	// Paid is set if judging costs money. Run then writes an answer to the journal before it is
	// judged, so that a killed run knows what may have been spent.
	Paid bool
	// CapUSD is the limit on what judging may cost, nil for none. It is only recorded: the scorer's
	// meter enforces it.
	CapUSD *llm.USD
	// UnpricedModel is the judge's model if its price is not known.
	UnpricedModel string
	// ReaderPrices, if set, price the tokens that a daemon reports for its reader.
	ReaderPrices *result.ReaderPrices
	// PricesDate is the day of the price of the judge's model, "" if it is not known.
	PricesDate string
	// Recorded, if set, is called with each finished question, those of a resumed journal first.
	// Calls are not concurrent.
	Recorded func(result.Record)
	// Turn, if set, is called before question i, counted from 0, is asked, in ascending order of the
	// questions that are. The run goes on when it returns. An error stops the run.
	Turn func(ctx context.Context, i int) error
	// Asking, if set, is called when a question begins to be asked and when its answer or failure is
	// there. Calls are concurrent.
	Asking func(id string, begin bool)
	// Remote, if set, has the questions asked and scored by somebody else. Asker, Scorer, Timeout and
	// Complete are not used then, and Concurrency is how many records are waited for at a time.
	Remote Remote
	// Complete, if set, may add to a record before it is written: one with a failure, a grade, or
	// without gold. Calls are concurrent.
	Complete func(*result.Record)
	// Finish, if set, may add to the result of Run after its figures are set and before the verdict
	// is decided. Its error stops the run.
	Finish   func(*result.Result) error
	Settings result.Settings
	// Baseline, if set, is the earlier result that Run compares the questions with. The ids of the
	// dataset must then be asked once each.
	Baseline *aggregate.Baseline
}

// Asker answers questions. *target.Target is one that asks a daemon.
type Asker interface {
	// Ask answers one question within timeout. target.AsFailure reports whether an error means that
	// the question has no usable answer. Any other error stops the run; llm.ErrBudgetExceeded lets
	// the questions finish that are being asked.
	Ask(ctx context.Context, q dataset.Question, timeout time.Duration) (target.Answer, error)
	// Health returns an error unless what answers is alive. It is called after a failure of
	// transport.
	Health(ctx context.Context) error
}

// Remote asks and scores questions in other processes.
type Remote interface {
	// Record returns the finished record of question i, counted from 0. An error means that the
	// question has none: the run ends once there is an outcome of all that were begun. It is called
	// concurrently.
	Record(ctx context.Context, i int, q dataset.Question) (result.Record, error)
	// Stop is called with the reason if no further question is to be asked. Calls of Record for
	// questions that nobody asks must then return an error.
	Stop(reason error)
}

// Drive asks all questions, scores them and returns the result; id is recorded in it. Nothing is
// written: a caller that needs the questions collects them with Config.Recorded.
//
// When the run ends early, because ctx ends, the scorer fails or a budget is reached, the result is
// partial, its Stopped is set, and the error is the reason.
func Drive(ctx context.Context, cfg Config, id result.Identity) (result.Result, error) {
	started := time.Now().UTC()
	r := newRunner(cfg, newMemory(cfg.Dataset.Planned(), cfg.Earlier))
	stopped := r.incomplete(r.drive(ctx)) // before answers without a grade are counted
	res, err := r.result(id, started, 0, stopped)
	if err != nil {
		return result.Result{}, err
	}
	return res, stopped
}

// Run asks the questions that the journal j does not have yet, scores them, writes the result file
// next to the journal and removes the journal, unless Config.KeepForRetry keeps it. It returns the
// result and the file's path.
//
// When the run ends early the result is partial as with Drive. The file is written nevertheless,
// and the journal is kept, so that the run can be resumed.
func Run(ctx context.Context, cfg Config, j *journal.Journal) (result.Result, string, error) {
	id := j.Identity()
	if id.Dataset.SHA256 != cfg.Dataset.SHA256 || id.Dataset.Selected != cfg.Dataset.Planned() {
		return result.Result{}, "", fmt.Errorf("%s belongs to other questions than %s has now; "+
			"start a new run", j.Path(), cfg.Dataset.Path)
	}
	r := newRunner(cfg, j)
	resumed, err := r.resume()
	if err = errors.Join(err, j.Resume()); err != nil {
		return result.Result{}, "", err
	}
	stopped := r.drive(ctx)
	var closing error
	if stopped != nil {
		closing = j.Append(r.stopLine(stopped))
	}
	if err := errors.Join(closing, j.Sync()); err != nil {
		return result.Result{}, "", errors.Join(stopped, err)
	}
	stopped = r.incomplete(stopped)
	res, err := r.result(id, j.StartedAt(), resumed, stopped)
	if err != nil {
		return result.Result{}, "", errors.Join(stopped, err)
	}
	if cfg.Finish != nil {
		if err := cfg.Finish(&res); err != nil {
			return res, "", errors.Join(stopped, err)
		}
	}
	r.sum.Judge(&res)
	path, err := j.WriteResult(&res)
	if err != nil {
		return res, "", errors.Join(stopped, err)
	}
	if stopped != nil {
		return res, path, stopped
	}
	if cfg.KeepForRetry && j.Outages() > 0 {
		return res, path, errors.Join(j.Append(journal.Entry{Kind: journal.KindFinished}), j.Sync())
	}
	return res, path, j.Remove()
}

// stopLine returns the journal's line about what stopped the run.
func (r *runner) stopLine(stopped error) journal.Entry {
	e := journal.Entry{Kind: journal.KindStopped}
	if errors.As(stopped, new(*SystematicError)) {
		e.Questions = r.streak.questions
	}
	return e
}

// incomplete returns what stopped a run that has not finished all questions. A finished run was not
// stopped, even if its context has ended since, unless its scores are in doubt.
func (r *runner) incomplete(stopped error) error {
	doubt := errors.Is(stopped, ErrControls) || errors.Is(stopped, scorer.ErrUnusable)
	if r.sum.Finished() == r.cfg.Dataset.Planned() && !doubt {
		return nil
	}
	return stopped
}

// result returns the result of a run that has ended, answers without a grade included.
func (r *runner) result(
	id result.Identity, started time.Time, resumed int, stopped error,
) (result.Result, error) {
	if err := r.addUnjudged(); err != nil {
		return result.Result{}, err
	}
	res := result.Result{
		SDK: id.SDK, ScorerName: id.Scorer, Brain: id.Brain, Brains: brainInfos(r.cfg.Brains),
		Identity: id, Settings: r.cfg.Settings,
		StartedAt: started, FinishedAt: time.Now().UTC(),
		Stopped: stopReason(stopped), Resumed: resumed, Planned: r.cfg.Dataset.Planned(),
		OwnQuestions: r.cfg.OwnQuestions,
	}
	res.Cost = result.Cost{
		CapUSD: r.cfg.CapUSD, UnpricedModel: r.cfg.UnpricedModel, PricesDate: r.cfg.PricesDate, Unassigned: r.kept.Unassigned(),
	}
	r.sum.Fill(&res)
	if res.Retrieval != nil {
		warnings := append([]result.Warning{}, r.cfg.Warnings...) // not null in JSON
		res.Retrieval.Warnings = append(warnings, res.Retrieval.Warnings...)
	}
	return res, nil
}

// addUnjudged counts the answers that a stopped run has left without a grade, and the earlier tries
// at questions that it has not tried again.
func (r *runner) addUnjudged() error {
	for i := range r.cfg.Dataset.Planned() {
		s := r.kept.State(i)
		if left := r.untried[i] || s.Reopened || s.Answered && !s.Finished; !left {
			continue
		}
		rec, err := r.kept.Record(i)
		if err != nil {
			return err
		}
		r.sum.Add(rec)
	}
	return nil
}

func stopReason(err error) result.Stop {
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
	case errors.Is(err, errScorer):
		return result.StopScorer
	case errors.Is(err, context.Canceled):
		return result.StopInterrupted
	}
	return result.StopFailed
}
