// Package progress shows the progress of long operations on a terminal: as a bar, or as plain lines
// where lines cannot be redrawn. A quiet terminal shows nothing. Types are safe for concurrent use.
package progress

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/internal/stats"
	"evalctl/internal/terminal"
)

const (
	barWidth = 16 // maximum: the bar shrinks if the status text needs the columns
	minBar   = 4
	// barOverhead is the width of percentage, count and blanks, without the digits of the count.
	barOverhead = 12
	// recentAnswers is the number of latencies used for the live percentiles.
	recentAnswers  = 512
	redrawInterval = 100 * time.Millisecond
	// A bar is redrawn after liveInterval even if no question has finished.
	liveInterval = time.Second
	// stallAge is the age from which the oldest question is named.
	stallAge = 5 * time.Second
	// A plain line is printed after each tenth of the questions, subject to these intervals.
	minLineInterval = time.Second
	maxLineInterval = 10 * time.Second
)

// Questions shows the progress of a run: as a bar on a terminal, otherwise as plain lines. Its
// fields may be read after Done.
type Questions struct {
	t       *terminal.Terminal
	bar     *progressbar.ProgressBar
	total   int
	resumed int // finished before this process

	mu     sync.Mutex
	late   *time.Timer // draws if nothing has been drawn for a while
	ended  bool
	counts result.Counts
	asked  int                  // in this process
	open   map[string]time.Time // when the questions that wait for an answer were asked, by id
	spent  llm.USD
	// Unpriced is set if the price of the judge is unknown.
	Unpriced bool
	// more, if set, returns further parts of the status, including the cost.
	more  func() []string
	start time.Time
	pace
	took   []float64      // latencies of the recent answers in ms, a ring buffer
	first  []float64      // times to their first tokens in ms, a ring buffer
	Failed *result.Record // the first one in the dataset that ended with an error
}

// theme is the theme of bars.
var theme = progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerPadding: "░", BarStart: "", BarEnd: ""})

// NewQuestions starts the display for a run of total questions. The first resumed records passed to
// Recorded were finished by an earlier process.
func NewQuestions(t *terminal.Terminal, total, resumed int) *Questions {
	p := &Questions{
		t: t, total: total, resumed: resumed, start: time.Now(), pace: pace{drawn: time.Now()}, open: map[string]time.Time{},
	}
	if t.Quiet() {
		return p
	}
	p.mu.Lock() // the timer may fire before the assignment
	defer p.mu.Unlock()
	p.late = time.AfterFunc(p.patience(), p.tick)
	if t.Live() {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(t), progressbar.OptionSetWidth(barWidth), progressbar.OptionShowCount(),
			progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false),
			progressbar.OptionShowDescriptionAtLineEnd(), progressbar.OptionClearOnFinish(), theme)
	}
	return p
}

// patience is the maximum time without drawing while no question finishes.
func (p *Questions) patience() time.Duration {
	if p.t.Live() {
		return liveInterval
	}
	return maxLineInterval
}

// tick draws if no question has finished for a while.
func (p *Questions) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.draw()
		p.late.Reset(p.patience())
	}
}

// Resume counts one more question finished before this process.
func (p *Questions) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resumed++
}

// Also adds the results of more to the status. They must include the cost.
func (p *Questions) Also(more func() []string) {
	p.mu.Lock() // it may be drawn already
	defer p.mu.Unlock()
	p.more = more
}

// Asking implements pipeline.Observer.
func (p *Questions) Asking(id string, begin bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if begin {
		p.open[id] = time.Now()
	} else {
		delete(p.open, id)
	}
}

// stalled returns the id and the age of the question that has waited longest, if it has waited for
// stallAge.
func (p *Questions) stalled() (id string, age time.Duration) {
	for q, since := range p.open {
		if a := time.Since(since); a >= stallAge && a > age {
			id, age = q, a
		}
	}
	return id, age
}

// Recorded implements pipeline.Observer.
func (p *Questions) Recorded(r result.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Add(r)
	p.spent = p.spent.Plus(r.JudgeUSD)
	if !r.Outcome.Counts() {
		return
	}
	if p.counts.Finished() > p.resumed {
		p.asked++
	}
	if r.Outcome != result.Errored {
		if took := r.Took(); took != nil {
			p.took = ring(p.took, p.counts.Total, *took)
		}
		if first := r.FirstToken(); first != nil {
			p.first = ring(p.first, p.counts.Total, *first)
		}
	}
	if r.Error != nil && (p.Failed == nil || r.Line < p.Failed.Line) {
		p.Failed = &r
	}
	if !p.t.Quiet() {
		p.draw()
	}
}

// ring adds v, value number n, to the last recentAnswers values.
func ring(values []float64, n int, v float64) []float64 {
	if len(values) < recentAnswers {
		return append(values, v)
	}
	values[n%recentAnswers] = v
	return values
}

// pace decides when the next plain line is due.
type pace struct {
	drawn time.Time
	tenth int
}

// due reports whether a plain line is due, and counts it. A line is due after each tenth of total,
// and if there was none for a while.
func (p *pace) due(done, total int) bool {
	now, tenth := time.Now(), done*10/total
	since := now.Sub(p.drawn)
	if (tenth <= p.tenth || since < minLineInterval) && since < maxLineInterval {
		return false
	}
	p.tenth, p.drawn = tenth, now
	return true
}

func (p *Questions) draw() {
	now, done := time.Now(), p.counts.Finished()
	since := now.Sub(p.drawn)
	if p.bar != nil {
		if since >= redrawInterval {
			p.drawn = now
			p.bar.Describe(p.description())
			_ = p.bar.Set(done) // a drawing error must not stop the run
		}
		return
	}
	if p.due(done, p.total) {
		p.late.Reset(maxLineInterval)
		p.t.Field("ask", "%d/%d  %s", done, p.total, strings.Join(p.status("first token"), "  "))
	}
}

// description returns the status, shortened to fit on one line, because a wrapped line cannot be
// redrawn in place. The bar is shortened first, then blanks and words.
func (p *Questions) description() string {
	room := p.t.Columns() - barOverhead - 2*len(strconv.Itoa(p.total))
	if room < 1 {
		return ""
	}
	if full := strings.Join(p.status("first token"), "  "); terminal.Cut(full, room-minBar) == full {
		return full
	}
	return terminal.Cut(strings.Join(p.status("first"), " "), room)
}

// status returns the parts of the status. first is the label of the time to the first token.
func (p *Questions) status(first string) []string {
	s := []string{fmt.Sprintf("%d pass", p.counts.Passed), fmt.Sprintf("%d fail", p.counts.Scored-p.counts.Passed)}
	if p.counts.Errors > 0 {
		s = append(s, fmt.Sprintf("%d error", p.counts.Errors))
	}
	if p.counts.Unscored > 0 {
		s = append(s, fmt.Sprintf("%d unscored", p.counts.Unscored))
	}
	if len(p.took) > 0 {
		s = append(s, "p50 "+figure.Duration(stats.Median(p.took)))
	}
	if len(p.first) > 0 {
		s = append(s, first+" "+figure.Duration(stats.Median(p.first)))
	}
	switch {
	case p.more != nil:
		s = append(s, p.more()...)
	case p.Unpriced:
		s = append(s, "cost unknown")
	case p.spent > 0:
		s = append(s, p.spent.String())
	}
	if id, age := p.stalled(); age > 0 {
		s = append(s, fmt.Sprintf("%s waits %d s", terminal.Short(id, 32), int(age.Seconds())))
	}
	if p.asked > 0 {
		left := time.Duration(float64(time.Since(p.start)) / float64(p.asked) * float64(p.total-p.counts.Finished()))
		s = append(s, "ETA "+left.Round(time.Second).String())
	}
	return s
}

// Aside prints above the bar.
func (p *Questions) Aside(write func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil || p.ended {
		write()
		return
	}
	_ = p.bar.Clear()
	write()
	p.drawn = time.Time{}
	p.draw()
}

// Done removes the bar and stops all drawing.
func (p *Questions) Done() {
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
