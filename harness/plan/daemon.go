package plan

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"evalctl/harness"
	"evalctl/harness/account"
	"evalctl/harness/dataset"
	"evalctl/harness/gateway"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
)

// Spec says which daemon a run or a sweep asks which questions.
type Spec struct {
	Targets Targets
	// Target names the daemon. Command and Endpoint define it, see Targets.FindOne.
	Target, Command, Endpoint string
	Token                     string
	// Port is the port of a started daemon, 0 for a free one.
	Port int
	// Questions is complete except for Selection, which Criteria determines, and Check.
	Questions dataset.Spec
	Criteria  dataset.Criteria
	// Output is the parent of the day's folder for results.
	Output      string
	Dialect     result.Dialect
	Concurrency int
	// Timeout limits one question, all attempts included.
	Timeout time.Duration
	Tool    result.ToolID
}

// Plan is the common part of a run and a sweep, checked but not started.
type Plan struct {
	Spec
	Started time.Time
	// Dir is the folder for the run's files.
	Dir   string
	Found target.Definition
	// Session says how to start or connect to the daemon.
	Session harness.SessionConfig
	// Calls are the models called by a started daemon.
	Calls Calls
	// Hint is from Targets.Hint.
	Hint string
	dataset.Input

	env    func(string) string // of the daemon
	daemon result.DaemonID     // without its version
}

// namespace returns the prefix of brain names at a mapped service. It is unique to this process.
func (p *Plan) namespace() string {
	of := fmt.Sprintf("%s %d %d", p.Found.Name, p.Started.UnixNano(), os.Getpid())
	return fmt.Sprintf("evalctl-%x-", sha256.Sum256([]byte(of)))[:len("evalctl-")+namespaceDigits] + "-"
}

// namespaceDigits is the number of hexadecimal digits in a namespace.
const namespaceDigits = 10

// ErrPort means that a port was given for a daemon that is not started here.
var ErrPort = errors.New("--port is for a daemon that is started; one at a URL has a port of its own")

// New checks how to start or connect to the daemon. It does not read the questions.
func New(s Spec) (*Plan, error) {
	if err := dataset.CheckFile(s.Questions.Path); err != nil {
		return nil, err
	}
	p := &Plan{Spec: s, Started: time.Now().UTC()}
	p.Dir = filepath.Join(s.Output, p.Started.Format(time.DateOnly))
	var err error
	if p.Found, err = s.Targets.FindOne(s.Target, s.Command, s.Endpoint); err != nil {
		return nil, err
	}
	if p.Found.Endpoint != "" && s.Port != 0 {
		return nil, ErrPort
	}
	if p.Session, err = s.Targets.Session(p.Found, s.Token, s.Port); err != nil {
		return nil, err
	}
	p.Session.Concurrency = s.Concurrency
	if f := p.Session.Described; f != nil {
		f.Namespace = p.namespace()
	}
	if d := p.Found.Settings.Dialect; d != "" {
		p.Dialect = d
	}
	p.env = Environment(s.Targets.Env, p.Found)
	p.daemon, err = p.Session.DaemonID()
	return p, err
}

// NewSweep checks how to start or connect to a sweep's daemon, and reads the questions with load.
// This program's own daemon generates no answers in a sweep.
func NewSweep(s Spec, m Money, load func(dataset.Spec) (dataset.Input, error)) (*Plan, error) {
	p, err := New(s)
	if err != nil {
		return nil, err
	}
	if p.Found.Own {
		p.Session.Profile.Env = append([]string{"SVC_LLM_PROVIDER=" + llm.ProviderFake}, p.Found.Profile.Env...)
	}
	if err := p.planCalls(p.sweeping(), m); err != nil {
		return nil, err
	}
	if mode := p.Found.Settings.Mode; mode != "" {
		return nil, fmt.Errorf("target %s has the mode %s, and a sweep sets modes: give --mode %[2]s with a target without a mode",
			p.Found.Name, mode)
	}
	questions, err := p.ReadCriteria(nil)
	if err != nil {
		return nil, err
	}
	p.Input, err = load(questions)
	return p, err
}

// sweeping says what a sweep uses the daemon for. This program's own daemon generates no answers.
func (p *Plan) sweeping() Asks {
	if p.Found.Own {
		return Asks{Model: llm.Ref{Provider: llm.ProviderFake}}
	}
	return Asks{Model: llm.Ref{Provider: p.Targets.Env("SVC_LLM_PROVIDER")}}
}

// planCalls determines which models a started daemon calls, and whether a cap can limit their cost.
func (p *Plan) planCalls(a Asks, m Money) (err error) {
	if p.Found.Endpoint != "" {
		return nil
	}
	a.Unmetered = m.Unmetered
	if p.Calls, err = p.Targets.Calls(p.Found, &p.Session, a); err != nil {
		return fmt.Errorf("target %s: %w", p.Found.Name, err)
	}
	if p.Calls.Upstream == nil {
		p.Hint = p.Targets.Hint(p.Found, a.Model.Provider, p.Session.Profile.Passed)
	}
	if m.Cap == nil {
		return nil
	}
	return p.Calls.Check(p.Found.Name, m.Prices, m.Unmetered)
}

// accountConfig returns the account for the daemon's calls.
func (p *Plan) accountConfig(m Money) account.Config {
	return account.Config{
		Dir: p.Dir, Started: p.Started, Name: p.Found.Name, Limit: m.Cap, LimitOptions: m.CapOptions, Prices: m.Prices,
		Daemons: map[string]gateway.Models{p.Found.Name: p.Calls.Models},
	}
}

// openAccount opens an account and points the daemon to its gateways.
func (p *Plan) openAccount(c account.Config, resume bool, before llm.USD) (*account.Account, error) {
	a, err := account.Open(c, resume, before)
	if err == nil {
		p.Session.Profile.Env = slices.Concat(p.Session.Profile.Env, a.Environment(p.Found.Name))
	}
	return a, err
}

// OpenAccount opens the account of a sweep, like Run.OpenAccount.
func (p *Plan) OpenAccount(m Money) (*account.Account, error) {
	return p.openAccount(p.accountConfig(m), false, 0)
}

// ReadCriteria returns the questions to ask. check is for Options.Check.
func (p *Plan) ReadCriteria(check func(dataset.Question) error) (dataset.Spec, error) {
	var err error
	p.Questions.Selection, err = p.Criteria.Read()
	p.Questions.Check = check
	return p.Questions, err
}

// Place sets the log and the home of a started daemon. The run's folder must be locked.
func (p *Plan) Place() (err error) {
	if p.Session.Endpoint != "" {
		return nil
	}
	if p.Corpus == nil {
		p.Session.Launch.Home = p.Targets.Env("SVC_HOME") // its brains are evaluated as they are
	}
	p.Session.Launch.LogPath, err = journal.DaemonLog(p.Dir, p.Found.Name)
	p.shareVectors()
	return err
}

// shareVectors makes this program's own daemon with a temporary home keep vectors for later runs in
// the user's cache folder, unless a variable names another folder.
func (p *Plan) shareVectors() {
	provider := p.env("SVC_EMBED_PROVIDER")
	embeds := provider != "" && provider != llm.ProviderFake
	if !p.Found.Own || !embeds || p.Session.Launch.Home != "" || p.env("SVC_EMBED_CACHE") != "" {
		return
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return // its log says that vectors are cached in memory
	}
	dir = filepath.Join(dir, "evalctl", "embeddings")
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	p.Session.Profile.Env = append(slices.Clip(p.Session.Profile.Env), "SVC_EMBED_CACHE="+dir)
}

// Identity returns the part of a run's identity that depends on the daemon and the questions.
func (p *Plan) Identity(daemon result.DaemonID) result.Identity {
	id := result.Identity{
		SchemaVersion: result.SchemaVersion, SDK: p.Found.Name, Daemon: daemon, Dialect: p.Dialect,
		Brain: dataset.BrainName(p.Brains, p.Questions.Naming.Default), BrainTag: p.Questions.Naming.Tag, Isolated: p.Questions.Isolated,
		Dataset: result.DatasetID{
			Path: p.Questions.Path, SHA256: p.Dataset.SHA256,
			Selected: p.Dataset.Planned(), Selection: p.Dataset.Selection,
			Repeats: p.Dataset.Repeats, Tags: p.Dataset.Tags,
		},
		Tool: p.Tool,
	}
	if c := p.Corpus; c != nil {
		id.Corpus = &result.CorpusID{Path: c.Path, SHA256: c.SHA256, Documents: len(c.Docs)}
	}
	return id
}
