// Package lifecycle asks questions before which something happens to their brains: documents are
// written, replaced, renamed and deleted, sessions are held, the daemon is restarted. It keeps the
// order of what happens in each brain, and looks for texts that must not come back.
//
// A Run is three things to a pipeline: the Pace by which questions wait for their brains, the Asker
// around the one that asks, and what answers.
package lifecycle

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/visible"
)

// DefaultSettle is how long a service may take until it finds what was written, and no longer finds
// what was deleted.
const DefaultSettle = 5 * time.Second

// Config says which questions are asked of which service. Fields without a comment are required.
type Config struct {
	Dataset dataset.Dataset
	// Brains are those of Dataset.Brains, with their documents.
	Brains []dataset.Brain
	// Target asks. Its Brains are those that operations do not change, if there are any. Its Service
	// is replaced by each restart.
	Target *target.Target
	// Restart restarts the service and returns it. It is nil if the service was not started by this
	// program.
	Restart func(context.Context) (target.Service, error)
	// Skips, if set, reports that a question will not be asked.
	Skips func(dataset.Question) bool
	// Settle is the time that DefaultSettle describes, 0 for that.
	Settle time.Duration
	// Filling, if set, is called while something is written, and Answering while a question is asked,
	// until the functions that they return are called. One may wait for the other to end.
	Filling, Answering func() (end func())
}

// Run keeps the state of the brains while the questions of a run are asked. A question whose brain
// another one uses waits for it, and a question that restarts the service is asked alone.
type Run struct {
	Config

	docs  map[string][]dataset.Doc // of the corpus, by brain
	nonce string                   // makes the names of this run's brains its own

	mu     sync.Mutex
	freed  chan struct{} // closed and replaced when a question ends
	asking map[place]turn
	alone  bool // a question that restarts the service is being asked
	groups map[string]*group
	named  int
}

// place identifies a question that is asked.
type place struct{ line, repeat int }

// turn is what a question occupies while it is asked: its group, "" for none, or the whole service.
type turn struct {
	group string
	alone bool
}

// New returns the run of these questions.
func New(c Config) *Run {
	for _, call := range []*func() func(){&c.Filling, &c.Answering} {
		if *call == nil {
			*call = func() func() { return func() {} }
		}
	}
	if c.Settle == 0 {
		c.Settle = DefaultSettle
	}
	random := make([]byte, 3)
	_, _ = rand.Read(random) // it never fails
	r := &Run{
		Config: c, docs: map[string][]dataset.Doc{}, nonce: hex.EncodeToString(random),
		freed: make(chan struct{}), asking: map[place]turn{}, groups: map[string]*group{},
	}
	for _, b := range c.Brains {
		r.docs[b.Name] = b.Docs
	}
	return r
}

// Turn implements pipeline.Pace. It waits until the brains of the question are free.
func (r *Run) Turn(ctx context.Context, j pipeline.Job) error {
	q := j.Question
	if j.Answer != nil || r.Skips != nil && r.Skips(q) {
		return nil // it is not asked
	}
	t := turn{alone: restarts(q)}
	if r.Dataset.Changes(q.Brain) && !r.Dataset.Isolated() {
		t.group = r.Dataset.Together(q.Brain)[0]
	}
	for {
		r.mu.Lock()
		if r.free(t) {
			r.asking[place{q.Line, q.Repeat}] = t
			r.alone = t.alone
			r.mu.Unlock()
			return nil
		}
		freed := r.freed
		r.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// free reports whether a question may be asked now. The caller holds the lock.
func (r *Run) free(t turn) bool {
	if r.alone || t.alone && len(r.asking) > 0 {
		return false
	}
	for _, other := range r.asking {
		if t.group != "" && other.group == t.group {
			return false
		}
	}
	return true
}

// Around returns the asker as which the questions are asked: the one that is given, and when it has
// returned, the brains of the question are free.
func (r *Run) Around(a pipeline.Asker) pipeline.Asker { return around{a, r} }

type around struct {
	pipeline.Asker
	run *Run
}

// Ask implements pipeline.Asker.
func (a around) Ask(ctx context.Context, j pipeline.Job) (result.Record, error) {
	defer a.run.end(place{j.Question.Line, j.Question.Repeat})
	return a.Asker.Ask(ctx, j)
}

// end frees what a question occupies.
func (r *Run) end(p place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking[p].alone {
		r.alone = false
	}
	delete(r.asking, p)
	close(r.freed)
	r.freed = make(chan struct{})
}

// Health returns an error unless the service is alive.
func (r *Run) Health(ctx context.Context) error { return r.Target.Health(ctx) }

// Ask lets happen what comes before a question, asks it, and looks for texts that must not come
// back. Its errors are those of target.Target.Ask; an operation that fails is a failure of the
// question, and one that the service lacks is in the answer.
func (r *Run) Ask(ctx context.Context, q dataset.Question, timeout time.Duration) (target.Answer, error) {
	if lacks := r.lacks(q); lacks != "" {
		return target.Answer{Lacks: lacks}, nil
	}
	if !r.Dataset.Changes(q.Brain) {
		w := watch{id: r.Target.Brains[q.Brain], texts: q.Forbidden, origin: func(text string) result.Origin { return r.origin(q.Brain, text) }}
		return r.look(ctx, w, func() (target.Answer, error) {
			defer r.Answering()()
			return r.Target.Ask(ctx, q, timeout)
		})
	}
	g := r.group(q)
	if r.Dataset.Isolated() {
		defer g.remove(ctx)
	}
	lacks, err := g.prepare(ctx, q)
	if err != nil || lacks != "" {
		g.remove(ctx)
		return target.Answer{Lacks: lacks, Reply: result.Reply{Attempts: attempts(err)}}, err
	}
	asked := *r.Target
	asked.Brains = g.ids
	w := g.watch(q)
	heard := q
	heard.Forbidden = w.texts
	return r.look(ctx, w, func() (target.Answer, error) {
		defer r.Answering()()
		return asked.Ask(ctx, heard, timeout)
	})
}

// origin returns where a text that must not come back to a question of a brain is from, as far as
// the corpus says it.
func (r *Run) origin(brain, text string) result.Origin {
	want := visible.Words(text)
	for name, docs := range r.docs {
		if name != brain && slices.ContainsFunc(docs, func(d dataset.Doc) bool {
			return strings.Contains(visible.Words(string(d.Data)), want)
		}) {
			return result.OfAnother
		}
	}
	return ""
}

// attempts returns how often a question counts as sent that was not, because what comes before it
// failed.
func attempts(err error) int {
	if err == nil {
		return 0
	}
	return 1
}

// Close removes the brains that are left.
func (r *Run) Close(ctx context.Context) {
	r.mu.Lock()
	groups := r.groups
	r.groups = map[string]*group{}
	r.mu.Unlock()
	for _, g := range groups {
		g.remove(ctx)
	}
}

// group returns the brains that change together with that of a question.
func (r *Run) group(q dataset.Question) *group {
	if r.Dataset.Isolated() {
		return &group{run: r, names: brainsOf(q)}
	}
	names := r.Dataset.Together(q.Brain)
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.groups[names[0]]
	if g == nil {
		g = &group{run: r, names: names}
		r.groups[names[0]] = g
	}
	return g
}

func restarts(q dataset.Question) bool {
	for _, o := range q.Before {
		if o.Op == dataset.OpRestart {
			return true
		}
	}
	return false
}
