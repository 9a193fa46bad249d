package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/launch"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
)

// daemonUnderTest is a daemon that was started, or reached at its endpoint.
type daemonUnderTest struct {
	endpoint *target.Endpoint
	process  *launch.Daemon // nil when it ran already
	logPath  string
	id       result.DaemonID
	brains   map[string]string // ids at the daemon, by name
	cleanup  func()
}

// ownDaemon tells whether the run starts this program's own daemon.
func (s *subject) ownDaemon(p *process) bool {
	return s.SDK == "go" && s.Endpoint == "" && s.DaemonCmd == "" && p.env("SVC_SDK_GO_CMD") == ""
}

// planDaemon finds what will be started or reached.
func (s *subject) planDaemon(p *process, pl *plan) (err error) {
	if s.Endpoint != "" {
		pl.endpoint, err = target.NewEndpoint(s.Endpoint, s.Token, userAgent(), s.Concurrency)
		return err
	}
	pl.profile, pl.self, err = resolveDaemon(p, s.SDK, s.DaemonCmd)
	return err
}

// resolveDaemon finds how to start a daemon, and this program's own file.
func resolveDaemon(p *process, sdk, command string) (profile launch.Profile, self string, err error) {
	if self, err = os.Executable(); err != nil {
		return profile, "", fmt.Errorf("find this program's own file: %w", err)
	}
	profile, err = launch.Resolve(sdk, self, p.env, command)
	return profile, self, err
}

// startDaemon starts a daemon that does not outlive this process.
func startDaemon(ctx context.Context, profile launch.Profile, self string, o launch.Options) (*launch.Daemon, error) {
	o.Watchdog = []string{self, "guard"}
	return launch.Start(ctx, profile, o)
}

// connect starts the daemon, or reaches the one at --endpoint.
func (s *subject) connect(ctx context.Context, p *process, pl *plan) (*daemonUnderTest, error) {
	if pl.endpoint != nil {
		version, err := pl.endpoint.Health(ctx)
		return &daemonUnderTest{
			endpoint: pl.endpoint, cleanup: func() {},
			id: result.DaemonID{Endpoint: pl.endpoint.URL(), Version: version},
		}, err
	}
	d := &daemonUnderTest{id: s.startedID(p, pl), cleanup: func() {}}
	var err error
	if d.logPath, err = journal.DaemonLog(pl.dir, s.SDK); err != nil {
		return nil, usageError{err}
	}
	home := p.env("SVC_HOME")
	if pl.corpus != nil || home == "" {
		if home, d.cleanup, err = freshHome(); err != nil {
			return nil, usageError{err}
		}
	}
	d.process, err = startDaemon(ctx, pl.profile, pl.self, launch.Options{Port: s.Port, Home: home, LogPath: d.logPath})
	if err == nil {
		d.id.Version = d.process.Version()
		d.endpoint, err = target.NewEndpoint(d.process.URL(), s.Token, userAgent(), s.Concurrency)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// ownID stands in results for this program's own daemon, whose file may lie
// anywhere.
var ownID = result.StartedDaemon([]string{"evalctl", "serve"})

// startedID identifies the daemon that is started, before it tells its version.
func (s *subject) startedID(p *process, pl *plan) result.DaemonID {
	if s.ownDaemon(p) {
		return ownID
	}
	return result.StartedDaemon(pl.profile.Command)
}

// freshHome is a folder for a daemon's data that goes away with the run.
func freshHome() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "evalctl-home-*")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

// readerEnv tells a started daemon which model to read with.
func (c *runCmd) readerEnv(p *process) []string {
	if !c.scenario.Reads && c.ownDaemon(p) && p.env("SVC_RERANK_PROVIDER") != llm.RerankLLM {
		// Nothing is read, so the judge's provider need not have a reader's model.
		return []string{"SVC_LLM_PROVIDER=" + llm.ProviderFake}
	}
	var env []string
	if c.LLMProvider != "" {
		env = append(env, "SVC_LLM_PROVIDER="+c.LLMProvider)
	}
	if c.LLMModel != "" {
		env = append(env, "SVC_LLM_MODEL="+c.LLMModel)
	}
	return env
}

// watch gives a context that ends with the daemon's process.
func (d *daemonUnderTest) watch(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	if d.process != nil {
		go func() {
			select {
			case <-d.process.Done():
				cancel(errors.Join(harness.ErrDaemonDied, d.process.Err()))
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

// close ends a daemon that was started; the error names what could not be ended.
func (d *daemonUnderTest) close() (err error) {
	if d.endpoint != nil {
		d.endpoint.Close()
	}
	if d.process != nil {
		err = d.process.Stop()
	}
	d.cleanup()
	return err
}

// identity is everything that decides the run's outcome.
func (c *runCmd) identity(p *process, plan *plan, under *daemonUnderTest) result.Identity {
	id := c.subject.identity(plan, under)
	id.Scorer, id.Scenario, id.Mode = c.Scorer, c.scenario.Name, c.Mode
	id.TopK, id.CandidateK, id.RerankTopN = c.TopK, c.CandidateK, c.RerankTopN
	id.Reader, id.Judge = c.readerID(p, under), plan.judge
	return id
}

// identity is what the shared flags decide.
func (s *subject) identity(plan *plan, under *daemonUnderTest) result.Identity {
	v := version()
	id := result.Identity{
		SchemaVersion: result.SchemaVersion, SDK: s.SDK, Brain: dataset.BrainName(plan.brains, s.Brain), BrainTag: s.BrainTag,
		Dialect: result.Dialect(s.Dialect), Daemon: under.id,
		Dataset: result.DatasetID{
			Path: s.Dataset, SHA256: plan.dataset.SHA256, Selected: plan.dataset.Selected, Tags: plan.dataset.Tags,
		},
		Tool: result.ToolID{
			Version: v.number, Commit: v.commit, Go: runtime.Version(),
			OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0),
		},
	}
	if plan.corpus != nil {
		id.Corpus = &result.CorpusID{Path: plan.corpus.Path, SHA256: plan.corpus.SHA256, Documents: len(plan.corpus.Docs)}
	}
	return id
}

// readerID is the reader that a started daemon was told to use. What it says
// that it ran stands in the result's reader_models.
func (c *runCmd) readerID(p *process, under *daemonUnderTest) *result.ModelID {
	switch {
	case under.process == nil || !c.scenario.Reads:
		return nil
	case c.LLMProvider != "":
		return &result.ModelID{Provider: c.LLMProvider, BaseURL: c.modelURL(p), Model: c.LLMModel}
	case under.id.CommandSHA256 == ownID.CommandSHA256:
		return &result.ModelID{Provider: llm.ProviderFake, Model: llm.ProviderFake}
	}
	return nil
}
