package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"evalctl/harness/conformance/requirements"
)

// Run runs the selected checks. It returns an error for an invalid selection or endpoint, if the
// daemon is unusable (ErrUnusable) or stops answering (ErrDied), and if ctx ends early: the error
// is then its cause. In the latter two cases the report has the finished checks. If the daemon
// could be restarted, these are all checks, and the report is not partial.
func Run(ctx context.Context, o Options) (Report, error) {
	o.Profile = cmp.Or(o.Profile, Full)
	checks, err := o.checks()
	if err != nil {
		return Report{}, err
	}
	if o.Parallel <= 0 {
		o.Parallel = defaultParallel
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	d, err := requirements.Open(requirements.Config{
		Endpoint: o.Endpoint, MCP: o.MCP, Token: o.Token, ReadOnlyToken: o.ReadOnlyToken, OtherTenantToken: o.OtherTenantToken,
		Secrets: o.Secrets, MCPEnv: o.MCPEnv,
		Agent: o.Agent, Parallel: o.Parallel, Timeout: o.Timeout, Within: o.within, Slow: o.Slow,
	})
	if err != nil {
		return Report{}, err
	}
	defer d.Close()
	started := time.Now()
	report := Report{
		Endpoint: cmp.Or(d.Endpoint(), o.MCP), Profile: o.Profile, StartedAt: started.UTC(), Planned: len(checks), Partial: true,
		Results: []Result{}, Findings: []Finding{},
	}
	r := &runner{target: d, options: o, checks: checks, process: o.Process, strays: &strays{target: d}}
	if err := r.probe(ctx); err != nil {
		report.BrainsLeft, report.Deaths = d.CleanUp(ctx, false), r.deaths
		report.Findings = append(report.Findings, deathFindings(r.deaths, checks, len(checks))...)
		if errors.Is(err, ErrDied) {
			err = diedError(report)
		}
		return report, err
	}
	for _, res := range r.runAll(ctx) {
		if res.Verdict != "" {
			report.Results = append(report.Results, res)
		}
	}
	report.BrainsLeft, report.Deaths = d.CleanUp(ctx, !r.isDead()), r.deaths
	report.MCPVersion = d.MCPVersion()
	report.Partial = len(report.Results) < report.Planned
	report.DurationMS = millis(time.Since(started))
	for _, deviation := range d.Deviations() {
		accuse(report.Results, deviation)
		report.Normalised = append(report.Normalised, deviation.Text)
	}
	blame(report.Results)
	report.Findings = findings(report.Results, d.Statuses)
	report.Findings = append(report.Findings, r.strays.findings()...)
	report.Findings = append(report.Findings, deathFindings(r.deaths, checks, report.Planned-len(report.Results))...)
	if ctx.Err() == nil && len(r.deaths) > 0 {
		return report, diedError(report)
	}
	return report, context.Cause(ctx)
}

// diedError describes the deaths of the daemon.
func diedError(r Report) error {
	var texts []string
	for _, d := range r.Deaths {
		texts = append(texts, d.String())
	}
	err := fmt.Errorf("%w %s", ErrDied, strings.Join(texts, "\nthe daemon died again "))
	switch {
	case r.Partial:
	case r.Restarted():
		err = fmt.Errorf("%w\nit was restarted and the other checks were done: their verdicts hold", err)
	default:
		err = fmt.Errorf("%w\nall checks were done by then: their verdicts hold", err)
	}
	return err
}
