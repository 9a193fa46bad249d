package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"evalctl/harness"
	"evalctl/harness/launch"
	"evalctl/harness/target"
)

// targets returns the targets that have a name.
func (p *process) targets() (target.Registry, error) {
	self, err := os.Executable()
	if err != nil {
		return target.Registry{}, fmt.Errorf("find this program's own file: %w", err)
	}
	return target.Registry{Self: self, Env: p.env, Defined: p.defined}, nil
}

// findTarget returns the target that --target names. --daemon-cmd and --endpoint, if they are not
// empty, define it.
func findTarget(p *process, given, command, endpoint string) (target.Definition, error) {
	r, err := p.targets()
	if err != nil {
		return target.Definition{}, err
	}
	var d target.Definition
	switch _, _, defined := strings.Cut(given, "="); {
	case defined && command+endpoint != "":
		return d, fmt.Errorf("--target has a definition, which --daemon-cmd and --endpoint exclude")
	case command != "":
		d, err = r.Command(given, command)
	case endpoint != "":
		d, err = r.Running(given, endpoint)
	default:
		d, err = r.Find(given)
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

// assigned returns the value that a list of VARIABLE=VALUE gives a variable.
func assigned(env []string, name string) (value string, set bool) {
	for _, e := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// environment returns a process whose environment is that of the target's daemon.
func (p *process) environment(d target.Definition) *process {
	if len(d.Profile.Env) == 0 {
		return p
	}
	of := *p
	of.env = func(name string) string {
		if value, set := assigned(d.Profile.Env, name); set {
			return value
		}
		return p.env(name)
	}
	return &of
}

// sessionOf returns how to start or reach the daemon of a target. A started daemon does not outlive
// this process. The token is that of the target, or of all.
func sessionOf(p *process, d target.Definition, token string, port int) (harness.SessionConfig, error) {
	r, err := p.targets()
	if err != nil {
		return harness.SessionConfig{}, err
	}
	if own := p.env(target.Variable(d.Name, "TOKEN")); own != "" {
		token = own
	}
	config := harness.SessionConfig{Endpoint: d.Endpoint, Token: token, UserAgent: userAgent()}
	if config.Foreign, err = foreignOf(p, d); err != nil {
		return config, err
	}
	if d.Endpoint != "" {
		return config, nil
	}
	config.Profile = d.Profile
	config.Launch = launch.Options{Port: port, Watchdog: []string{r.Self, "watchdog"}}
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

// ownCommand identifies this program's own daemon in results, because the program's file may be
// anywhere.
var ownCommand = []string{"evalctl", "serve"}

// apply sets the flags for how a target is asked. mode may be nil.
func apply(s target.Settings, mode, dialect *string) {
	if s.Mode != "" && mode != nil {
		*mode = s.Mode
	}
	if s.Dialect != "" {
		*dialect = string(s.Dialect)
	}
}

var errTargetMissing = errors.New("--target is missing: give go, ts, py, a target of evalctl.yaml, NAME=URL or NAME='COMMAND'")
