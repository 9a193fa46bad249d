package main

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"strings"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
)

// ownDaemon reports whether the run starts this program's own daemon.
func (s *targetFlags) ownDaemon() bool {
	return s.found.Own
}

// paidModels are the paid models that a started daemon calls by itself. provider is that of its
// completions, and reader the model that answers, "" for none.
func (s *targetFlags) paidModels(p *process, provider, reader string) (models []string) {
	if s.Endpoint != "" {
		return nil
	}
	if reader != "" {
		models = append(models, reader)
	}
	if p.env("SVC_EMBED_PROVIDER") == llm.ProviderOpenAI {
		models = append(models, cmp.Or(p.env("SVC_EMBED_MODEL"), "a model of embeddings"))
	}
	reranks := p.env("SVC_RERANK_PROVIDER")
	if reranks == llm.RerankHTTP || reranks == llm.RerankLLM && provider == llm.ProviderOpenAI {
		models = append(models, cmp.Or(p.env("SVC_RERANK_MODEL"), "a reranker"))
	}
	return models
}

// printDaemonPays says what no estimate and no cap of a run includes.
func printDaemonPays(t *terminal.Terminal, models []string) {
	if len(models) > 0 {
		t.Field("note", "the daemon calls %s by itself: what that costs is neither estimated nor limited",
			terminal.Line(strings.Join(models, " and ")))
	}
}

// planDaemon checks how the daemon is started or reached.
func (s *targetFlags) planDaemon(p *process, pl *runPlan) (err error) {
	if s.found, err = findTarget(p, s.Target, s.DaemonCmd, s.Endpoint); err != nil {
		return err
	}
	if s.Endpoint = s.found.Endpoint; s.Endpoint != "" && s.Port != 0 {
		return errPort
	}
	if pl.session, err = sessionOf(p, s.found, s.Token, s.Port); err != nil {
		return err
	}
	pl.session.Concurrency = s.Concurrency
	pl.daemon, err = pl.session.DaemonID()
	return err
}

// open starts the daemon, or reaches the one at --endpoint.
func (s *targetFlags) open(ctx context.Context, p *process, pl *runPlan) (*harness.Session, error) {
	config := pl.session
	if config.Endpoint == "" {
		log, err := journal.DaemonLog(pl.dir, s.found.Name)
		if err != nil {
			return nil, usageError{err}
		}
		config.Launch.LogPath = log
		if pl.Corpus == nil {
			config.Launch.Home = p.env("SVC_HOME") // its brains are evaluated as they are
		}
	}
	session, err := harness.Open(ctx, config)
	if err != nil {
		return nil, asDaemonError(ctx, err)
	}
	return session, nil
}

// asDaemonError marks the error of a daemon that cannot be used. The end of ctx and a missing home
// keep their own exit codes.
func asDaemonError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, harness.ErrHome):
		return usageError{err}
	}
	return daemonError{err}
}

// readerEnv returns the environment that selects the reader model of a started daemon.
func (c *runCmd) readerEnv(p *process) []string {
	var env []string
	provider := c.startedReader(p)
	if provider != "" {
		env = append(env, "SVC_LLM_PROVIDER="+provider)
	}
	if provider == c.reader.Provider && c.reader.Name != "" {
		env = append(env, "SVC_LLM_MODEL="+c.reader.Name)
	}
	return env
}

// startedReader returns the provider of the reader of a started daemon, "" if it chooses by itself.
// If no answer is generated, the judge's provider need not have a reader model.
func (c *runCmd) startedReader(p *process) string {
	if !c.scenario.Name.Reads() && c.ownDaemon() && p.env("SVC_RERANK_PROVIDER") != llm.RerankLLM {
		return llm.ProviderFake
	}
	return c.reader.Provider
}

// identity returns what determines the outcome of a run with daemon.
func (c *runCmd) identity(p *process, plan *runPlan, daemon result.DaemonID) result.Identity {
	id := c.targetFlags.identity(plan, daemon)
	id.Scorer, id.ExactCase, id.External = c.scorer.Name, c.exactCase(c.scorer), c.externID()
	id.Scenario, id.Mode = c.scenario.Name, c.Mode
	id.TopK, id.CandidateK, id.RerankTopN = c.TopK, c.CandidateK, c.RerankTopN
	id.MaxPerDocument = c.MaxPerDocument
	id.Reader = c.readerID(p, daemon)
	if plan.judging != nil {
		id.Judge = new(plan.judging.Identity())
	}
	return id
}

// identity returns the part that the shared flags determine.
func (s *targetFlags) identity(plan *runPlan, daemon result.DaemonID) result.Identity {
	id := result.Identity{
		SchemaVersion: result.SchemaVersion, SDK: s.found.Name, Daemon: daemon,
		Dialect: result.Dialect(s.Dialect),
		Brain:   dataset.BrainName(plan.Brains, s.Brain), BrainTag: s.BrainTag, Isolated: s.isolated,
		Dataset: result.DatasetID{
			Path: s.Dataset, SHA256: plan.Dataset.SHA256,
			Selected: plan.Dataset.Planned(), Selection: plan.Dataset.Selection,
			Repeats: plan.Dataset.Repeats, Tags: plan.Dataset.Tags,
		},
		Tool: toolID(),
	}
	if c := plan.Corpus; c != nil {
		id.Corpus = &result.CorpusID{Path: c.Path, SHA256: c.SHA256, Documents: len(c.Docs)}
	}
	return id
}

// toolID identifies this program in results.
func toolID() result.ToolID {
	v := version()
	return result.ToolID{
		Version: v.Number, Commit: v.Commit, Go: runtime.Version(),
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0),
	}
}

// readerID returns the reader that a started daemon was configured with, nil if that is not known.
// The reader that it reports is recorded in the result's reader_models.
func (c *runCmd) readerID(p *process, daemon result.DaemonID) *result.ModelID {
	switch {
	case daemon.Endpoint != "" || !c.scenario.Name.Reads():
		return nil
	case c.reader.Provider != "":
		return &result.ModelID{Provider: c.reader.Provider, BaseURL: llm.RecordedURL(c.reader.Config(p.env)), Model: c.reader.Name}
	case c.found.Own:
		return &result.ModelID{Provider: llm.ProviderFake, Model: llm.ProviderFake}
	}
	return nil
}
