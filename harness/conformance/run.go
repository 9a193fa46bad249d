package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"slices"
	"strings"
	"time"
)

// Defaults of Options.
const (
	defaultParallel = 4
	defaultTimeout  = 30 * time.Second
)

// Options configures Run. Only Endpoint or MCP is required.
type Options struct {
	// Endpoint is the daemon's base URL, http or https. If it is empty, only the checks of the group
	// mcp run.
	Endpoint string
	// MCP is the server of the tools: the URL of streamable HTTP, or "stdio:" and a command with its
	// arguments. If it is empty, the checks of the group mcp are not judged. The tools cannot delete
	// brains: without Endpoint, the brains that the checks create remain.
	MCP string
	// Token is sent with every request. ReadOnlyToken belongs to the same tenant and may only read
	// its documents. OtherTenantToken belongs to another tenant. Checks that need a token that is
	// empty are not judged.
	Token, ReadOnlyToken, OtherTenantToken string
	// Profile and Only select checks; see Checks. An empty profile is Full.
	Profile Profile
	Only    []string
	// Parallel is the number of concurrent checks; 0 means 4.
	Parallel int
	// Timeout is how long a check waits for each response to begin; 0 means 30 seconds. A daemon that
	// answers slowly gets as much time as all its answers need.
	Timeout time.Duration
	// Reference includes the checks about what the reference daemon decided where the specification
	// leaves the matter open; see Check.Own.
	Reference bool
	// Slow includes the checks that wait for something that a daemon does every 25 seconds.
	Slow bool
	// Agent is the User-Agent header of every request.
	Agent string
	// Process is the daemon's process if it was started for the run, else nil.
	Process Process
	// Restart starts the daemon again after it died, and stops what is left of it before. It
	// returns the daemon's base URL, which may be another one, and its process. The daemon need not
	// have the brains that it had. Restart is called at most three times. If it is nil, the death
	// of the daemon ends the run. MCP follows the daemon if it begins with Endpoint.
	Restart func(context.Context) (endpoint string, p Process, err error)
	// Log returns the last lines of the log of a daemon whose process is running. It may be nil.
	Log func() string
	// within is how long a daemon may take to index a document, to ingest a file, to send a frame that
	// is due and to reject a body that does not come. 0 means each one's own limit. Tests set it.
	within time.Duration
	// Done is called with each result as soon as it is available. Calls are not concurrent.
	Done func(Result)
}

// ErrUnusable reports that no check could run: the daemon does not respond, does not create brains,
// or does not allow deleting them.
var ErrUnusable = errors.New("the daemon cannot be checked")

// errOnlyOwn reports a selection of which nothing runs.
var errOnlyOwn = errors.New("the selected checks are about choices of the reference daemon that the specification " +
	"leaves open, and run only against that daemon")

// Planned returns the number of checks that Run would run, and the error of an invalid selection.
func (o Options) Planned() (int, error) {
	checks, err := o.checks()
	return len(checks), err
}

// checks returns the selected checks that apply to the daemon.
func (o Options) checks() ([]check, error) {
	checks, err := selectChecks(cmp.Or(o.Profile, Full), o.Only)
	if err != nil {
		return nil, err
	}
	checks = slices.DeleteFunc(checks, func(c check) bool {
		return c.Own && !o.Reference || c.Group != groupMCP && o.Endpoint == "" && o.MCP != ""
	})
	if len(checks) == 0 {
		return nil, errOnlyOwn
	}
	return checks, nil
}

var errCheckTimeout = errors.New("the check timed out")

// Run runs the selected checks. It returns an error for an invalid selection or endpoint, if the
// daemon is unusable (ErrUnusable), if it stops answering (ErrDied), and if ctx ends early: then
// the error is ctx's cause. In the latter two cases the report contains the checks that were
// finished. That is all of them if the daemon could be restarted: then the report is not partial.
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
	d, err := newTarget(o)
	if err != nil {
		return Report{}, err
	}
	defer d.http.CloseIdleConnections()
	defer d.tools.close()
	started := time.Now()
	report := Report{
		Endpoint: cmp.Or(d.base, o.MCP), Profile: o.Profile, StartedAt: started.UTC(), Planned: len(checks), Partial: true, Results: []Result{},
		Findings: []Finding{},
	}
	r := &runner{target: d, options: o, checks: checks, process: o.Process}
	if err := r.probe(ctx); err != nil {
		report.BrainsLeft, report.Deaths = d.brainsLeft(), r.deaths
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
	d.leaveToolBrain()
	if !r.isDead() {
		d.deleteLeft(ctx)
	}
	report.Partial = len(report.Results) < report.Planned
	report.DurationMS = millis(time.Since(started))
	d.quirks.accuse(d, report.Results)
	blame(report.Results)
	report.Findings, report.Normalised = findings(report.Results, d.routes), d.deviations()
	report.Findings = append(report.Findings, d.strayFindings()...)
	report.BrainsLeft = d.brainsLeft()
	report.Deaths = r.deaths
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
	if !r.Partial {
		err = fmt.Errorf("%w\nit was restarted and the other checks were done: their verdicts hold", err)
	}
	return err
}

// probe creates a brain, as every check does, finds out how the daemon differs from others, and
// deletes the brain. A token that may not delete brains stops the run, which would otherwise leave
// hundreds of them. A daemon that has no such endpoint does not. The route deadly is not used to
// find out how the daemon differs: it made the daemon die before.
func (d *target) probe(ctx context.Context, timeout time.Duration, deadly string) error {
	healthy, cancel := context.WithTimeoutCause(ctx, timeout, errCheckTimeout)
	defer cancel()
	if d.base == "" {
		if _, err := d.tools.client(healthy); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%w: %s", ErrUnusable, d.redactor.Text(err.Error()))
		}
		return context.Cause(ctx)
	}
	status, err := d.healthStatus(healthy)
	d.healthy, d.reached = err == nil && status/100 == 2, err == nil
	probe, cancel := patient(ctx, timeout)
	defer cancel()
	id, err := d.probeCreation(probe)
	if err == nil {
		d.probeQuirks(probe, id, deadly)
		err = d.probeDeletion(ctx, id)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", ErrUnusable, d.redactor.Text(err.Error()))
	}
	return nil
}

func (d *target) runCheck(ctx context.Context, o Options, chk check) outcome {
	res := Result{Check: chk.Check, Verdict: NotJudged}
	if unmet := d.unmet(chk.needs, o.Slow); unmet != "" {
		res.Reason, res.Detail, res.Cause = ReasonNeed, unmet, unmet
		res.cause = cause{what: unmet, wide: true, whole: true}
		return outcome{Result: res}
	}
	start := time.Now()
	limited, cancel := patient(ctx, o.Timeout)
	defer cancel()
	c := &client{target: d, unique: newBrainName()}
	run := c.runInNewBrain
	if chk.Group == groupMCP {
		run = c.runInToolBrain
	}
	err := run(limited, chk.steps)
	if err != nil && errors.Is(err, context.Canceled) && errors.Is(context.Cause(limited), errCheckTimeout) {
		err = fmt.Errorf("%w: %w", errCheckTimeout, err)
	}
	res.DurationMS = millis(time.Since(start))
	res.judge(err)
	if err != nil {
		d.explain(&res, err, c.last())
	}
	out := outcome{Result: res, again: err != nil && countsAlone(err), late: err != nil && timedOut(err), failed: c.failures()}
	out.isServerError = strings.HasPrefix(res.Response, "HTTP 5")
	if x := c.last(); x != nil {
		out.last = x.requestText(d.redactor.Text)
		out.isServerError = out.isServerError || x.answer != nil && x.answer.status >= 500
	}
	return out
}

// patient returns a context that ends when no response has begun for limit.
func patient(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(errCheckTimeout) })
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { timer.Reset(limit) }})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
