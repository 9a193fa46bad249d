// Package harness evaluates one memory daemon from outside. It sends a dataset's questions to a
// daemon's ask or search endpoint, has every answer scored, and returns the result. It composes the
// stages of package pipeline.
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
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/redact"
)

// ErrMode means that the daemon retrieved in another mode than the required one.
var ErrMode = errors.New("the daemon ran another retrieval mode")

// ErrControls means that the scorer misjudged answers that are known to be right or wrong. A
// context that ends with it as its cause stops a run before its next question; the answers that
// there are already are no score either.
var ErrControls = errors.New("the scorer cannot be trusted")

// ErrMaxFailures means that Config.MaxFailures questions did not pass.
var ErrMaxFailures = errors.New("the limit of --max-failures was reached")

// ErrNoWorkers means that nobody asks the questions of a run whose Asker is a pipeline.Stopper.
var ErrNoWorkers = errors.New("nobody asks the questions")

// Config says what to ask, of which daemon, and how. Fields without a comment are required.
type Config struct {
	Dataset dataset.Dataset
	// Brains are those of the questions, with their documents. They may be empty if there is one.
	Brains  []dataset.Brain
	Subject Subject
	// Scorer is nil if the records of the subject are scored already.
	Scorer pipeline.Scorer
	// TopK is how many chunks of an answer are compared with the gold, at least 1.
	TopK int
	// Concurrency is the number of concurrent questions, at least 1.
	Concurrency int
	// Pace, if set, says when questions are asked.
	Pace pipeline.Pace
	// Observer, if set, sees the questions as they are asked and finished, those of a resumed journal
	// first.
	Observer pipeline.Observer
	// RequireMode, if set, is the retrieval mode that every answer must report. The first answer
	// that reports another one, or none, stops the run with ErrMode.
	RequireMode string
	// MaxFailures, if above 0, is how many questions may not pass before no other is asked. Those
	// that are being asked still finish, and the run stops with ErrMaxFailures.
	MaxFailures int
	// Paid is set if judging costs money. An answer is then in the journal before it is judged.
	Paid bool
	// RetryErrors is set if the questions of a journal are tried again that failed, or whose answers
	// have no verdict, for a reason that does not lie in them: see journal.State.
	RetryErrors bool
	// KeepForRetry is set if the journal of a finished run with such questions is kept.
	KeepForRetry bool
	// Earlier has the records of earlier tries at questions, by their indexes from 0, for Drive to try
	// again as Run does with RetryErrors.
	Earlier map[int]result.Record
	// Secrets are replaced in answers, grades and errors before they go on. Those of the session are
	// too.
	Secrets []redact.Secret
	Notes   Notes
}

// Notes is what a result says besides what the questions have shown. No stage uses it.
type Notes struct {
	Settings result.Settings
	// Brains are nil for those of the questions.
	Brains []result.BrainInfo
	// OwnQuestions were asked before the run.
	OwnQuestions []result.OwnQuestion
	// Admission is what an earlier run saw of the target, for answers that are not asked for here.
	Admission *result.Admission
	// Warnings come before those that the answers cause.
	Warnings []result.Warning
	// Imported is what the result says of answers that another harness stored, nil for others.
	Imported *result.ImportSource
	// Mapped is what stored answers say of the service that gave them, if a mapping describes it.
	Mapped *result.MappedService
	// Embeddings is what is recorded of the daemon's embeddings, nil if that is not known. EmbedPrices
	// are those of what Subject.Session has embedded, of the day EmbedDate, if that is known.
	Embeddings  *result.Embeddings
	EmbedPrices llm.Prices
	EmbedDate   string
	// CapUSD is the limit on what judging may cost, nil for none. The scorer's meter enforces it.
	CapUSD *llm.USD
	// UnpricedModel is the judge's model if its price is not known.
	UnpricedModel string
	// PricesDate is the day of the price of the judge's model, "" if it is not known.
	PricesDate string
	// ReaderPrices, if set, price the tokens that a daemon reports for its reader.
	ReaderPrices *result.ReaderPrices
	// Baseline, if set, is the earlier result that a run with a journal compares the questions with.
	// The ids of the dataset must then be asked once each.
	Baseline *aggregate.Baseline
}

// Drive asks all questions, scores them and returns the result; id is recorded in it. Nothing is
// written: a caller that needs the questions collects them with Config.Observer.
//
// When the run ends early, because ctx ends, the scorer fails or a budget is reached, the result is
// partial, its Stopped is set, and the error is the reason.
func Drive(ctx context.Context, cfg Config, id result.Identity) (result.Result, error) {
	started := time.Now().UTC()
	r := newRunner(cfg, pipeline.NewMemory(cfg.Dataset.Planned(), cfg.Earlier))
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
	e, err := Measure(ctx, cfg, j)
	if err != nil {
		return result.Result{}, "", err
	}
	path, err := e.Write()
	return e.Result, path, err
}

// EndedRun is a run that asks no further question, and whose result is not written yet.
type EndedRun struct {
	// Result has the figures and no verdict. The caller may add to it.
	Result result.Result
	// Stopped is why the run ended early, nil if it did not.
	Stopped error

	run     *runner
	journal *journal.Journal
	over    bool
}

// OwnPath returns the path that the result file has besides that which Write returns.
func (e *EndedRun) OwnPath() string { return e.journal.ResultPath() }

// Over reports whether the result was written and nothing is left to resume.
func (e *EndedRun) Over() bool { return e.over }

// Measure is the part of Run that asks and scores. An error means that there is no result, and that
// the journal is kept.
func Measure(ctx context.Context, cfg Config, j *journal.Journal) (*EndedRun, error) {
	id := j.Identity()
	if id.Dataset.SHA256 != cfg.Dataset.SHA256 || id.Dataset.Selected != cfg.Dataset.Planned() {
		return nil, fmt.Errorf("%s belongs to other questions than %s has now; "+
			"start a new run", j.Path(), cfg.Dataset.Path)
	}
	r := newRunner(cfg, j)
	resumed, err := r.resume()
	r.embeds = cfg.Subject.Session.logEmbeddings(j)
	if err = errors.Join(err, j.Resume(), r.embeds.look()); err != nil {
		return nil, err
	}
	stopped := r.drive(ctx)
	if cfg.Subject.Canary != nil && stopped == nil {
		r.look(ctx)
	}
	if cfg.Subject.Session != nil {
		if r.cfg.Notes.Embeddings, err = r.embeds.end(context.WithoutCancel(ctx)); err != nil {
			return nil, errors.Join(stopped, err)
		}
		r.cfg.Notes.Embeddings.SetPrice(cfg.Notes.EmbedPrices, cfg.Notes.EmbedDate)
	}
	var closing error
	if stopped != nil {
		closing = j.Append(r.stopLine(stopped))
	}
	if err := errors.Join(closing, j.Sync()); err != nil {
		return nil, errors.Join(stopped, err)
	}
	stopped = r.incomplete(stopped)
	res, err := r.result(id, j.StartedAt(), resumed, stopped)
	if err != nil {
		return nil, errors.Join(stopped, err)
	}
	return &EndedRun{Result: res, Stopped: stopped, run: r, journal: j}, nil
}

// look looks for the canary after the last question.
func (r *runner) look(ctx context.Context) {
	s := r.cfg.Subject
	if s.Answering != nil {
		defer s.Answering()()
	}
	s.Canary.After(ctx)
}

// Write decides the verdict, writes the result file and returns its path, with the reason why the
// run ended early. The journal of a run that did not is removed, unless Config.KeepForRetry keeps
// it.
func (e *EndedRun) Write() (path string, err error) {
	e.run.sum.Judge(&e.Result)
	j := e.journal
	path, err = j.WriteResult(&e.Result)
	switch {
	case err != nil:
		return "", errors.Join(e.Stopped, err)
	case e.Stopped != nil:
		return path, e.Stopped
	case e.run.cfg.KeepForRetry && j.Outages() > 0:
		return path, errors.Join(j.Append(journal.Entry{Kind: journal.KindFinished}), j.Sync())
	}
	e.over = true
	return path, j.Remove()
}

// result returns the result of a run that has ended, answers without a grade included.
func (r *runner) result(
	id result.Identity, started time.Time, resumed int, stopped error,
) (result.Result, error) {
	if err := r.addUnjudged(); err != nil {
		return result.Result{}, err
	}
	notes, brains := r.cfg.Notes, r.cfg.Notes.Brains
	if brains == nil {
		brains = BrainInfos(r.cfg.Brains)
	}
	res := result.Result{
		SDK: id.SDK, ScorerName: id.Scorer, Brain: id.Brain, Brains: brains,
		Identity: id, Settings: notes.Settings,
		StartedAt: started, FinishedAt: time.Now().UTC(),
		Stopped: StopReason(stopped), Resumed: resumed, Planned: r.cfg.Dataset.Planned(),
		OwnQuestions: notes.OwnQuestions, Imported: notes.Imported, Embeddings: notes.Embeddings,
	}
	res.Cost = result.Cost{
		Spending: result.Spending{CapUSD: notes.CapUSD}, UnpricedModel: notes.UnpricedModel, PricesDate: notes.PricesDate,
		Unassigned: r.kept.Unassigned(),
	}
	if res.Mapped = notes.Mapped; r.mapped != nil {
		res.Mapped = r.mapped()
	}
	res.Admission = notes.Admission
	if c := r.cfg.Subject.Canary; c != nil {
		res.Admission = c.Seen(r.cfg.Subject.Held)
	}
	r.sum.Fill(&res)
	// Those of what has no account: the judge alone.
	parts := result.CostParts{JudgeUSD: res.Cost.SpentUSD, MayHaveUSD: res.Cost.MayHaveBeenChargedUSD}
	res.Cost.SetParts(parts, unpriced(notes.UnpricedModel))
	if res.Retrieval != nil {
		warnings := append([]result.Warning{}, notes.Warnings...) // not null in JSON
		res.Retrieval.Warnings = append(warnings, res.Retrieval.Warnings...)
	}
	return redact.Values(r.secrets, res), nil
}

// unpriced returns the models whose price is not known, of which there is one at most.
func unpriced(model string) []string {
	if model == "" {
		return nil
	}
	return []string{model}
}

// addUnjudged counts the answers that a stopped run has left without a grade, and the earlier tries
// at questions that it has not tried again.
func (r *runner) addUnjudged() error {
	for i := range r.cfg.Dataset.Planned() {
		s := r.kept.State(i)
		if left := r.kept.untried[i] || s.Reopened || s.Answered && !s.Finished; !left {
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
