package pgstore

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// parallel is how many groups are in flight under load, in addition to the one that is being
// collected. Each keeps a processor of the server busy, which is assumed to have as many as this
// machine. Half of them are for everything else.
var parallel = max(1, runtime.GOMAXPROCS(0)/2)

const (
	// maxGroups is how many groups are committed at the same time, apart from slow ones.
	maxGroups = 8
	// maxGroupSize limits the operations of a group, maxGroupBytes their content.
	maxGroupSize  = 32
	maxGroupBytes = 256 << 10
	// slowAfter is when the others no longer wait for a group.
	slowAfter = 10 * time.Millisecond
)

// groups commits operations. Operations on different brains that arrive while others are being
// committed share a transaction. Most of the cost of a small one is the round trip, the start of
// statements and the commit. Each keeps its own commit number, and its own outcome if the
// connection is lost.
type groups struct {
	mu       sync.Mutex
	waiting  []*member
	running  int // groups in flight
	inFlight int // operations of these
}

// member is an operation of a group.
type member struct {
	*mutation
	done chan struct{} // closed when the fields below are set
	// apart is set if the operation must be committed alone: its brain is locked, or the group has
	// failed and this operation may be the reason.
	apart bool
	err   error
}

// commit commits an operation.
func (g *groups) commit(ctx context.Context, op *mutation) error {
	if len(op.op.Data) > maxGroupBytes {
		return op.commit(ctx)
	}
	g.mu.Lock()
	if g.inFlight == 0 {
		f := g.begin(1)
		g.mu.Unlock()
		defer g.end(f)
		return op.commit(ctx)
	}
	m := &member{mutation: op, done: make(chan struct{})}
	g.waiting = append(g.waiting, m)
	g.start()
	g.mu.Unlock()
	if err := g.wait(ctx, m); err != nil {
		return err
	}
	if m.apart {
		return op.commit(ctx)
	}
	return m.err
}

// wait returns when the group of an operation has ended, or with an error if it has not begun.
func (g *groups) wait(ctx context.Context, m *member) (err error) {
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(acquireWithin):
		err = errNoConnection(nil)
	}
	if g.leave(m) {
		return err
	}
	<-m.done // the outcome is needed
	return nil
}

// leave removes an operation if it still waits.
func (g *groups) leave(m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, m)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// start commits the waiting operations once they are many enough compared with those in flight. So
// groups grow with the load, and an operation seldom waits longer than a commit takes. The caller
// holds the lock.
func (g *groups) start() {
	for g.running < maxGroups && len(g.waiting) > 0 && len(g.waiting)*parallel >= g.inFlight {
		group := g.take()
		f := g.begin(len(group))
		go func() {
			commitGroup(group)
			// Those who go on with another operation at once may come into the next group.
			runtime.Gosched()
			g.end(f)
		}()
	}
}

// flight is a group that is being committed.
type flight struct {
	size  int
	slow  *time.Timer
	ended bool // or slow
}

// begin requires the lock.
func (g *groups) begin(size int) *flight {
	f := &flight{size: size}
	g.running++
	g.inFlight += size
	f.slow = time.AfterFunc(slowAfter, func() { g.end(f) })
	return f
}

// end starts the operations that have waited for a group, which has been committed or is slow.
func (g *groups) end(f *flight) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.ended {
		return
	}
	f.slow.Stop()
	f.ended = true
	g.running--
	g.inFlight -= f.size
	g.start()
}

// take removes the next group from the waiting operations. It has at most one operation of a brain.
func (g *groups) take() []*member {
	var group, later []*member
	brains := map[int64]bool{}
	size := 0
	for i, m := range g.waiting {
		size += len(m.op.Data)
		if len(group) == maxGroupSize || len(group) > 0 && size > maxGroupBytes {
			later = append(later, g.waiting[i:]...)
			break
		}
		if brains[m.b.brain] {
			later = append(later, m)
			continue
		}
		brains[m.b.brain] = true
		group = append(group, m)
	}
	g.waiting = later
	return group
}

// commitGroup commits operations on different brains in one transaction, which does not wait for
// locks.
func commitGroup(group []*member) {
	committed, err := tryGroup(group)
	for i, m := range group {
		m.err = err
		m.apart = err == nil && !committed[i] || err != nil && len(group) > 1 && m.sent && !unclear(err)
		close(m.done)
	}
}

// tryGroup reports which operations have a result, possibly an empty one.
func tryGroup(group []*member) (committed []bool, err error) {
	db := group[0].b.db
	conn, err := db.acquire(context.Background())
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	ctx, cancel := limit(context.Background())
	defer cancel()
	for _, m := range group {
		m.sent = true
	}
	rows, err := conn.Query(ctx, `SELECT place, number, event
		FROM evalctl.mutate_group($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, arrays(group)...)
	if err != nil {
		return nil, err
	}
	type result struct {
		Place  int
		Number *int64
		Event  *string
	}
	results, err := pgx.CollectRows(rows, pgx.RowToStructByPos[result])
	if err != nil {
		return nil, err
	}
	committed = make([]bool, len(group))
	for _, r := range results {
		committed[r.Place-1] = true
		group[r.Place-1].committed(r.Number, r.Event)
	}
	return committed, nil
}

// arrays returns the parameters of the function mutate_group.
func arrays(group []*member) []any {
	n := len(group)
	brains, fences, times := make([]int64, n), make([]int64, n), make([]int64, n)
	kinds, paths := make([]string, n), make([]string, n)
	first, last := make([]int32, n), make([]int32, n)
	contents, ids := make([][]byte, n), make([]commitID, n)
	dirs := []string{}
	for i, m := range group {
		brains[i], fences[i], times[i] = m.b.brain, m.b.fence.Load(), m.when.UnixNano()
		kinds[i], paths[i] = string(m.op.Kind), m.op.Path
		contents[i], ids[i] = m.op.Data, m.id
		first[i] = int32(len(dirs) + 1)
		dirs = append(dirs, above(m.op.Path)...)
		last[i] = int32(len(dirs))
	}
	return []any{brains, fences, kinds, paths, first, last, dirs, contents, times, ids}
}
