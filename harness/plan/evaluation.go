package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"evalctl/harness"
	"evalctl/harness/account"
	"evalctl/harness/aggregate"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/key"
	"evalctl/harness/ledger"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
)

// Evaluation is a run on a healthy daemon.
type Evaluation struct {
	Journal *journal.Journal

	account *account.Account
	run     *Run
	session *harness.Session
	asked   *target.Target
	canary  *seed.Canary // nil if the run writes to no brain before its first question
	held    *int         // see harness.Subject
}

// Reopen opens the journal in Resume. It compares the experiments as far as possible before the
// daemon runs.
func (r *Run) Reopen() (*journal.Journal, error) {
	j, err := journal.Open(r.Resume)
	if err != nil {
		return nil, err
	}
	daemon, was := r.daemon, j.Identity().Daemon
	daemon.Version = was.Version
	if daemon.Mapping == "" { // it follows from the tools of the server
		daemon.Mapping, daemon.MappingSHA256 = was.Mapping, was.MappingSHA256
	}
	if err = r.anythingToResume(j); err == nil {
		err = r.sameRun(j, daemon)
	}
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// anythingToResume returns an error for the journal of a finished run, unless questions are to be
// retried.
func (r *Run) anythingToResume(j *journal.Journal) error {
	if r.RetryErrors || !j.Complete() {
		return nil
	}
	return fmt.Errorf("%s: the run has finished; add --retry-errors to try the %s again that failed without an answer "+
		"of the daemon or the judge", r.Resume, figure.Count(j.Outages(), "question"))
}

// sameRun returns an error that lists the differences between the journal's run and this one.
func (r *Run) sameRun(j *journal.Journal, daemon result.DaemonID) error {
	diff := key.Differences(j.Identity(), r.Identity(daemon))
	if len(diff) == 0 {
		return nil
	}
	text := ""
	for _, d := range diff {
		text += "\n  " + d
	}
	return fmt.Errorf("%s belongs to another experiment:%s\nstart a new run without --resume", r.Resume, text)
}

// Identity returns everything that determines the outcome of the run with a daemon.
func (r *Run) Identity(daemon result.DaemonID) result.Identity {
	id := r.Plan.Identity(daemon)
	id.Scorer, id.External = r.Scorer.Name, r.External
	if r.Scorer.ComparesText() {
		id.ExactCase = &r.ExactCase
	}
	id.Scenario, id.Mode = r.Scenario.Name, r.Mode
	id.TopK, id.CandidateK, id.RerankTopN = r.TopK, r.CandidateK, r.RerankTopN
	id.MaxPerDocument = r.MaxPerDocument
	id.Reader = r.readerID(daemon)
	if r.Judging != nil {
		id.Judge, id.Panel = new(r.Judging.Identity()), r.Judging.Panel()
	}
	return id
}

// readerID returns the reader that a started daemon was configured with, nil if unknown. The reader
// that it reports is recorded in the result's reader_models.
func (r *Run) readerID(daemon result.DaemonID) *result.ModelID {
	switch {
	case daemon.Endpoint != "" || !r.reads():
		return nil
	case r.reader.Provider != "":
		return &result.ModelID{
			Provider: r.reader.Provider, BaseURL: llm.RecordedURL(r.reader.Config(r.env)), Model: r.reader.Name,
		}
	case r.Found.Own:
		return &result.ModelID{Provider: llm.ProviderFake, Model: llm.ProviderFake}
	}
	return nil
}

// OpenAccount opens the run's account and points the daemon about to start to its gateways. resumed
// is nil for a new run. The run's folder must be locked. The caller closes the account, which may
// be nil.
func (r *Run) OpenAccount(resumed *journal.Journal) (*account.Account, error) {
	c := r.accountConfig(r.Money)
	c.Paid = r.Judging != nil && !r.Judging.Free()
	var before llm.USD
	if resumed != nil {
		c.Started, before = resumed.StartedAt(), resumed.Spent()
	}
	return r.openAccount(c, resumed != nil, before)
}

// Begin creates the run's journal, which stores options, unless resumed is the journal of the same
// run. The caller closes the journal.
func (r *Run) Begin(session *harness.Session, a *account.Account, resumed *journal.Journal, options []byte) (*Evaluation, error) {
	if err := r.need().Check(session.Service()); err != nil {
		return nil, err
	}
	e := &Evaluation{Journal: resumed, account: a, run: r, session: session}
	if resumed != nil {
		return e, r.sameRun(resumed, session.ID())
	}
	var err error
	e.Journal, err = journal.Create(r.Dir, r.Identity(session.ID()), r.Started, options)
	return e, err
}

// Prepare fills the brains and asks one of evalctl's own questions. An error means that the daemon
// cannot be evaluated. A new journal is then removed, since nothing was asked.
func (e *Evaluation) Prepare(ctx context.Context) (err error) {
	r := e.run
	if was := e.Journal.Embedded(); was != nil && !was.Incomplete {
		// What the daemon embeds now is lost if this ends before a question is asked.
		lacking := *was
		lacking.Incomplete = true
		if err := e.Journal.MarkEmbedded(lacking); err != nil {
			return err
		}
		defer func() {
			if err == nil {
				err = e.Journal.MarkEmbedded(*was)
			}
		}()
	}
	e.session.MeterEmbeddings(ctx)
	// Changing brains are filled before their first question.
	unchanging := slices.DeleteFunc(slices.Clone(r.Brains), func(b dataset.Brain) bool { return b.Changes })
	end := e.filling()
	brains, err := e.fill(ctx, unchanging)
	end()
	e.asked = &target.Target{
		Service: e.session.Service(), Brains: brains, Scenario: r.Scenario.Name, Mode: r.Mode,
		TopK: r.TopK, CandidateK: r.CandidateK, RerankTopN: r.RerankTopN,
		MaxPerDocument: r.MaxPerDocument, Dialect: r.Dialect,
	}
	if err == nil {
		err = e.check(ctx)
	}
	if err != nil {
		err = errors.Join(err, e.leave(ctx))
	}
	if err != nil && r.Resume == "" {
		err = errors.Join(err, e.Journal.Discard())
	}
	return err
}

// fill makes the brains ready, and looks for a canary if it writes to one. When a run is resumed, a
// mapped service is filled again, because its namespace belonged to the earlier process.
func (e *Evaluation) fill(ctx context.Context, brains []dataset.Brain) (ids map[string]string, err error) {
	r, s := e.run, e.session.Service()
	i := slices.IndexFunc(brains, func(b dataset.Brain) bool { return b.Docs != nil })
	if i >= 0 {
		e.held, err = e.session.Held(ctx, brains[i].Name, r.Dataset.Questions())
		if err != nil && r.Resume != "" {
			err = fmt.Errorf("%w; what an earlier part of this run has written there is written again", err)
		}
		if err != nil {
			return nil, err
		}
	}
	seeded := e.Journal.Seeded
	if e.session.Namespace() != "" {
		seeded = nil
	}
	ids, err = seed.Brains(ctx, s, r.Dialect, brains, seeded, e.Journal.MarkSeeded)
	if err != nil || i < 0 {
		return ids, err
	}
	e.canary = seed.NewCanary(ctx, e.session.Service, r.Dialect, ids[brains[i].Name])
	e.canary.Before(ctx)
	return ids, nil
}

// leave removes the canary and what Leave does. It works even if ctx has ended.
func (e *Evaluation) leave(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if e.canary != nil {
		e.canary.Remove(ctx)
	}
	if e.asked == nil {
		return nil
	}
	return e.run.Leave(ctx, e.session, e.asked.Brains)
}

// Leave removes what was written to brains, whose ids are given by name, if the command has a
// namespace at a service that keeps running. It works even if ctx has ended, and goes on after a
// failure by the rules of seed.RemoveEach.
func (p *Plan) Leave(ctx context.Context, s *harness.Session, ids map[string]string) error {
	if s.Started() || s.Namespace() == "" {
		return nil
	}
	return p.removeFilled(ctx, s, ids, "what the run has written to brain %q could not be removed: %w")
}

// removeFilled removes the brains that the run has filled by their ids, even if ctx has ended.
// format is the error for a brain that is left.
func (p *Plan) removeFilled(ctx context.Context, s *harness.Session, ids map[string]string, format string) error {
	store := s.Service().Store(p.Dialect)
	filled := slices.DeleteFunc(slices.Clone(p.Brains), func(b dataset.Brain) bool { return ids[b.Name] == "" || b.Docs == nil })
	return seed.RemoveEach(ctx, filled, func(ctx context.Context, b dataset.Brain) error {
		err := store.Remove(ctx, ids[b.Name], b.Name)
		if err != nil {
			err = fmt.Errorf(format, b.Name, err)
		}
		return err
	})
}

func (e *Evaluation) answering() (end func()) { return e.account.Enter(e.run.Found.Name, ledger.Actor) }

func (e *Evaluation) filling() (end func()) { return e.account.Enter(e.run.Found.Name, ledger.Ingest) }

// check asks one of evalctl's own questions and records it in the journal. It returns an error
// if the daemon's answers cannot be read, after removing the brains that the run created. The
// brains of a namespace are removed by leave.
func (e *Evaluation) check(ctx context.Context) error {
	defer e.answering()()
	own, err := e.asked.Check(ctx, e.run.Timeout)
	if own.Requests > 0 { // which the daemon has paid for, also if its answer is of no use
		err = errors.Join(err, e.Journal.MarkOwn(own))
	}
	if err == nil || e.run.Resume != "" || e.session.Started() || e.session.Namespace() != "" {
		return err
	}
	left := e.run.removeFilled(ctx, e.session, e.asked.Brains, "brain %q was created for this run and could not be removed, "+
		"which must be done before the next try: %w")
	return errors.Join(err, left)
}

// Ask asks and scores the questions missing from the journal, stops a started daemon, and writes
// the result. The path is empty if the result could not be written.
func (e *Evaluation) Ask(ctx context.Context, o pipeline.Observer) (result.Result, string, error) {
	ended, err := e.measure(ctx, o)
	if err != nil {
		return result.Result{}, "", errors.Join(err, e.leave(ctx))
	}
	left := errors.Join(ended.Unremoved(), e.leave(ctx))
	_ = e.session.Close() // the caller closes it too, and gets the error
	left = errors.Join(left, ended.Left(e.session.Escaped()))
	path, err := e.account.Write(ctx, ended, e.run.Calls.Answering != "")
	return ended.Result, path, errors.Join(err, left)
}

func (e *Evaluation) measure(ctx context.Context, o pipeline.Observer) (*harness.EndedRun, error) {
	sc, err := e.run.NewScorer(e.account.Judge())
	if err != nil {
		return nil, err
	}
	config := e.config()
	config.Scorer, config.Observer = pipeline.Grader{Scorer: sc}, o
	return harness.Measure(ctx, config, e.Journal)
}

// config returns the run's configuration without its scorer.
func (e *Evaluation) config() harness.Config {
	r := e.run
	settings := r.Gate
	settings.Concurrency, settings.TimeoutSeconds = r.Concurrency, r.Timeout.Seconds()
	settings.ClusterTag, settings.DaemonEnv = r.Dataset.Cluster, r.Calls.DaemonEnv
	config := harness.Config{
		TopK: r.TopK, Dataset: r.Dataset, Brains: r.Brains, Concurrency: r.Concurrency,
		RequireMode: r.RequireMode, MaxFailures: r.MaxFailures, RetryErrors: r.RetryErrors, KeepForRetry: true,
		Subject: harness.Subject{
			Target: e.asked, Session: e.session, Timeout: r.Timeout, Answering: e.answering, Filling: e.filling,
			Canary: e.canary, Held: e.held,
		},
		Notes: harness.Notes{
			CapUSD: r.Cap, Warnings: r.Gold.Warnings,
			ReaderPrices: r.readerPrices(), Settings: settings, OwnQuestions: e.Journal.OwnQuestions(),
			EmbedPrices: r.Prices, EmbedDate: r.listDate(),
			Baseline: r.Baseline.Against(r.Identity(e.session.ID())),
		},
	}
	if r.Judging != nil {
		config.Paid, config.Notes.UnpricedModel = true, r.Judging.UnpricedModel()
		config.Notes.PricesDate = r.Judging.PricesDate()
	}
	return config
}

// readerPrices returns the prices of the models that the daemon reports. A daemon that was already
// running does not report their provider. The offline reader of the reference daemon is free.
func (r *Run) readerPrices() *aggregate.ReaderPrices {
	provider := llm.ProviderOpenAI
	if r.Found.Endpoint == "" {
		provider = cmp.Or(r.reader.Provider, provider)
	}
	date := r.listDate()
	if provider != llm.ProviderOpenAI {
		date = ""
	}
	return &aggregate.ReaderPrices{Date: date, Of: func(model string) (llm.Price, bool) {
		if model == llm.ProviderFake {
			return llm.Price{}, true
		}
		return r.Prices.Of(provider, model)
	}}
}

// listDate is the date of the list prices, empty if some prices may be the user's.
func (r *Run) listDate() string {
	if len(r.Priced) > 0 {
		return ""
	}
	return llm.PricesDate
}
