// Package display shows the inputs, the forecast and the progress of a replay on a terminal.
package display

import (
	"fmt"
	"sync"
	"time"

	"evalctl/harness"
	"evalctl/harness/progress"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
	"evalctl/replay"
)

var _ replay.Observer = (*Progress)(nil)

// Progress is a replay.Observer that shows the progress of a replay: first the sessions written,
// then the questions of all arms together.
type Progress struct {
	t    *terminal.Terminal
	plan *replay.Plan

	mu       sync.Mutex
	sessions int
	of       int
	shown    time.Time
	answers  *progress.Questions // nil until the first question is asked
	begun    map[string]bool     // the arms that have asked a question in this process

	// The display is drawn under its own lock, so that status needs another one.
	known    sync.Mutex
	running  *replay.Session // nil until the replay has begun
	finished map[string]int  // questions, by arm
}

// New starts the display.
func New(t *terminal.Terminal, plan *replay.Plan) *Progress {
	p := &Progress{t: t, plan: plan, shown: time.Now(), begun: map[string]bool{}, finished: map[string]int{}}
	daemons := 0
	for _, a := range plan.Arms {
		if a.Baseline == "" {
			daemons++
		}
	}
	for _, h := range plan.Haystacks {
		p.of += h.Sessions * daemons
	}
	return p
}

// Begin lets the display show the spending of a replay and the state of its workers.
func (p *Progress) Begin(r *replay.Session) {
	p.known.Lock()
	defer p.known.Unlock()
	p.running = r
}

// Controls warns at once of a scorer that cannot be trusted or checked.
func (p *Progress) Controls(c result.Controls) {
	p.mu.Lock()
	defer p.mu.Unlock()
	right, wrong := c.Judged()
	switch {
	case !c.Valid():
		p.t.Field("warning", "%d of %d answers that are known to be right or wrong were misjudged: "+
			"this replay is INVALID, and nothing more is asked", len(c.Failed), right+wrong)
	case !c.Enough():
		p.t.Field("warning", "%d of %d answers that are known to be right or wrong got no verdict of the judge: "+
			"nothing more is asked", c.Unscored, c.Right+c.Wrong)
	}
}

// Cached warns of a cache that fails, because replies are then paid for again.
func (p *Progress) Cached(s llm.CacheStats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.Failed > 0 {
		p.t.Field("warning", "%d replies of models could not be read from the cache or written to it, and may be "+
			"paid for again: %s", s.Failed, terminal.Line(s.Failure.Error()))
	}
	if s.Damaged > 0 {
		p.t.Field("warning", "%d damaged replies were removed from the cache", s.Damaged)
	}
}

// Opened prints the daemon.
func (p *Progress) Opened(arm string, s *harness.Session) {
	p.aside(func() { progress.Daemon(p.t, arm, s) })
}

// aside prints above the bar, if there is one.
func (p *Progress) aside(write func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers == nil {
		write()
		return
	}
	p.answers.Aside(write)
}

// ingestInterval is how often the number of written sessions is printed.
const ingestInterval = 2 * time.Second

// Ingested prints the number of sessions in the brains. The final number is always printed.
func (p *Progress) Ingested(_ string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions += n
	if p.sessions < p.of && time.Since(p.shown) < ingestInterval || p.answers != nil {
		return
	}
	p.shown = time.Now()
	p.t.Field("ingest", "%d/%d sessions", p.sessions, p.of)
}

// Queued starts the display of answers.
func (p *Progress) Queued(string) { p.start() }

// Asking shows which questions are in progress.
func (p *Progress) Asking(arm, id string, begin bool) {
	p.mu.Lock()
	p.begun[arm] = true
	p.mu.Unlock()
	p.start().Asking(p.name(arm, id), begin)
}

// Recorded counts a finished question.
func (p *Progress) Recorded(arm string, rec result.Record) {
	answers := p.start()
	p.known.Lock()
	p.finished[arm]++
	_, counted := p.running.Resumed()
	p.known.Unlock()
	p.mu.Lock()
	resumed := !p.begun[arm]
	p.mu.Unlock()
	if resumed && !counted {
		answers.Resume()
	}
	answers.Recorded(rec)
}

// name names a question, with its arm if there are several.
func (p *Progress) name(arm, id string) string {
	if len(p.plan.Arms) == 1 {
		return id
	}
	return fmt.Sprintf("%s %s", arm, id)
}

// start returns the display of answers, and starts it on the first call.
func (p *Progress) start() *progress.Questions {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers == nil {
		p.known.Lock()
		resumed, _ := p.running.Resumed()
		p.known.Unlock()
		p.answers = progress.NewQuestions(p.t, len(p.plan.Questions)*len(p.plan.Arms), resumed)
		p.answers.Also(p.status)
	}
	return p.answers
}

// status returns the parts of the status besides the answers: the cost, the questions of each arm,
// and the state of the workers.
func (p *Progress) status() (out []string) {
	p.known.Lock()
	defer p.known.Unlock()
	if p.running == nil {
		return nil
	}
	usd, out := p.running.Status()
	switch limit := p.running.Cap(); {
	case limit != nil && usd > 0:
		out = append(out, fmt.Sprintf("%s of %s", usd, *limit))
	case usd > 0:
		out = append(out, usd.String())
	}
	if len(p.plan.Arms) > 1 {
		for _, a := range p.plan.Arms {
			out = append(out, fmt.Sprintf("%s %d", a.Name, p.finished[a.Name]))
		}
	}
	return out
}

// Done ends the display.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers != nil {
		p.answers.Done()
	}
}

// Notice prints a notice of the queue.
func (p *Progress) Notice(text string) {
	p.aside(func() { p.t.Field("queue", "%s", terminal.Line(text)) })
}
