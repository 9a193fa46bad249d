package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"evalctl/harness/account"
	"evalctl/harness/bench"
	"evalctl/harness/bench/null"
	"evalctl/harness/bench/record"
	"evalctl/harness/gateway"
	"evalctl/harness/journal"
	"evalctl/harness/ledger"
	"evalctl/harness/plan"
	"evalctl/harness/progress"
	"evalctl/harness/project"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/harness/result"
	"evalctl/internal/heap"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
)

// benchCmd has the flags of evalctl bench.
type benchCmd struct {
	Targets   []string `name:"target" aliases:"sdk" sep:"none" placeholder:"TARGET" help:"${about_target}" group:"target"`
	Endpoint  string   `placeholder:"URL" help:"${about_endpoint}" group:"target"`
	DaemonCmd string   `name:"daemon-cmd" placeholder:"CMD" help:"${about_daemon_cmd}" group:"target"`
	Token     string   `env:"SVC_TOKEN" placeholder:"TOKEN" help:"${about_token}" group:"advanced"`
	Dialect   string   `enum:"auto,snake,camel" default:"auto" help:"Spelling of request keys: ${enum}." group:"advanced"`

	Mix       string `default:"search" placeholder:"OP=N,..." help:"Operations and how often each is made: search, ask, put, batch, ingest, remember, recall (${default})." group:"questions"`
	Documents string `placeholder:"N" help:"Documents of a brain, such as 10k. Default: all of the corpus, or 1k synthetic ones." group:"questions"`
	Grow      string `placeholder:"N,..." help:"Measure brains of several sizes, such as 1k,10k,100k, and how the figures grow." group:"questions"`
	Corpus    string `placeholder:"PATH" help:"${about_corpus}" group:"questions"`
	Dataset   string `placeholder:"FILE" help:"${about_dataset}" group:"questions"`
	Brain     string `name:"use-brain" aliases:"brain" placeholder:"NAME" help:"Use this brain as it is. Default: create and remove one." group:"advanced"`
	Brains    int    `default:"1" placeholder:"N" help:"Number of brains, used with the frequencies of Zipf (${default})." group:"advanced"`

	Concurrency *int          `placeholder:"N" help:"${about_concurrency} (8)." group:"questions"`
	Rate        string        `placeholder:"N/s" help:"Open model: requests a second. Steps: 100/s,200/s. A ramp: 100/s..500/s." group:"questions"`
	Poisson     bool          `help:"Let requests arrive at random times with the mean rate --rate." group:"questions"`
	MaxInFlight int           `name:"max-in-flight" default:"1024" placeholder:"N" help:"Drop and count requests while so many are in flight (${default})." group:"advanced"`
	Duration    time.Duration `default:"30s" placeholder:"DURATION" help:"Time that is measured for each target, size and rate (${default})." group:"questions"`
	Rounds      int           `default:"20" placeholder:"N" help:"Number of blocks of that time, in which targets take turns (${default})." group:"advanced"`
	Restart     bool          `help:"Start the daemons again before each round, so that intervals include process-to-process variation." group:"advanced"`
	WarmUp      time.Duration `name:"warm-up" default:"20s" placeholder:"DURATION" help:"Maximum time to wait until the latency is steady. 0: do not wait (${default})." group:"advanced"`
	Timeout     time.Duration `name:"request-timeout" aliases:"timeout" default:"30s" placeholder:"DURATION" help:"${about_request_timeout} (${default})." group:"advanced"`
	Seed        uint64        `default:"1" placeholder:"N" help:"${about_seed} (${default})." group:"advanced"`
	TopK        int           `name:"top-k" default:"10" placeholder:"N" help:"${about_top_k} (${default})." group:"advanced"`
	Mode        string        `enum:"${modes}" default:"auto" placeholder:"MODE" help:"${about_mode} (${default})." group:"advanced"`

	Require   string        `placeholder:"OBJECTIVES" help:"Fail unless these hold: p99<50ms,search.p50<5ms,errors<0.1%,rate>100/s." group:"gate"`
	FindLimit string        `name:"find-limit" placeholder:"OBJECTIVES" help:"Find the highest rate at which these hold." group:"gate"`
	Step      time.Duration `default:"5s" placeholder:"DURATION" help:"Least time for each rate of --find-limit (${default})." group:"advanced"`
	Baseline  string        `placeholder:"FILE" help:"${about_baseline}" group:"gate"`
	FailOver  string        `name:"fail-over" placeholder:"N%" help:"Fail if a figure is shown to be slower than in --baseline, or than the first target's, by more than this." group:"gate"`
	Chaos     string        `placeholder:"FAULT" help:"Under load, kill the daemon, stop it for a second, or hold streams open: kill, stop or slow-client." group:"gate"`

	daemonEnvFlag
	reportFlags
	project.KeptFlags
	daemonMoneyFlags `set:"default_cap=off"`
	Output           string `default:"results/" placeholder:"DIR" help:"${about_output} (${default})." group:"output"`
	Quiet            bool   `help:"${about_quiet}" group:"output"`
	JSON             bool   `name:"json" help:"${about_json}" group:"output"`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *benchCmd) Validate() error {
	switch {
	case len(c.Targets) == 0 && c.Endpoint+c.DaemonCmd != "":
		return errors.New("--target is missing: --endpoint and --daemon-cmd say what it is, and --target how results call it, such as --target mine")
	case len(c.Targets) == 0:
		return errTargetMissing
	case c.Endpoint != "" && c.DaemonCmd != "":
		return errors.New("--endpoint and --daemon-cmd exclude each other: the daemon is either running already or started")
	case c.Endpoint+c.DaemonCmd != "" && c.Targets[0] == null.Name:
		return errors.New("--target null is the null daemon inside evalctl; call the one of --endpoint or --daemon-cmd otherwise")
	case len(c.Targets) > 1 && c.Endpoint+c.DaemonCmd != "":
		return errors.New("--endpoint and --daemon-cmd are for one target; write NAME=URL or NAME='COMMAND' for each of several")
	case strings.Contains(c.Documents, ","):
		return errors.New("--documents is one number; --grow has several, and measures how the figures grow")
	case c.Grow != "" && c.Documents != "":
		return errors.New("--grow and --documents exclude each other: --grow has the sizes")
	case c.Grow != "" && !strings.Contains(c.Grow, ","):
		return errors.New("--grow needs two sizes or more, such as 1k,10k; --documents is for one")
	case (len(c.DaemonEnv) > 0 || c.HomeOfUser || c.StartTimeout > 0) && slices.Equal(c.Targets, []string{null.Name}):
		return errors.New("--daemon-env, --home-of-user and --start-timeout are for a daemon that is started; the one of --target null is inside evalctl")
	}
	return errors.Join(c.validateDaemonEnv(c.Endpoint), c.validateMoney(noCap))
}

// Run measures. It checks everything that it can before it starts a daemon.
func (c *benchCmd) Run(ctx context.Context, p *process) (err error) {
	defer heap.HoldSpare()()
	t := newTerminal(p, c.Quiet)
	config, models, err := c.config(p)
	if err == nil {
		err = c.prepare(report.File{Flag: "dataset", Path: c.Dataset}, report.File{Flag: "corpus", Path: c.Corpus}, report.File{Flag: "baseline", Path: c.Baseline})
	}
	if err != nil {
		return err
	}
	started := time.Now()
	name := config.Targets[0].Name
	dir := filepath.Join(c.Output, started.UTC().Format(time.DateOnly))
	release, err := journal.LockOutput(dir, name+bench.Suffix)
	if err != nil {
		return err
	}
	defer release()
	defer func() { err = c.writeProblem(p, t, name, err) }()
	account, err := account.Open(account.Config{
		Dir: dir, Name: name + bench.Suffix, Started: started, Limit: c.money.Cap, Prices: c.money.Prices, Daemons: models,
	}, false, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, account.Close()) }()
	for i := range config.Targets {
		s := &config.Targets[i].Session
		s.Profile.Env = slices.Concat(s.Profile.Env, account.Environment(config.Targets[i].Name))
	}
	config.Filling = func(name string) func() { return account.Enter(name, ledger.Ingest) }
	config.Answering = func(name string) func() { return account.Enter(name, ledger.Actor) }
	file := bench.NewFile(dir, name, started)
	shown := progress.NewLoad(t)
	config.Observer = benchObserver{shown, file, name}
	watched, stop := account.Watch(ctx)
	defer stop()
	measured, stopped := bench.Run(watched, config)
	shown.Done()
	measured.SDK = name
	if err := account.Fill(context.WithoutCancel(ctx), &measured.Cost, file.OwnPath()); err != nil {
		return errors.Join(stopped, err)
	}
	if stopped != nil && len(measured.Blocks)+len(measured.Probes) == 0 {
		return asDaemonError(ctx, stopped)
	}
	err = file.Save(measured)
	if err == nil {
		err = account.Remove()
	}
	if err != nil {
		return errors.Join(stopped, err)
	}
	text.BenchNotes(t, measured)
	t.Field("result", "%s", file.Path())
	if err := c.print(p, measured, file.Path()); err != nil {
		return err
	}
	if stopped == nil {
		stopped = bench.Verdict(measured)
	}
	if !c.wanted() {
		return stopped
	}
	return c.write(p, t, report.NewBench(measured, file.Path()), stopped)
}

// benchObserver shows a bench and keeps what it has measured.
type benchObserver struct {
	*progress.Load
	file *bench.File
	name string
}

// Save implements bench.Observer.
func (o benchObserver) Save(f *record.File) error {
	f.SDK = o.name
	return o.file.Save(f)
}

// print writes the tables to stdout, or one JSON object with --json.
func (c *benchCmd) print(p *process, f *record.File, path string) error {
	if !c.JSON {
		return output(p, func(t *terminal.Terminal) { report.Text(t, report.NewBench(f, path)) })
	}
	own, latest := journal.Names(path)
	return json.NewEncoder(p.stdout).Encode(struct {
		Result string          `json:"result"`
		Latest string          `json:"latest"`
		Plan   record.Plan     `json:"plan"`
		Target []record.Target `json:"targets"`
		record.Figures
	}{own, latest, f.Plan, f.Targets, f.Figures})
}

// config checks the flags and reads the files that they name. models are those that the targets
// call which are going to be started.
func (c *benchCmd) config(p *process) (config bench.Config, models map[string]gateway.Models, err error) {
	config = bench.Config{Tool: toolID(), Brain: c.Brain, WarmUp: c.WarmUp, Step: c.Step, Prices: c.money.Prices}
	models = map[string]gateway.Models{}
	if c.Typed("concurrency") && c.Rate+c.FindLimit != "" {
		return config, nil, errors.New("--concurrency is for a closed loop, and --rate and --find-limit are not one; limit these with --max-in-flight")
	}
	targets, err := c.targets(p)
	if err != nil {
		return config, nil, err
	}
	model := llm.Ref{Provider: p.env("SVC_LLM_PROVIDER"), Name: p.env("SVC_LLM_MODEL")}
	find := func(given string) (bench.Target, error) {
		d, err := targets.FindOne(given, c.DaemonCmd, c.Endpoint)
		if err != nil {
			return bench.Target{}, err
		}
		s, err := targets.Session(d, c.Token, 0)
		var calls plan.Calls
		if err == nil && s.Endpoint == "" {
			calls, err = targets.Calls(d, &s, plan.Asks{Model: model, Generates: true, Unmetered: c.Unmetered})
			if models[d.Name] = calls.Models; err == nil && c.money.Cap != nil {
				err = calls.Check(d.Name, c.money.Prices, c.Unmetered)
			}
		}
		return bench.Target{Name: d.Name, Session: s, Mode: d.Settings.Mode, Dialect: d.Settings.Dialect, Calls: len(calls.Known()) > 0}, err
	}
	err = config.Configure(bench.Settings{
		Mix: c.Mix, Rate: c.Rate, Poisson: c.Poisson, Concurrency: *cmp.Or(c.Concurrency, new(8)), MaxInFlight: c.MaxInFlight,
		Duration: c.Duration, Step: c.Step, WarmUp: c.WarmUp, Rounds: c.Rounds, Timeout: c.Timeout, Seed: c.Seed, TopK: c.TopK, Mode: c.Mode,
		Brains: c.Brains, Given: c.Typed, Objectives: c.Require, Search: c.FindLimit, Chaos: c.Chaos, FailOver: c.FailOver, Restart: c.Restart, ExistingBrain: c.Brain,
	}, bench.Inputs{
		Targets: c.Targets, Dialect: result.Dialect(c.Dialect), Corpus: c.Corpus, Dataset: c.Dataset, Baseline: c.Baseline,
		Sizes: cmp.Or(c.Grow, c.Documents),
	}, find)
	return config, models, err
}
