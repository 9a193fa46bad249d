// Package harness evaluates one memory daemon from outside. It sends a dataset's questions to the
// daemon's ask or search endpoint, has every answer scored, and returns the result. It composes the
// stages of package pipeline.
//
// Drive does this without writing files. Run also keeps a journal, from which an interrupted run
// can be resumed, and writes the result file. Package dataset provides the input and package target
// the client of the daemon; both must be ready before a run begins. A Session starts a daemon or
// connects to a running one.
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

// ErrMode means that the daemon used another retrieval mode than the required one.
var ErrMode = errors.New("the daemon ran another retrieval mode")

// ErrControls means that the scorer misjudged answers known to be right or wrong. As the cause of a
// context, it stops a run before its next question; the existing answers are not a score either.
var ErrControls = errors.New("the scorer cannot be trusted")

// ErrMaxFailures means that Config.MaxFailures questions have failed.
var ErrMaxFailures = errors.New("the limit of --max-failures was reached")

// ErrNoWorkers means that no worker asks the questions of a run whose Asker is a pipeline.Stopper.
var ErrNoWorkers = errors.New("nobody asks the questions")

// Config configures a run. Fields without a comment are required.
type Config struct {
	Dataset dataset.Dataset
	// Brains are the brains of the questions, with their documents. They may be empty if there is
	// only one.
	Brains  []dataset.Brain
	Subject Subject
	// Scorer is nil if the subject's records are already scored.
	Scorer pipeline.Scorer
	// TopK is how many chunks of an answer are compared with the gold, at least 1.
	TopK int
	// Concurrency is the number of concurrent questions, at least 1.
	Concurrency int
	// Pace, if set, decides when questions are asked.
	Pace pipeline.Pace
	// Observer, if set, follows the questions as they are asked and finished, starting with those
	// in a resumed journal.
	Observer pipeline.Observer
	// Counted, if set, is called with each record that the result counts, one call at a time.
	// Unlike the Observer, it gets the answers that a stopped run left without a grade.
	Counted func(result.Record)
	// RequireMode, if set, is the retrieval mode that every answer must report. The first answer
	// without it stops the run with ErrMode.
	RequireMode string
	// MaxFailures, if above 0, stops the run with ErrMaxFailures after this many failed questions.
	// Questions in progress still finish.
	MaxFailures int
	// Paid is set if judging costs money. Answers are then written to the journal before they are
	// judged.
	Paid bool
	// RetryErrors retries journal questions that failed, or whose answers have no verdict, for a
	// reason other than the question itself; see journal.State.
	RetryErrors bool
	// KeepForRetry keeps the journal of a finished run that has such questions.
	KeepForRetry bool
	// Earlier has the records of earlier tries by question index from 0, for Drive to retry as Run
	// does with RetryErrors.
	Earlier map[int]result.Record
	// Secrets are redacted in answers, grades and errors, in addition to the session's.
	Secrets []redact.Secret
	Notes   Notes
}

// Notes are recorded in the result. No stage uses them.
type Notes struct {
	Settings result.Settings
	// Brains is nil to use the brains of the questions.
	Brains []result.BrainInfo
	// OwnQuestions were asked before the run.
	OwnQuestions []result.OwnQuestion
	// Admission is what an earlier run observed of the target, for stored answers.
	Admission *result.Admission
	// Warnings precede those caused by the answers.
	Warnings []result.Warning
	// Imported describes answers stored by another harness, nil for others.
	Imported *result.ImportSource
	// Mapped describes the mapped service behind stored answers, if any.
	Mapped *result.MappedService
	// Embeddings are the recorded embeddings of the daemon, nil if unknown. EmbedPrices price the
	// embeddings of Subject.Session as of EmbedDate, if known.
	Embeddings  *result.Embeddings
	EmbedPrices llm.Prices
	EmbedDate   string
	// CapUSD limits the cost of judging, nil for no limit. The scorer's meter enforces it.
	CapUSD *llm.USD
	// UnpricedModel is the judge's model if it has no known price.
	UnpricedModel string
	// PricesDate is the date of the judge's price, "" if unknown.
	PricesDate string
	// ReaderPrices, if set, price the reader tokens that the daemon reports.
	ReaderPrices *aggregate.ReaderPrices
	// Baseline, if set, is the earlier result that a run with a journal is compared with. Each
	// question must then be asked once.
	Baseline *aggregate.Baseline
}

// Drive asks and scores all questions and returns the result, with id recorded in it. It writes no
// file: use Config.Observer to collect the questions.
//
// If the run ends early because ctx ends, the scorer fails or a budget is reached, the result is
// partial with Stopped set, and the error is the reason.
func Drive(ctx context.Context, cfg Config, id result.Identity) (result.Result, error) {
	started := time.Now().UTC()
	r := newRunner(cfg, pipeline.NewMemory(cfg.Dataset.Planned(), cfg.Earlier))
	for i := range cfg.Earlier {
		r.kept.untried[i] = true
	}
	stopped := r.incomplete(r.drive(ctx)) // before answers without a grade are counted
	res, err := r.result(id, started, 0, stopped)
	if err != nil {
		return result.Result{}, err
	}
	return res, stopped
}

// Run asks and scores the questions missing from journal j, writes the result file beside the
// journal, and removes the journal unless Config.KeepForRetry keeps it. It returns the result and
// the file's path.
//
// If the run ends early, the result is partial as with Drive. The file is still written, and the
// journal is kept for resuming the run.
func Run(ctx context.Context, cfg Config, j *journal.Journal) (result.Result, string, error) {
	e, err := Measure(ctx, cfg, j)
	if err != nil {
		return result.Result{}, "", err
	}
	path, err := e.Write()
	return e.Result, path, err
}

// EndedRun is a run that has asked its last question and whose result is not yet written.
type EndedRun struct {
	// Result has the figures but no verdict. The caller may add to it.
	Result result.Result
	// Stopped is the reason that the run ended early, nil if it did not.
	Stopped error

	run     *runner
	journal *journal.Journal
	over    bool
}

// OwnPath returns the result file's own path, which exists beside the one that Write returns.
func (e *EndedRun) OwnPath() string { return e.journal.ResultPath() }

// Over reports whether the result was written and there is nothing left to resume.
func (e *EndedRun) Over() bool { return e.over }

// Measure is the part of Run that asks and scores. After an error there is no result, and the
// journal is kept.
func Measure(ctx context.Context, cfg Config, j *journal.Journal) (*EndedRun, error) {
	id := j.Identity()
	if id.Dataset.SHA256 != cfg.Dataset.SHA256 || id.Dataset.Selected != cfg.Dataset.Planned() {
		return nil, fmt.Errorf("%s belongs to other questions than %s has now; "+
			"start a new run", j.Path(), cfg.Dataset.Path)
	}
	r := newRunner(cfg, j)
	r.before = j.Observed()
	resumed, err := r.resume()
	r.embeds = cfg.Subject.Session.logEmbeddings(j)
	if err = errors.Join(err, j.Resume(), r.embeds.look(), r.markObserved(j)); err != nil {
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
	closing := r.markObserved(j)
	if stopped != nil {
		closing = errors.Join(closing, j.Append(r.stopLine(stopped)))
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

// Write decides the verdict, writes the result file and returns its path, and the reason that the
// run ended early. If it did not end early, the journal is removed unless Config.KeepForRetry keeps
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

// result returns the result of an ended run, including answers without a grade.
func (r *runner) result(
	id result.Identity, started time.Time, resumed int, stopped error,
) (result.Result, error) {
	if err := r.addUnjudged(); err != nil {
		return result.Result{}, err
	}
	notes, brains := r.cfg.Notes, r.cfg.Notes.Brains
	if brains == nil {
		brains = brainInfos(r.cfg.Brains)
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
	seen := r.observed()
	res.Admission, res.Mapped, res.Escaped = seen.Admission, seen.Mapped, seen.Escaped
	r.sum.Fill(&res)
	// Only the judge's cost, which has no account of its own.
	parts := result.CostParts{JudgeUSD: res.Cost.SpentUSD, MayHaveUSD: res.Cost.MayHaveBeenChargedUSD}
	res.Cost.SetParts(parts, unpriced(notes.UnpricedModel))
	r.warn(&res)
	return redact.Values(r.secrets, res), nil
}

// observed returns what the run has observed of its target so far, also before it was resumed. Of
// stored answers it is what the run observed that asked for them.
func (r *runner) observed() result.Observations {
	seen := result.Observations{Admission: r.cfg.Notes.Admission, Mapped: r.cfg.Notes.Mapped}
	if r.streak.stored {
		return seen
	}
	if r.mapped != nil {
		seen.Mapped = r.mapped()
	}
	if c := r.cfg.Subject.Canary; c != nil {
		seen.Admission = c.Seen(r.cfg.Subject.Held)
	}
	all := r.before.Then(seen)
	if m := all.ModelRequests; m != nil {
		// The daemon's requests to this process are known once it has stopped. See Requested.
		m := *m
		m.SinceResumed = true
		all.ModelRequests = &m
	}
	return all
}

// markObserved records in the journal what has been observed, for a run that is resumed.
func (r *runner) markObserved(j *journal.Journal) error {
	seen := r.observed()
	if r.streak.stored || seen.Admission == nil && seen.Mapped == nil && seen.ModelRequests == nil {
		return nil
	}
	return j.MarkObserved(seen)
}

// Left adds the processes that a started daemon has left behind to those of before the run was
// resumed. It does nothing if they are not known, which is nil. Call it before Write.
func (e *EndedRun) Left(escaped []string) error {
	if escaped == nil {
		return nil
	}
	seen := e.run.observed().Then(result.Observations{Escaped: escaped})
	e.Result.Escaped = seen.Escaped
	if len(seen.Escaped) == 0 {
		return nil
	}
	return e.journal.MarkObserved(seen)
}

// Unremoved says which brains that were created for questions could not be removed from a
// service that keeps running, nil if there are none.
func (e *EndedRun) Unremoved() error { return e.run.unremoved }

// Requested sets the daemon's model requests: m, which it sent to this process, and those of before
// the run was resumed. Call it after Left and before Write.
func (e *EndedRun) Requested(m result.ModelRequests) error {
	before := e.run.before.ModelRequests
	if before == nil && e.journal.Reopened() {
		m.SinceResumed = true
	}
	seen := e.journal.Observed()
	seen.ModelRequests = result.Observations{ModelRequests: before}.Then(result.Observations{ModelRequests: &m}).ModelRequests
	e.Result.Cost.ModelRequests = new(*seen.ModelRequests)
	return e.journal.MarkObserved(seen)
}

// warn puts the warnings that no answer caused before the others of the retrieval. What is to be said
// of a mapped service is known only now: brains are filled during the run too.
func (r *runner) warn(res *result.Result) {
	if res.Retrieval == nil {
		return
	}
	warnings := append([]result.Warning{}, r.cfg.Notes.Warnings...) // not null in JSON
	if r.mapped != nil {
		warnings = append(warnings, mappedWarnings(*res.Mapped, res.Planned)...)
	}
	res.Retrieval.Warnings = append(warnings, res.Retrieval.Warnings...)
}

// unpriced returns the models without a known price, at most one.
func unpriced(model string) []string {
	if model == "" {
		return nil
	}
	return []string{model}
}

// addUnjudged counts the answers that a stopped run left without a grade, and earlier tries that
// were not repeated.
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
		r.count(rec)
	}
	return nil
}

// count adds a record to the figures of the result.
func (r *runner) count(rec result.Record) {
	r.sum.Add(rec)
	if r.cfg.Counted != nil {
		r.cfg.Counted(rec)
	}
}
