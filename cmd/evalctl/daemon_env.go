package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"evalctl/harness"
	"evalctl/harness/plan"
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
// --daemon-env and needed.
func (f *daemonEnvFlag) withhold(config *harness.SessionConfig, needed []string) (env *result.DaemonEnv, err error) {
	if env, err = plan.Withhold(os.Environ(), f.DaemonEnv, needed); err == nil {
		config.Profile.Withheld = env.Withheld
	}
	return env, err
}

// withholdInReplay keeps credentials back from the daemon of an arm, also without a cap, so that
// the costs in the result are complete. The variables of its gateway are set by the replay.
func (c *replayCmd) withholdInReplay(p *process, arm *replay.Arm, reader string) (err error) {
	for _, name := range c.DaemonEnv {
		if slices.Contains(plan.OpenAIVariables, name) || slices.Contains(plan.EmbedVariables, name) {
			return fmt.Errorf("--daemon-env %s: a replay gives the daemon its own value, so that what it spends is counted", name)
		}
	}
	var needed []string
	for _, provider := range []string{reader, p.env("SVC_EMBED_PROVIDER")} {
		if provider == llm.ProviderOllama {
			needed = append(needed, plan.OllamaVariables...)
		}
	}
	if arm.Uncounted {
		needed = append(needed, plan.RerankVariables...)
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
