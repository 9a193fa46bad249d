// Package lifecycle asks questions whose brains are changed first: documents are written, replaced,
// renamed and deleted, sessions are held, the daemon is restarted. It serializes the changes of
// each brain, and looks for texts that must not come back.
//
// A Run serves a pipeline in three roles: as the Pace that lets questions wait for their brains, as
// a wrapper of the Asker, and as the target that answers.
package lifecycle

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
	"evalctl/internal/visible"
)

// DefaultSettle is how long a service may take until searches return new documents and no longer
// return deleted ones.
const DefaultSettle = 5 * time.Second

// Config configures New. Fields without a comment are required.
type Config struct {
	Dataset dataset.Dataset
	// Brains are the brains of Dataset.Brains, with their documents.
	Brains []dataset.Brain
	// Target asks the questions. Its Brains are the brains that no operation changes, if any. Each
	// restart replaces its Service.
	Target *target.Target
	// Restart restarts the service and returns it. Nil if this program did not start the service.
	Restart func(context.Context) (target.Service, error)
	// Skips, if set, reports whether a question is skipped.
	Skips func(dataset.Question) bool
	// Settle replaces DefaultSettle if it is not 0.
	Settle time.Duration
	// Filling, if set, is called before something is written, and Answering before a question is
	// asked. The functions that they return are called afterwards. Either may block until the other
	// has ended.
	Filling, Answering func() (end func())
}

// Run has the state of the brains while questions are asked. A question waits while another
// question uses its brain. A question that restarts the service is asked alone.
type Run struct {
	Config

	docs  map[string][]dataset.Doc // of the corpus, by brain
	nonce string                   // makes the names of this run's brains its own

	mu     sync.Mutex
	freed  chan struct{} // closed and replaced when a question ends
	asking map[place]turn
	alone  bool // a question that restarts the service is being asked
	groups map[string]*group
	left   []*group // the brains before a restart of groups that were created again
	named  int
}

// place identifies a question that is asked.
type place struct{ line, repeat int }

// turn is what a question occupies while it is asked: its group ("" for none), or the whole
// service.
type turn struct {
	group string
	alone bool
}

// New returns a run.
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

// free reports whether a question may be asked now. The caller must hold the lock.
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

// Around returns an asker that calls a and then frees the brains of the question.
func (r *Run) Around(a pipeline.Asker) pipeline.Asker { return operationAsker{a, r} }

type operationAsker struct {
	pipeline.Asker
	run *Run
}

// Ask implements pipeline.Asker.
func (a operationAsker) Ask(ctx context.Context, j pipeline.Job) (result.Record, error) {
	defer a.run.end(place{j.Question.Line, j.Question.Repeat})
	return a.Asker.Ask(ctx, j)
}

// end frees the resources of a question.
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

// Ask executes the operations of a question, asks it, and looks for texts that must not come back.
// It returns the errors of target.Target.Ask. A failed operation is a failure of the question; an
// unsupported one is reported in the answer.
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
		defer func() { _ = g.remove(ctx) }()
	}
	lacks, err := g.prepare(ctx, q)
	if err != nil || lacks != "" {
		_ = g.remove(ctx)
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

// origin returns the origin of a text that must not come back to a question of a brain, as far as
// the corpus shows it.
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

// attempts returns the number of attempts to count for a question that was not sent because one of
// its operations failed.
func attempts(err error) int {
	if err == nil {
		return 0
	}
	return 1
}

// Close removes the remaining brains by the rules of seed.RemoveEach.
func (r *Run) Close(ctx context.Context) {
	r.mu.Lock()
	groups := slices.AppendSeq(r.left, maps.Values(r.groups))
	r.groups, r.left = map[string]*group{}, nil
	r.mu.Unlock()
	_ = seed.RemoveEach(ctx, groups, func(ctx context.Context, g *group) error { return g.remove(ctx) })
}

// group returns the group of the question's brain.
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
