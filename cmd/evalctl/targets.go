package main

import (
	"errors"
	"fmt"
	"os"

	"evalctl/harness"
	"evalctl/harness/plan"
	"evalctl/harness/target"
)

// targets returns the targets that have a name.
func (p *process) targets() (plan.Targets, error) {
	self, err := os.Executable()
	if err != nil {
		return plan.Targets{}, fmt.Errorf("find this program's own file: %w", err)
	}
	return plan.Targets{
		Registry: target.Registry{Self: self, Env: p.env, Defined: p.defined}, UserAgent: userAgent(),
	}, nil
}

// findTarget returns the target that --target names, or that --daemon-cmd or --endpoint defines.
func findTarget(p *process, given, command, endpoint string) (target.Definition, error) {
	t, err := p.targets()
	if err != nil {
		return target.Definition{}, err
	}
	return t.FindOne(given, command, endpoint)
}

// sessionOf returns how to start or reach the daemon of a target.
func sessionOf(p *process, d target.Definition, token string, port int) (harness.SessionConfig, error) {
	t, err := p.targets()
	if err != nil {
		return harness.SessionConfig{}, err
	}
	return t.Session(d, token, port)
}

var errTargetMissing = errors.New("--target is missing: give go, ts, py, a target of evalctl.yaml, NAME=URL or NAME='COMMAND'")
