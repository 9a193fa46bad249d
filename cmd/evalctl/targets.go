package main

import (
	"errors"
	"fmt"
	"os"

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

var errTargetMissing = errors.New("--target is missing: give go, ts, py, a target of evalctl.yaml, NAME=URL or NAME='COMMAND'")
