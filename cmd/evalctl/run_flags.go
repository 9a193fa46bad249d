package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/harness/extern"
	"evalctl/harness/plan"
	"evalctl/harness/project"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/scorer"
)

// runCmd has the flags of evalctl run: the flags of the specification (spec 4.4) and further ones.
type runCmd struct {
	targetFlags
	Scenario string     `enum:"${scenarios}" default:"${default_scenario}" help:"How questions are asked: ${enum}." group:"scoring"`
	Mode     string     `enum:"${modes}" default:"auto" placeholder:"MODE" help:"${about_mode} (${default})." group:"advanced"`
	Scorer   scorerText `default:"judge" placeholder:"SCORER" help:"${about_scorer} (${default})." group:"scoring"`
	TopK     int        `name:"top-k" default:"5" placeholder:"N" help:"${about_top_k} (${default})." group:"advanced"`

	gateFlags `set:"default_floor=0.90"`
	familyFlags
	daemonMoneyFlags `set:"default_cap=off"`
	baselineFlags

	Verbose     bool `help:"Also print the tags whose questions all passed." group:"advanced"`
	MaxFailures int  `name:"max-failures" default:"0" placeholder:"N" help:"Stop after N questions that did not pass. 0: no limit." group:"advanced"`

	MaxPerDocument *int `name:"max-per-document" placeholder:"N" help:"Maximum number of passages of one document, sent as max_per_document. 0: no limit. Default: the daemon's." group:"advanced"`

	CandidateK  int    `name:"candidate-k" default:"0" placeholder:"N" help:"${about_candidate_k}" group:"advanced"`
	RerankTopN  int    `name:"rerank-top-n" default:"0" placeholder:"N" help:"Number of candidates to rerank, for search-retrieve-only. 0: the daemon's default." group:"advanced"`
	RequireMode string `name:"require-mode" placeholder:"MODE" help:"Stop with exit code 4 at the first answer retrieved in another mode. same: the value of --mode." group:"advanced"`

	Isolated bool `help:"Ask each question in a brain of its own, with the documents of its brain." group:"advanced"`

	exactFlag
	judgeFlags
	externFlags

	resultFlags
	Resume      string `placeholder:"JOURNAL|LEDGER" help:"${about_resume}" group:"output"`
	RetryErrors bool   `name:"retry-errors" help:"With --resume: also retry questions that failed because the daemon or judge did not answer." group:"advanced"`

	project.KeptFlags
	scenario target.Scenario
	reported bool     // what the daemon had left behind is in the report
	several  *several // nil for one target
	scorer   scorer.Kind
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *runCmd) Validate() error {
	if c.Resume != "" && c.Output != defaultOutput {
		return errors.New("--output and --resume exclude each other: " +
			"a run is resumed in its journal's folder")
	}
	if c.RetryErrors && c.Resume == "" {
		return errors.New("--retry-errors needs the journal of an earlier run: add --resume JOURNAL")
	}
	if c.Resume != "" && len(c.Target) == 0 {
		return nil // the journal, which has the other flags, is not read yet
	}
	if err := errors.Join(c.validate(), c.validateResult()); err != nil {
		return err
	}
	var err error
	if c.scenario, err = target.ScenarioOf(result.Scenario(c.Scenario)); err != nil {
		return err
	}
	switch {
	case c.TopK < 1 || c.TopK > c.scenario.MaxTopK:
		return fmt.Errorf("--top-k %d: must be from 1 to %d, the protocol's limit for %s",
			c.TopK, c.scenario.MaxTopK, c.Scenario)
	case !slices.Contains(requirable, c.RequireMode):
		return fmt.Errorf("--require-mode %s: must be one of %s",
			c.RequireMode, strings.Join(requirable[1:], ", "))
	case c.RequireMode == plan.SameMode && c.Mode == protocol.ModeAuto:
		return errors.New("--require-mode same needs a --mode: auto leaves the choice to the daemon")
	case c.MaxFailures < 0:
		return fmt.Errorf("--max-failures %d: must not be negative; 0 means no limit", c.MaxFailures)
	case c.MaxPerDocument != nil && *c.MaxPerDocument < 0:
		return fmt.Errorf("--max-per-document %d: must not be negative; 0 means no limit", *c.MaxPerDocument)
	case c.CandidateK < 0 || c.RerankTopN < 0:
		return errors.New("--candidate-k and --rerank-top-n must not be negative")
	case (c.CandidateK > 0 || c.RerankTopN > 0) && c.scenario.Name.Reads():
		return fmt.Errorf("--candidate-k and --rerank-top-n require --scenario %s", result.SearchOnly)
	}
	if c.scorer, err = extern.Find(string(c.Scorer)); err != nil {
		return err
	}
	if err := errors.Join(c.validateExtern(c.Scorer), c.validateExact(c.scorer), c.validateGate(), c.validateBaseline(c.Repeats)); err != nil {
		return err
	}
	return errors.Join(c.validatePanel(c.scorer), c.validateJudge(), c.validateMoney(noCap))
}

// requirable are the values of --require-mode. The first, "", requires no mode.
var requirable = slices.Concat([]string{""}, protocol.EffectiveModes, []string{plan.SameMode})
