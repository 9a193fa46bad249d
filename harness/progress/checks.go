package progress

import (
	"fmt"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"evalctl/harness/conformance"
	"evalctl/internal/terminal"
)

// Checks shows the progress of a run of checks: as a bar on a terminal, otherwise as plain lines.
type Checks struct {
	t     *terminal.Terminal
	total int

	mu    sync.Mutex
	bar   *progressbar.ProgressBar
	late  *time.Timer // prints a line if no check ended for a while; nil without lines
	pace  pace
	count map[conformance.Verdict]int
}

// NewChecks starts the display for a run of total checks.
func NewChecks(t *terminal.Terminal, total int) *Checks {
	p := &Checks{t: t, total: total, pace: pace{drawn: time.Now()}, count: map[conformance.Verdict]int{}}
	switch {
	case t.Quiet():
	case t.Live():
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(t), progressbar.OptionSetWidth(24), progressbar.OptionShowCount(),
			progressbar.OptionThrottle(redrawInterval), progressbar.OptionSetDescription("  check"),
			progressbar.OptionClearOnFinish())
	default:
		p.mu.Lock() // the timer may fire before the assignment
		defer p.mu.Unlock()
		p.late = time.AfterFunc(maxLineInterval, p.tick)
	}
	return p
}

// Add counts a result. It must not be called concurrently.
func (p *Checks) Add(r conformance.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count[r.Verdict]++
	if p.bar != nil {
		_ = p.bar.Add(1) // a drawing error must not stop the checks
	}
	p.line()
}

// tick prints a line although no check has ended.
func (p *Checks) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.late != nil {
		p.late.Reset(maxLineInterval)
		p.line()
	}
}

// line prints a plain line if one is due.
func (p *Checks) line() {
	kept, broken, open := p.count[conformance.Kept], p.count[conformance.Broken], p.count[conformance.NotJudged]
	if done := kept + broken + open; p.late != nil && p.pace.due(done, p.total) {
		p.late.Reset(maxLineInterval)
		p.t.Field("check", "%s", fmt.Sprintf("%d/%d  %d kept  %d broken  %d not judged", done, p.total, kept, broken, open))
	}
}

// Done removes the bar and ends the lines.
func (p *Checks) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.late != nil {
		p.late.Stop()
		p.late = nil
	}
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
