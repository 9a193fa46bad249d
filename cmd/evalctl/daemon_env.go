package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"evalctl/harness"
	"evalctl/harness/launch"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay"
)

// daemonEnvFlag has the flag for what a daemon gets although evalctl counts money.
type daemonEnvFlag struct {
	DaemonEnv []string `name:"daemon-env" sep:"none" placeholder:"NAME" help:"Pass a variable on to the daemon that is started, although it looks like a credential or a provider's address. No cap limits what the daemon pays with it. May be repeated." group:"advanced"`
}

// validateDaemonEnv checks that only names are given.
func (f *daemonEnvFlag) validateDaemonEnv(endpoint string) error {
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

// withhold keeps back the variables that could let a started daemon spend money, except those of
// --daemon-env and needed, which evalctl's configuration of the daemon requires.
func (f *daemonEnvFlag) withhold(config *harness.SessionConfig, needed []string) (*result.DaemonEnv, error) {
	for _, name := range f.DaemonEnv {
		if _, set := os.LookupEnv(name); !set {
			return nil, fmt.Errorf("--daemon-env %s: the variable is not set", name)
		}
	}
	env := &result.DaemonEnv{Withheld: []string{}, Passed: []string{}}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case value == "": // which says nothing
		case name == tokenVariable || !launch.LooksSecret(name) && !strings.HasPrefix(name, tokenVariable+"_"):
		case slices.Contains(ollamaVariables, name) && slices.Contains(needed, name): // which costs nothing
		case slices.Contains(f.DaemonEnv, name), slices.Contains(needed, name):
			env.Passed = append(env.Passed, name)
		default:
			env.Withheld = append(env.Withheld, name)
		}
	}
	slices.Sort(env.Withheld)
	slices.Sort(env.Passed)
	config.Profile.Withheld = env.Withheld
	return env, nil
}

// tokenVariable has the token between evalctl and the daemon, which is no provider's. With an
// ending, it has those of other tenants and roles.
const tokenVariable = "SVC_TOKEN"

// The variables with which the tools of model providers are configured.
var (
	openAIVariables = []string{"OPENAI_API_KEY", "OPENAI_BASE_URL"}
	ollamaVariables = []string{"OLLAMA_HOST"}
	embedVariables  = []string{"SVC_EMBED_API_KEY", "SVC_EMBED_BASE_URL"}
	rerankVariables = []string{"SVC_RERANK_API_KEY", "SVC_RERANK_BASE_URL"}
)

// providerVariables returns the variables that the models of these providers need.
func providerVariables(providers ...string) (names []string) {
	for _, p := range providers {
		switch p {
		case llm.ProviderOpenAI:
			names = append(names, openAIVariables...)
		case llm.ProviderOllama:
			names = append(names, ollamaVariables...)
		}
	}
	return names
}

// withholdInRun keeps credentials back under --max-cost-usd. The daemon's own models are not under
// the budget, which is the judge's, so what they are configured with is passed on.
func (c *runCmd) withholdInRun(p *process, pl *plan) (err error) {
	switch {
	case c.Endpoint != "":
		return nil
	case c.budget == nil && len(c.DaemonEnv) > 0:
		return errors.New("--daemon-env has no effect without a cap, because the daemon gets all variables then; " +
			"leave it out, or give --max-cost-usd")
	case c.budget == nil:
		return nil
	}
	needed := providerVariables(c.startedReader(p), p.env("SVC_EMBED_PROVIDER"))
	if p.env("SVC_EMBED_PROVIDER") != "" {
		needed = append(needed, embedVariables...)
	}
	if p.env("SVC_RERANK_PROVIDER") != "" {
		needed = append(needed, rerankVariables...)
	}
	pl.daemonEnv, err = c.withhold(&pl.session, needed)
	return err
}

// withholdInReplay keeps credentials back from the daemon of an arm, also without a cap, so that
// the costs in the result are complete. The variables of its gateway are set by the replay.
func (c *replayCmd) withholdInReplay(p *process, arm *replay.Arm, reader string) (err error) {
	for _, name := range c.DaemonEnv {
		if slices.Contains(openAIVariables, name) || slices.Contains(embedVariables, name) {
			return fmt.Errorf("--daemon-env %s: a replay gives the daemon its own value, so that what it spends is counted", name)
		}
	}
	var needed []string
	for _, provider := range []string{reader, p.env("SVC_EMBED_PROVIDER")} {
		if provider == llm.ProviderOllama {
			needed = append(needed, ollamaVariables...)
		}
	}
	if arm.Uncounted {
		needed = append(needed, rerankVariables...)
	}
	if arm.DaemonEnv, err = c.withhold(&arm.Session, needed); err != nil {
		return err
	}
	for _, name := range arm.DaemonEnv.Passed {
		if slices.Contains(c.DaemonEnv, name) {
			arm.Passed = append(arm.Passed, name)
		}
	}
	return nil
}
