package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/harness/extern"
	"evalctl/harness/plan"
	"evalctl/harness/result"
	"evalctl/scorer"
)

// scorerText is the value of a --scorer that may be a program or a service: the name of a scorer,
// cmd:COMMAND or a URL.
type scorerText string

// Allows returns an error for a value that a project file must not have.
func (scorerText) Allows(value string) error {
	if extern.Defines(value) || slices.Contains(scorer.Names(), value) {
		return nil
	}
	return fmt.Errorf("must be one of %s, or cmd:COMMAND or a URL", strings.Join(scorer.Names(), ", "))
}

// externFlags are the flags of a scorer that is a program or a service.
type externFlags struct {
	ScorerTimeout time.Duration `name:"scorer-timeout" default:"1m" placeholder:"DURATION" help:"With --scorer cmd:COMMAND or a URL: time for one answer (${default})." group:"advanced"`
	ScorerEnv     []string      `name:"scorer-env" placeholder:"NAME" help:"With --scorer cmd:COMMAND: pass variables on to it. It gets no key that is not named." group:"advanced"`

	external *extern.Scorer // once it is open
}

func (f *externFlags) validateExtern(text scorerText) error {
	if f.ScorerTimeout <= 0 {
		return fmt.Errorf("--scorer-timeout %v: must be above 0", f.ScorerTimeout)
	}
	for _, name := range f.ScorerEnv {
		switch {
		case !strings.HasPrefix(string(text), "cmd:"):
			return errors.New("--scorer-env is for --scorer cmd:COMMAND; no other scorer is a process")
		case name == "" || strings.Contains(name, "="):
			return errors.New("--scorer-env takes the name of a variable that is set in the environment, because other users can " +
				"read a command line")
		}
	}
	return nil
}

// openExtern opens the scorer if it is a program or a service, makes its handshake, and sets kind to
// it. The caller must call end.
func (f *externFlags) openExtern(ctx context.Context, p *process, text scorerText, maxUnusable int, kind *scorer.Kind) (end func() error, err error) {
	end = func() error { return nil }
	if !extern.Defines(string(text)) {
		return end, nil
	}
	o, err := f.externOptions(p)
	if err != nil {
		return end, err
	}
	o.MaxUnusable = maxUnusable
	if f.external, err = extern.Open(ctx, string(text), o); err != nil {
		return end, err
	}
	*kind = f.external.Kind()
	return f.external.Close, nil
}

// externOptions returns how the scorer is used.
func (f *externFlags) externOptions(p *process) (extern.Options, error) {
	targets, err := p.targets()
	if err != nil {
		return extern.Options{}, err
	}
	return extern.Options{
		Timeout: f.ScorerTimeout, Watchdog: []string{targets.Self, "watchdog"}, Passed: f.ScorerEnv, Secrets: targets.Secrets,
	}, plan.CheckPassed(targets.Environ, f.ScorerEnv, "--scorer-env")
}

// externID returns the identity of the scorer, nil if it is no program or service.
func (f *externFlags) externID() *result.ExternalScorer {
	if f.external == nil {
		return nil
	}
	return new(f.external.Identity())
}

// exactFlag is a flag of the commands that select a scorer.
type exactFlag struct {
	ExactCase bool `name:"exact-case" help:"With --scorer exact or checks: upper and lower case matter." group:"advanced"`
}

func (f exactFlag) validateExact(k scorer.Kind) error {
	if f.ExactCase && !k.ComparesText() {
		return fmt.Errorf("--exact-case needs --scorer %s: the %s scorer does not compare text", scorer.Exact{}.Name(), k.Name)
	}
	return nil
}

// exactCase returns what an identity has of the flag, nil for another scorer than exact.
func (f exactFlag) exactCase(k scorer.Kind) *bool {
	if !k.ComparesText() {
		return nil
	}
	return &f.ExactCase
}
