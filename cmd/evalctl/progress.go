package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/stats"
)

const (
	barWidth = 16 // at most: the bar gives way to the figures
	minBar   = 4
	// besideBar is the room that percentage, count and blanks take, without the
	// digits of the count.
	besideBar = 12
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

// progress follows a run: a bar on a terminal, else plain lines. Its fields may
// be read after done.
type progress struct {
	t       *terminal
	bar     *progressbar.ProgressBar
	total   int
	resumed int // finished before this process

	mu     sync.Mutex
	late   *time.Timer // draws when nothing else has for too long; nil with a bar
	ended  bool
	counts result.Counts
	asked  int // in this process
	spent  llm.USD
	start  time.Time
	drawn  time.Time
	tenth  int
	took   []float64 // latencies of the last answers, a ring
	first  []float64
	failed []result.Record // the first ones, for the report
	more   int             // failures beyond those
}

// progress begins to follow a run of total questions, of which the first that
// are told were finished before.
func (t *terminal) progress(total, resumed int) *progress {
	p := &progress{t: t, total: total, resumed: resumed, start: time.Now(), drawn: time.Now()}
	switch {
	case t.quiet:
	case t.live:
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(t.w), progressbar.OptionSetWidth(barWidth), progressbar.OptionShowCount(),
			progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false),
			progressbar.OptionShowDescriptionAtLineEnd(), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerPadding: "░", BarStart: "", BarEnd: ""}))
	default:
		p.mu.Lock() // the timer may be faster than the assignment
		defer p.mu.Unlock()
		p.late = time.AfterFunc(plainLatest, p.tick)
	}
	return p
}

// tick draws while no question finishes.
func (p *progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.draw()
	}
}

// add is called with each finished question, from one goroutine at a time.
func (p *progress) add(r result.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Add(r)
	p.spent += r.JudgeUSD
	if r.Outcome == result.NoGold {
		return
	}
	if p.counts.Finished() > p.resumed {
		p.asked++
	}
	if r.Outcome != result.Errored {
		p.took = ring(p.took, p.counts.Total, r.LatencyMS)
		if r.FirstDeltaMS != nil {
			p.first = ring(p.first, p.counts.Total, *r.FirstDeltaMS)
		}
	}
	if !r.Passed {
		p.fail(r)
	}
	if !p.t.quiet {
		p.draw()
	}
}

func (p *progress) fail(r result.Record) {
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
	now, done := time.Now(), p.counts.Finished()
	since := now.Sub(p.drawn)
	if p.bar != nil {
		if since >= redrawEvery {
			p.drawn = now
			p.bar.Describe(p.description())
			_ = p.bar.Set(done) // a bar that cannot be drawn stops nothing
		}
		return
	}
	tenth := done * 10 / p.total
	if tenth > p.tenth && since >= plainSoonest || since >= plainLatest {
		p.tenth, p.drawn = tenth, now
		p.late.Reset(plainLatest)
		p.t.field("ask", "%d/%d  %s", done, p.total, strings.Join(p.figures("first token"), "  "))
	}
}

// description is the figures, as far as the line has room for them: a line that
// wraps cannot be redrawn in place. The bar gives way first, then blanks and words.
func (p *progress) description() string {
	room := p.t.columns() - besideBar - 2*len(strconv.Itoa(p.total))
	if room < 1 {
		return ""
	}
	if full := strings.Join(p.figures("first token"), "  "); utf8.RuneCountInString(full) <= room-minBar {
		return full
	}
	return clip(strings.Join(p.figures("first"), " "), room)
}

// figures is the running state. first names the time to the first token.
func (p *progress) figures(first string) []string {
	s := []string{fmt.Sprintf("%d pass", p.counts.Passed), fmt.Sprintf("%d fail", p.counts.Scored-p.counts.Passed)}
	if p.counts.Errors > 0 {
		s = append(s, fmt.Sprintf("%d error", p.counts.Errors))
	}
	if p.counts.Unscored > 0 {
		s = append(s, fmt.Sprintf("%d unscored", p.counts.Unscored))
	}
	if len(p.took) > 0 {
		s = append(s, "p50 "+duration(median(p.took)))
	}
	if len(p.first) > 0 {
		s = append(s, first+" "+duration(median(p.first)))
	}
	if p.spent > 0 {
		s = append(s, p.spent.String())
	}
	if p.asked > 0 {
		left := time.Duration(float64(time.Since(p.start)) / float64(p.asked) * float64(p.total-p.counts.Finished()))
		s = append(s, "ETA "+left.Round(time.Second).String())
	}
	return s
}

func median(values []float64) float64 {
	return stats.Percentile(slices.Sorted(slices.Values(values)), 0.5)
}

// done takes the bar away. Nothing is drawn any more.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.late != nil {
		p.late.Stop()
	}
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
