package progress

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"evalctl/harness/bench/load"
	"evalctl/internal/figure"
	"evalctl/internal/printable"
	"evalctl/internal/stats"
	"evalctl/internal/terminal"
)

// Load shows the progress of a bench: in a line that is redrawn, or as plain lines.
type Load struct {
	t    *terminal.Terminal
	bar  *progressbar.ProgressBar
	stop chan struct{}
	done chan struct{}

	mu    sync.Mutex
	what  string
	live  *load.Live // nil without load
	began time.Time
	said  string // the last plain line
}

// NewLoad starts the display. The caller must call Done.
func NewLoad(t *terminal.Terminal) *Load {
	p := &Load{t: t, stop: make(chan struct{}), done: make(chan struct{})}
	every := liveInterval / 2
	switch {
	case t.Quiet():
		close(p.done)
		return p
	case t.Live():
		p.bar = progressbar.NewOptions(-1, progressbar.OptionSetWriter(t), progressbar.OptionSpinnerType(14),
			progressbar.OptionThrottle(redrawInterval), progressbar.OptionClearOnFinish())
	default:
		every = maxLineInterval
	}
	go func() {
		defer close(p.done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.draw()
			case <-p.stop:
				return
			}
		}
	}()
	return p
}

// Doing shows the step that begins. live is nil without load.
func (p *Load) Doing(what string, live *load.Live) {
	p.mu.Lock()
	p.what, p.live, p.began = what, live, time.Now()
	p.mu.Unlock()
	if p.bar != nil {
		p.draw()
	}
}

// Done ends the display.
func (p *Load) Done() {
	if !p.t.Quiet() {
		close(p.stop)
	}
	<-p.done
	if p.bar != nil {
		_ = p.bar.Finish() // a drawing error must not stop the bench
	}
}

func (p *Load) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.what == "" {
		return
	}
	line := terminal.Line(p.what) + Status(p.live, time.Since(p.began))
	switch {
	case p.bar != nil:
		p.bar.Describe(printable.Short(line, max(20, p.t.Columns()-8)))
		_ = p.bar.Add(1) // a drawing error must not stop the bench
	case line != p.said:
		p.said = line
		p.t.Field("load", "%s", line)
	}
}

// Status describes load after some time: rate, requests in flight, latencies, errors.
func Status(live *load.Live, while time.Duration) string {
	if live == nil || while <= 0 {
		return ""
	}
	_, ok, failed, dropped, inFlight := live.Counts()
	text := fmt.Sprintf("  %.0f/s  %d in flight", float64(ok)/while.Seconds(), inFlight)
	if recent := live.Recent(); len(recent) > 0 {
		ms := make([]float64, len(recent))
		for i, d := range recent {
			ms[i] = d.Seconds() * 1000
		}
		slices.Sort(ms)
		text += fmt.Sprintf("  p50 %.1f ms  p99 %.1f ms", stats.Percentile(ms, 0.5), stats.Percentile(ms, 0.99))
	}
	if failed > 0 {
		text += "  " + figure.Count(int(failed), "error")
	}
	if dropped > 0 {
		text += fmt.Sprintf("  %d dropped", dropped)
	}
	return text
}
