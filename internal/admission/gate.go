// Package admission bounds how much work of a kind a process does at a time, and how much waits.
//
// A semaphore alone, such as golang.org/x/sync's, does not suffice under overload: its queue has no
// limit and one order, it does not prefer requests whose clients still wait, and it does not know
// tenants.
package admission

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"
)

// ErrOverloaded reports that work was shed: it has not begun, and may be repeated later.
var ErrOverloaded = errors.New("overloaded: more work waits than can be done soon; repeat the request later")

const (
	// patience is how long work may wait. It is less than the 30 s that a client waits.
	patience = 10 * time.Second
	// calm is how long the queue of a tenant is served newest first after the last sign of
	// overload, and how long it is short.
	calm = time.Second
	// trial is how often the queue may have its full length while work is refused all the time.
	// Clients that wait for their responses may all fit into it, and are then no longer refused.
	trial = 20 * time.Second
	// crowd is how many times the slots' work waits while work is refused. The mean wait is then
	// crowd times the time that work takes.
	crowd = 6
	// stale is how many times longer than this mean wait work may have waited, if there is still
	// too much.
	stale = 2
	// slice is the time slice of the scheduler: a shorter wait says nothing about the queue.
	slice = 10 * time.Millisecond
	// memory is about how much work the mean time covers.
	memory = 16
)

// Config of a Gate.
type Config struct {
	// Slots is how much work is done at a time.
	Slots int
	// PerTenant is how many of the slots a tenant may have; 0 means all.
	PerTenant int
	// Queue is how much more work may wait.
	Queue int
}

// Gate admits work of one kind. Free slots are given to the tenants in turn.
//
// The work of a tenant is admitted in order of arrival, which suits clients that wait for their
// responses. Under overload this order would make everyone wait as long as the slowest clients are
// willing to. So the newest work is then admitted first, until the queue of the tenant is empty or
// 1 s after the last sign of overload. Work of the tenant that was shed, or whose client did not
// wait, is a sign of overload.
//
// If the queue is full, the tenant with the longest one loses its oldest work. Work that has waited
// for 10 s is shed too. While work is refused, work is also shed after 12 times as long as work
// takes, which the gate measures.
//
// A Gate is safe for concurrent use. It has no goroutines.
type Gate struct {
	cfg Config

	mu        sync.Mutex
	inFlight  int
	queued    int
	coming    int // see With
	tenants   map[string]*tenant
	turns     []*tenant     // of tenants; the first one is served next
	crowded   time.Time     // when work was refused last
	short     time.Time     // since when less may wait because of that
	mean      time.Duration // that work has had a slot; 0: none has ended
	ended     time.Time     // when work ended last
	shed      uint64
	abandoned uint64
}

// tenant is one with work in flight, queued or on its way.
type tenant struct {
	name     string
	inFlight int
	coming   int
	queue    list.List // of *waiter, oldest first
	pressed  time.Time // the last sign of overload
}

// waiter is queued work.
type waiter struct {
	since    time.Time
	admitted chan error // receives the decision; nil: it has a slot
}

// Stats describe the past and present work of a Gate.
type Stats struct {
	InFlight, Queued int
	// Shed counts work that was rejected with ErrOverloaded, Abandoned work whose context ended in
	// the queue.
	Shed, Abandoned uint64
}

// New returns a Gate.
func New(cfg Config) *Gate {
	if cfg.PerTenant == 0 {
		cfg.PerTenant = cfg.Slots
	}
	return &Gate{cfg: cfg, tenants: map[string]*tenant{}}
}

// Enter waits for a slot. The caller must call release once, when the work is done. The error is
// ErrOverloaded or the context's.
func (g *Gate) Enter(ctx context.Context, name string) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.mu.Lock()
	t := g.tenant(name)
	// If a slot is free while work waits, the waiting tenants may not have it.
	busy := true
	if g.inFlight < g.cfg.Slots && t.inFlight < g.cfg.PerTenant {
		busy = time.Since(g.ended) < g.mean
		g.take(t)
		g.mu.Unlock()
	} else if err := g.queue(ctx, t); err != nil {
		return nil, err
	}
	// If work has just ended, more may be ready to arrive, and does so before this work begins.
	// Otherwise all of it waits for processors in the queue of the scheduler, which has no limit,
	// and rejections wait with it.
	if busy {
		runtime.Gosched()
	}
	if err := ctx.Err(); err != nil {
		g.leave(t)
		return nil, err
	}
	began := time.Now()
	return func() { g.done(t, time.Since(began)) }, nil
}

// tenant returns the tenant of a name. Called with mu held.
func (g *Gate) tenant(name string) *tenant {
	t := g.tenants[name]
	if t == nil {
		t = &tenant{name: name}
		g.tenants[name] = t
		g.turns = append(g.turns, t)
	}
	return t
}

// queue waits for a slot of t. It is called with mu held, and unlocks it.
func (g *Gate) queue(ctx context.Context, t *tenant) error {
	w := &waiter{since: time.Now(), admitted: make(chan error, 1)}
	place := t.queue.PushBack(w)
	if g.queued++; g.queued > g.cfg.Queue {
		longest := slices.MaxFunc(g.turns, func(a, b *tenant) int { return a.queue.Len() - b.queue.Len() })
		longest.pressed = w.since
		g.shedOldest(longest)
	}
	g.mu.Unlock()
	return g.wait(ctx, t, w, place)
}

// Refuse reports whether work that arrives now is too much: there is no slot for it, the queue is
// full, and no other tenant has a longer one. It is also too much if as much as the gate holds is
// already on its way (see With), and no other tenant has more on its way. Such work is counted as
// shed. A caller that asks before it spends anything on the work rejects it nearly for free; Enter
// would let it wait, and shed work that has been prepared.
//
// For a second after work was refused, the queue is full with crowd times as much work as there are
// slots. This suffices to keep the slots busy, and waiting work is admitted soon. Every 20 s, the
// queue may have its full length again.
func (g *Gate) Refuse(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	mine, inFlight, coming := 0, 0, 0
	if t := g.tenants[name]; t != nil {
		mine, inFlight, coming = t.queue.Len(), t.inFlight, t.coming
	}
	if g.coming >= g.cfg.Slots+g.cfg.Queue && !slices.ContainsFunc(g.turns, func(t *tenant) bool { return t.coming > coming }) {
		g.shed++
		return true
	}
	if g.inFlight < g.cfg.Slots && inFlight < g.cfg.PerTenant {
		return false
	}
	now, room := time.Now(), g.cfg.Queue
	short := now.Sub(g.crowded) < calm && now.Sub(g.short) < trial
	if short {
		room = min(room, crowd*g.cfg.Slots)
	}
	if g.queued < room {
		return false
	}
	for _, other := range g.turns {
		if other.queue.Len() > mine {
			return false
		}
	}
	if !short {
		g.short = now
	}
	g.crowded = now
	g.shed++
	return true
}

// wait returns the decision about w.
func (g *Gate) wait(ctx context.Context, t *tenant, w *waiter, place *list.Element) error {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case err := <-w.admitted:
		return err
	case <-ctx.Done():
	case <-timeout.C:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case err := <-w.admitted: // meanwhile
		if err == nil {
			g.releaseLocked(t)
			g.shed++
			err = ErrOverloaded
		}
		return cmp.Or(ctx.Err(), err)
	default:
	}
	t.pressed = time.Now()
	g.remove(t, place)
	if err := ctx.Err(); err != nil {
		g.abandoned++
		return err
	}
	g.shed++
	return ErrOverloaded
}

// remove removes work from the queue of t. Called with mu held.
func (g *Gate) remove(t *tenant, place *list.Element) {
	t.queue.Remove(place)
	g.queued--
	g.forget(t)
}

func (g *Gate) take(t *tenant) {
	g.inFlight++
	t.inFlight++
}

// shedOldest sheds the oldest work of the queue of t. Called with mu held.
func (g *Gate) shedOldest(t *tenant) {
	oldest := t.queue.Front()
	g.remove(t, oldest)
	g.shed++
	oldest.Value.(*waiter).admitted <- ErrOverloaded
}

// leave releases the slot of work whose context ended before it began.
func (g *Gate) leave(t *tenant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.abandoned++
	g.releaseLocked(t)
}

// done releases the slot of work that took some time.
func (g *Gate) done(t *tenant, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mean == 0 {
		g.mean = took
	}
	g.mean += (took - g.mean) / memory
	g.ended = time.Now()
	g.releaseLocked(t)
}

// shedStale sheds work that has waited too long while work is refused. After a burst of more than
// the queue holds, nothing more is refused, and all waiting work is served. Called with mu held.
func (g *Gate) shedStale() {
	now := time.Now()
	if g.mean == 0 || now.Sub(g.crowded) > crowd*g.mean {
		return
	}
	waiting := 0
	for _, t := range g.turns {
		waiting += min(1, t.queue.Len())
	}
	// Tenants take turns, so the work of each waits longer, the more they are.
	limit := max(slice, time.Duration(stale*crowd*waiting)*g.mean)
	for _, t := range slices.Backward(g.turns) { // so that tenants may be removed
		for t.queue.Len() > 0 && now.Sub(t.queue.Front().Value.(*waiter).since) > limit {
			g.shedOldest(t)
		}
	}
}

// releaseLocked gives the slot of t to the tenant whose turn is next. Called with mu held.
func (g *Gate) releaseLocked(t *tenant) {
	g.inFlight--
	t.inFlight--
	g.shedStale()
	for i, next := range g.turns {
		if next.queue.Len() == 0 || next.inFlight == g.cfg.PerTenant {
			continue
		}
		place := next.queue.Front()
		if time.Since(next.pressed) < calm {
			place = next.queue.Back()
		}
		next.queue.Remove(place)
		g.queued--
		g.turns = append(slices.Delete(g.turns, i, i+1), next)
		g.take(next)
		if next.queue.Len() == 0 {
			next.pressed = time.Time{}
		}
		place.Value.(*waiter).admitted <- nil
		break
	}
	g.forget(t)
}

// forget removes a tenant that has no work. Called with mu held.
func (g *Gate) forget(t *tenant) {
	if t.inFlight == 0 && t.queue.Len() == 0 && t.coming == 0 {
		delete(g.tenants, t.name)
		g.turns = slices.DeleteFunc(g.turns, func(other *tenant) bool { return other == t })
	}
}

// Idle reports whether there is no work.
func (g *Gate) Idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inFlight == 0 && g.queued == 0 && g.coming == 0
}

// Stats returns the counts and the present load of the gate.
func (g *Gate) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Stats{InFlight: g.inFlight, Queued: g.queued, Shed: g.shed, Abandoned: g.abandoned}
}
