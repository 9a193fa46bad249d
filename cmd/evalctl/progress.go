package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/schollz/progressbar/v3"

	"evalctl/harness"
	"evalctl/internal/llm"
	"evalctl/internal/stats"
)

const (
	barWidth = 16
	// besideBar is room for the percentage, the times and what stands between.
	besideBar = 28
	// recentAnswers is how many latencies the live percentiles look back on.
	recentAnswers = 512
	redrawEvery   = 100 * time.Millisecond
	// A plain line comes with each tenth of the questions, but not too soon
	// after the one before, and not too late.
	plainSoonest = time.Second
	plainLatest  = 10 * time.Second
	// listedFailures is how many failed questions the report shows.
	listedFailures = 20
)

// progress follows a run: a bar on a terminal, else plain lines.
type progress struct {
	t      *terminal
	bar    *progressbar.ProgressBar
	total  int
	counts harness.Counts
	spent  llm.USD
	start  time.Time
	drawn  time.Time
	tenth  int
	late   []float64 // latencies of the last answers, a ring
	first  []float64
	failed []harness.Record // the first ones, for the report
	more   int              // failures beyond those
}

func (t *terminal) progress(total int) *progress {
	p := &progress{t: t, total: total, start: time.Now(), drawn: time.Now()}
	if t.live && !t.quiet {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(t.w), progressbar.OptionSetWidth(barWidth), progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetDescription("  ask"), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerPadding: "░", BarStart: "", BarEnd: ""}))
	}
	return p
}

// add is called with each finished question, from one goroutine at a time.
func (p *progress) add(r harness.Record) {
	p.counts.Add(r)
	p.spent += r.JudgeUSD
	if r.Outcome == harness.NoGold {
		return
	}
	if r.Outcome != harness.Errored {
		p.late = ring(p.late, p.counts.Total, r.LatencyMS)
		if r.FirstDeltaMS != nil {
			p.first = ring(p.first, p.counts.Total, *r.FirstDeltaMS)
		}
	}
	if !r.Passed {
		p.fail(r)
	}
	p.draw()
}

func (p *progress) fail(r harness.Record) {
	if len(p.failed) < listedFailures {
		p.failed = append(p.failed, r)
	} else {
		p.more++
	}
}

func ring(values []float64, n int, v float64) []float64 {
	if len(values) < recentAnswers {
		return append(values, v)
	}
	values[n%recentAnswers] = v
	return values
}

func (p *progress) draw() {
	if p.t.quiet {
		return
	}
	now := time.Now()
	if p.bar != nil {
		if now.Sub(p.drawn) >= redrawEvery {
			p.drawn = now
			_ = p.bar.Set(p.counts.Finished()) // a bar that cannot be drawn stops nothing
			p.bar.Describe(p.description())
		}
		return
	}
	done := p.counts.Finished()
	tenth, since := done*10/p.total, now.Sub(p.drawn)
	if tenth > p.tenth && since >= plainSoonest || since >= plainLatest {
		p.tenth, p.drawn = tenth, now
		left := time.Duration(float64(now.Sub(p.start)) / float64(done) * float64(p.total-done))
		p.t.field("ask", "%d/%d  %s  ETA %s", done, p.total, p.figures(), left.Round(time.Second))
	}
}

// description is the figures, as far as the line has room for them: a line that
// wraps cannot be redrawn in place.
func (p *progress) description() string {
	room := p.t.columns() - barWidth - besideBar - 2*len(strconv.Itoa(p.total))
	if room < len("  ask") {
		return ""
	}
	return clip("  ask  "+p.figures(), room)
}

// figures is the running state in one line.
func (p *progress) figures() string {
	s := fmt.Sprintf("%d pass  %d fail", p.counts.Passed, p.counts.Scored-p.counts.Passed)
	if p.counts.Errors > 0 {
		s += fmt.Sprintf("  %d error", p.counts.Errors)
	}
	if p.counts.Unscored > 0 {
		s += fmt.Sprintf("  %d unscored", p.counts.Unscored)
	}
	if len(p.late) > 0 {
		s += "  p50 " + duration(median(p.late))
	}
	if len(p.first) > 0 {
		s += "  first token " + duration(median(p.first))
	}
	if p.spent > 0 {
		s += "  " + p.spent.String()
	}
	return s
}

func median(values []float64) float64 {
	return stats.Percentile(slices.Sorted(slices.Values(values)), 0.5)
}

// done takes the bar away.
func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// duration prints milliseconds with as many digits as they deserve.
func duration(ms float64) string {
	switch {
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	default:
		return fmt.Sprintf("%.2f s", ms/1000)
	}
}
