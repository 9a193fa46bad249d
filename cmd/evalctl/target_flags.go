package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/plan"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/environ"
)

// The defaults of --output and --brain.
const (
	defaultOutput = "results/"
	defaultBrain  = "eval"
)

// maxConcurrency is the maximum of --concurrency. Each concurrent question needs a connection, and
// the usual limit of open files is 1024.
const maxConcurrency = 1024

// targetFlags has the flags that run and sweep share: which daemon is asked which questions, in
// which brains.
type targetFlags struct {
	Target   []string `aliases:"sdk" sep:"none" placeholder:"TARGET" help:"${about_target}" group:"target"`
	Dataset  string   `placeholder:"FILE" help:"${about_dataset}" group:"questions"`
	Output   string   `default:"results/" placeholder:"DIR" help:"${about_output} (${default})." group:"output"`
	Port     int      `default:"0" placeholder:"N" help:"${about_port}" group:"advanced"`
	Brain    string   `default:"eval" help:"Brain of the questions and documents that do not name one (${default})." group:"advanced"`
	BrainTag string   `name:"brain-tag" placeholder:"TAG" help:"${about_brain_tag}" group:"advanced"`

	Endpoint    string        `placeholder:"URL" help:"${about_endpoint}" group:"target"`
	Token       string        `env:"SVC_TOKEN" placeholder:"TOKEN" help:"${about_token}" group:"advanced"`
	DaemonCmd   string        `name:"daemon-cmd" placeholder:"CMD" help:"${about_daemon_cmd}" group:"target"`
	Corpus      string        `placeholder:"PATH" help:"${about_corpus}" group:"questions"`
	Concurrency int           `default:"4" placeholder:"N" help:"${about_concurrency} (${default})." group:"advanced"`
	Dialect     string        `enum:"auto,snake,camel" default:"auto" help:"Spelling of request keys: ${enum}." group:"advanced"`
	Timeout     time.Duration `default:"120s" placeholder:"DURATION" help:"${about_timeout} (${default})." group:"advanced"`

	Quiet bool `help:"${about_quiet}" group:"output"`
	JSON  bool `name:"json" help:"${about_json}" group:"output"`

	daemonEnvFlag
	selectFlags
}

// validate checks what the tags of the flags cannot express.
func (s *targetFlags) validate() error {
	switch {
	case len(s.Target) == 0:
		return errTargetMissing
	case s.Output == "":
		return fmt.Errorf("--output is empty; leave it out for %s, or give . for the current folder",
			defaultOutput)
	case s.Dataset == "":
		return errors.New("--dataset is missing; try --dataset datasets/smoke.jsonl")
	case s.Port < 0 || s.Port > 65535:
		return fmt.Errorf("--port %d: must be from 0 to 65535", s.Port)
	case s.Concurrency < 1 || s.Concurrency > maxConcurrency:
		return fmt.Errorf("--concurrency %d: must be from 1 to %d", s.Concurrency, maxConcurrency)
	case s.Timeout <= 0:
		return fmt.Errorf("--timeout %v: must be above 0", s.Timeout)
	case s.Brain == "":
		return errors.New("--brain is empty; leave it out for the brain eval")
	case s.BrainTag != "" && s.Brain != defaultBrain:
		return errors.New("--brain and --brain-tag exclude each other: " +
			"either one brain is named, or the tags name all of them")
	case s.Endpoint != "" && s.DaemonCmd != "":
		return errors.New("--endpoint and --daemon-cmd exclude each other: " +
			"the daemon is either running already or started")
	case s.Endpoint != "" && s.Port != 0:
		return plan.ErrPort
	case len(s.Target) > 1 && s.Endpoint+s.DaemonCmd != "":
		return errors.New("--endpoint and --daemon-cmd are for one target: give others as NAME=URL or NAME='COMMAND'")
	}
	if err := distinct("--target", targetNames(s.Target)); err != nil {
		return err
	}
	if err := s.validateDaemonEnv(s.Endpoint); err != nil {
		return err
	}
	return s.selectFlags.validate()
}

// spec returns what the flags say of the first target, with all questions and documents unread.
func (s *targetFlags) spec(p *process) (plan.Spec, error) {
	targets, err := s.targets(p)
	return plan.Spec{
		Targets: targets, Target: s.Target[0], Command: s.DaemonCmd, Endpoint: s.Endpoint, Token: s.Token, Port: s.Port,
		Questions: dataset.Spec{Path: s.Dataset, Corpus: s.Corpus, Options: dataset.Options{
			Naming:  dataset.BrainNaming{Default: s.Brain, Tag: s.BrainTag},
			Cluster: s.Cluster, Repeats: s.Repeats,
		}},
		Criteria: s.criteria(), Output: s.Output, Dialect: result.Dialect(s.Dialect),
		Concurrency: s.Concurrency, Timeout: s.Timeout, Tool: toolID(),
	}, err
}

// targets returns the targets that have a name.
func (p *process) targets() (plan.Targets, error) {
	self, err := os.Executable()
	if err != nil {
		return plan.Targets{}, fmt.Errorf("find this program's own file: %w", err)
	}
	return plan.Targets{
		Registry: target.Registry{Self: self, Env: p.env, Defined: p.defined}, UserAgent: userAgent(),
		Environ: os.Environ(), Secrets: environ.Secrets(os.Environ()),
	}, nil
}

var errTargetMissing = errors.New("--target is missing: give go, ts, py, a target of evalctl.yaml, NAME=URL or NAME='COMMAND'")

// daemonEnvFlag has the flags for how a daemon is started: what it gets of the environment, and how
// long it may take.
type daemonEnvFlag struct {
	DaemonEnv    []string      `name:"daemon-env" placeholder:"NAME" help:"Pass variables such as OPENAI_API_KEY on to the started daemon or MCP server, which gets no other key. No cap limits what it pays with a key." group:"advanced"`
	HomeOfUser   bool          `name:"home-of-user" help:"Let the started daemon or MCP server use your home and temporary folder, and an MCP server the current folder. Default: empty ones." group:"advanced"`
	StartTimeout time.Duration `name:"start-timeout" placeholder:"DURATION" help:"Time until a started daemon must be healthy, or an MCP server must answer. Default: 30s, for an MCP server 2m." group:"advanced"`
}

// targets returns the targets that have a name, and the variables that started ones get.
func (f *daemonEnvFlag) targets(p *process) (plan.Targets, error) {
	targets, err := p.targets()
	targets.Passed, targets.HomeOfUser, targets.StartTimeout = f.DaemonEnv, f.HomeOfUser, f.StartTimeout
	return targets, err
}

// validateDaemonEnv checks that only names are given, and the time limit.
func (f *daemonEnvFlag) validateDaemonEnv(endpoint string) error {
	switch {
	case f.HomeOfUser && endpoint != "":
		return errors.New("--home-of-user is for a daemon that is started; the one at --endpoint has a home already")
	case f.StartTimeout < 0:
		return fmt.Errorf("--start-timeout %v: must be above 0", f.StartTimeout)
	case f.StartTimeout > 0 && endpoint != "":
		return errors.New("--start-timeout is for a daemon that is started; the one at --endpoint is running already")
	}
	for _, given := range f.DaemonEnv {
		name, _, value := strings.Cut(given, "=")
		switch {
		case value:
			return fmt.Errorf("--daemon-env takes only the name of a variable, because other users can read a command line: "+
				"set %s in the environment, and give --daemon-env %[1]s", name)
		case name == "":
			return errors.New("--daemon-env is empty; give the name of a variable")
		case endpoint != "":
			return errors.New("--daemon-env is for a daemon that is started; the one at --endpoint has its own environment")
		}
	}
	return nil
}

// selectFlags say which questions of the dataset are asked, in which order and how often.
type selectFlags struct {
	Tags     []string `placeholder:"TAG" help:"Ask only questions with one of these tags." group:"questions"`
	IDs      []string `name:"ids" placeholder:"ID" help:"${about_ids}" group:"questions"`
	Grep     string   `placeholder:"REGEXP" help:"Ask only questions whose text matches a regular expression." group:"advanced"`
	FailedOf string   `name:"failed-of" placeholder:"FILE" help:"Ask only the questions that did not pass in a result file." group:"advanced"`
	Shuffle  bool     `help:"Ask in an order that --seed determines." group:"advanced"`
	Seed     *uint64  `placeholder:"N" help:"${about_seed} (0)." group:"advanced"`
	Limit    *int     `placeholder:"N" help:"Ask only the first N of the questions that the other flags select." group:"questions"`
	Repeats  int      `default:"1" placeholder:"K" help:"Ask every question K times (${default})." group:"advanced"`
	Cluster  string   `placeholder:"TAG" help:"${about_cluster}" group:"advanced"`

	grep *regexp.Regexp
	// fixed are the ids that files select, as values of --ids, if any do.
	fixed []string
}

// validate checks what the tags of the flags cannot express.
func (s *selectFlags) validate() (err error) {
	switch {
	case slices.Contains(s.Tags, ""):
		return errors.New("--tags: a tag is empty; give tags of the dataset, separated by commas")
	case slices.Contains(s.IDs, "") || slices.Contains(s.IDs, "@"):
		return errors.New("--ids: an id is empty; give ids separated by commas, or @FILE")
	case s.Limit != nil && *s.Limit < 1:
		return fmt.Errorf("--limit %d: must be at least 1; leave it out to ask all questions", *s.Limit)
	case s.Repeats < 1 || s.Repeats > 100:
		return fmt.Errorf("--repeats %d: must be from 1 to 100", s.Repeats)
	}
	if s.Grep != "" {
		if s.grep, err = regexp.Compile(s.Grep); err != nil {
			return fmt.Errorf("--grep %s: %w", s.Grep, err)
		}
	}
	return nil
}

// validateTyped checks the flags of the command line: a file may have them for other commands.
func (s *selectFlags) validateTyped(typed func(flag string) bool) error {
	if typed("seed") && !s.Shuffle {
		return errors.New("--seed has no effect without --shuffle; add --shuffle, or leave --seed out")
	}
	return nil
}

// criteria returns what the flags select.
func (s *selectFlags) criteria() dataset.Criteria {
	c := dataset.Criteria{Tags: s.Tags, IDs: s.IDs, Grep: s.grep, FailedOf: s.FailedOf, Shuffle: s.Shuffle}
	if s.Seed != nil {
		c.Seed = *s.Seed
	}
	if s.Limit != nil {
		c.Limit = *s.Limit
	}
	return c
}
