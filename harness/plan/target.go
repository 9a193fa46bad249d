// Package plan checks a run completely before it costs time or money: the daemon and its
// environment, the questions and documents, the models, and the earlier result to compare with. An
// Evaluation is a run on a healthy daemon.
package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/harness"
	"evalctl/harness/launch"
	"evalctl/harness/mapping"
	"evalctl/harness/target"
	"evalctl/internal/redact"
)

// Targets finds targets and says how to reach them.
type Targets struct {
	target.Registry
	// UserAgent is sent to daemons.
	UserAgent string
	// Environ is this process's environment as NAME=VALUE, and Passed names the variables that the
	// user passes on to started processes.
	Environ, Passed []string
	// HomeOfUser makes started processes use the user's home.
	HomeOfUser bool
	// StartTimeout limits the time to start, 0 for the default.
	StartTimeout time.Duration
	// Secrets are redacted in a target's output.
	Secrets []redact.Secret
}

// FindOne returns the target for given. command and endpoint, if not empty, define it.
func (t Targets) FindOne(given, command, endpoint string) (d target.Definition, err error) {
	switch _, _, defined := strings.Cut(given, "="); {
	case defined && command+endpoint != "":
		return d, fmt.Errorf("--target has a definition, which --daemon-cmd and --endpoint exclude")
	case command != "":
		d, err = t.Command(given, command)
	case endpoint != "":
		d, err = t.Running(given, endpoint)
	default:
		d, err = t.Find(given)
	}
	if err != nil {
		return d, err
	}
	for _, name := range []string{"SVC_LLM_PROVIDER", "SVC_LLM_MODEL"} {
		if _, set := assigned(d.Profile.Env, name); set {
			return d, fmt.Errorf("target %s: %s is set by the model flags for all targets; leave the assignment out", d.Name, name)
		}
	}
	return d, nil
}

// assigned returns the value of a variable in a list of VARIABLE=VALUE.
func assigned(env []string, name string) (value string, set bool) {
	for _, e := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// Environment returns a lookup in the environment of the target's daemon.
func Environment(env func(string) string, d target.Definition) func(string) string {
	if len(d.Profile.Env) == 0 {
		return env
	}
	return func(name string) string {
		if value, set := assigned(d.Profile.Env, name); set {
			return value
		}
		return env(name)
	}
}

// Session returns how to start or connect to a target's daemon. A started daemon does not outlive
// this process, and listens on port. A token for the target takes precedence over the common one.
func (t Targets) Session(d target.Definition, token string, port int) (config harness.SessionConfig, err error) {
	if own := t.Env(target.Variable(d.Name, "TOKEN")); own != "" {
		token = own
	}
	limit := launch.Options{HealthTimeout: t.StartTimeout}
	config = harness.SessionConfig{Launch: limit, Endpoint: d.Endpoint, Token: token, UserAgent: t.UserAgent, Secrets: t.Secrets}
	if config.Described, err = t.described(d); err != nil {
		return config, err
	}
	switch {
	case d.Endpoint != "" && len(t.Passed) > 0:
		return config, fmt.Errorf("--daemon-env is for a daemon that is started; the daemon of %s is running already, with its own environment", d.Name)
	case d.Endpoint != "" && t.HomeOfUser:
		return config, fmt.Errorf("--home-of-user is for a daemon that is started; the daemon of %s is running already, with its own home", d.Name)
	case d.Endpoint != "" && t.StartTimeout > 0 && !d.MCP:
		return config, fmt.Errorf("--start-timeout is for daemons that are started, and for MCP servers; %s is running already", d.Name)
	case d.Endpoint != "":
		return config, nil
	}
	config.HomeOfUser = t.HomeOfUser
	if err := CheckPassed(t.Environ, t.Passed, "--daemon-env"); err != nil {
		return config, err
	}
	config.Profile = d.Profile
	env := Environment(t.Env, d)
	config.Profile.Passed = t.PassedTo(d, modelVariables(env, env("SVC_LLM_PROVIDER")))
	config.Launch = launch.Options{Port: port, Watchdog: []string{t.Self, "watchdog"}, HealthTimeout: t.StartTimeout}
	if d.Own {
		config.Command = ownCommand
	}
	if env := d.Profile.Env; len(env) > 0 {
		config.Command = slices.Concat(env, config.Command)
		if !d.Own {
			config.Command = slices.Concat(env, d.Profile.Command)
		}
	}
	return config, nil
}

// ownCommand identifies this program's own daemon in results, because the program's path varies.
var ownCommand = []string{"evalctl", "serve"}

// described returns how to use a target's service, nil for a daemon of the protocol.
func (t Targets) described(d target.Definition) (*harness.Description, error) {
	if !d.Mapped() {
		return nil, nil
	}
	f := &harness.Description{Env: t.Env}
	switch {
	case d.Settings.Mapping != "":
		m, err := mapping.Load(d.Settings.Mapping)
		if err != nil {
			return nil, fmt.Errorf("target %s: %w", d.Name, err)
		}
		if want := transportOf(d); m.Transport != want {
			return nil, fmt.Errorf("target %s: the mapping %s is for %s, and the target is reached over %s: "+
				"write mcp: before the command or URL of an MCP server", d.Name, m.Name, m.Transport, want)
		}
		f.Mapping = m
		if err := m.CheckVariables(t.Env, d.Endpoint == ""); err != nil {
			return nil, fmt.Errorf("target %s: %w", d.Name, err)
		}
	case d.Endpoint == "":
		f.Mapping = mapping.ForCommand(d.Profile.Command)
	}
	return f, nil
}

func transportOf(d target.Definition) mapping.Transport {
	if d.MCP {
		return mapping.MCP
	}
	return mapping.HTTP
}
