package store

import (
	"context"
	"slices"
	"sync"
	"time"
)

// grouper is implemented by backends to which a commit of several operations costs little more than
// a commit of one, such as those that mostly wait for the disk.
type grouper interface {
	// Groups marks the backend: single mutations that wait for each other become one Commit.
	Groups()
}

const (
	// maxGroupBytes limits the content of a group, apart from its first mutation.
	maxGroupBytes = 4 << 20
	// maxGroupWait is the longest time that a group is kept open for callers who may come back.
	maxGroupWait = 2 * time.Millisecond
	// callersFor is how long after a commit its callers are expected to come back.
	callersFor = 100 * time.Millisecond
)

// group collects mutations that are committed together. The caller with the write lock commits all
// mutations that wait by then.
type group struct {
	mu      sync.Mutex
	waiting []*member
	want    int           // full is closed once as many wait; 0: nobody is waiting for them
	full    chan struct{} // see want
	// callers estimates the number of callers: the callers of the last commit, and those who waited
	// when it ended. took is the duration of that commit, and at its end.
	callers int
	took    time.Duration
	at      time.Time
}

// member is a single mutation in a group.
type member struct {
	ctx  context.Context
	op   Op
	done chan struct{} // closed when err is set
	err  error
	// stalls is how many mutations had stalled when it began to wait, see lockWrites.
	stalls uint64
}

// mutateGrouped is mutate on a backend with groups.
func (s *Store) mutateGrouped(ctx context.Context, op Op) error {
	m := &member{ctx: ctx, op: op, done: make(chan struct{}), stalls: s.stalls.Load()}
	s.group.join(m)
	for {
		select {
		case <-m.done:
			return m.err
		case s.writeLock <- struct{}{}:
			s.commitWaiting(m)
		case <-ctx.Done():
			if s.group.leave(m) {
				return ctx.Err()
			}
			<-m.done // its commit has begun, so the outcome is needed
			return m.err
		}
	}
}

func (g *group) join(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, m)
	if g.want > 0 && len(g.waiting) >= g.want {
		close(g.full)
		g.want = 0
	}
}

// leave removes a mutation if it still waits.
func (g *group) leave(m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, m)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// commitWaiting commits the waiting mutations, unless m was committed meanwhile. The caller holds
// the write lock, which commitWaiting releases.
func (s *Store) commitWaiting(m *member) {
	defer func() { <-s.writeLock }()
	select {
	case <-m.done:
		return
	default:
	}
	s.group.gather()
	members := s.group.take()
	begun := time.Now()
	if current := s.notStalled(members); len(current) > 0 {
		s.commitMembers(current)
	}
	s.group.ended(len(members), time.Since(begun))
	for _, m := range members {
		close(m.done)
	}
}

// notStalled returns the mutations without those that have waited for one that stalled, which fail.
func (s *Store) notStalled(members []*member) []*member {
	stalls := s.stalls.Load()
	return slices.DeleteFunc(slices.Clone(members), func(m *member) bool {
		if m.stalls != stalls {
			m.err = errStalled
		}
		return m.stalls != stalls
	})
}

// gather waits for the callers of the last commit, which often come back at once with another
// mutation. Without gather they would miss this commit by a moment and wait for all of it. The wait
// is short compared with a commit. A caller who is alone does not wait.
func (g *group) gather() {
	g.mu.Lock()
	if time.Since(g.at) > callersFor || len(g.waiting) >= g.callers {
		g.mu.Unlock()
		return
	}
	full := make(chan struct{})
	g.want, g.full = g.callers, full
	timeout := time.NewTimer(min(g.took/2, maxGroupWait))
	g.mu.Unlock()
	defer timeout.Stop()
	select {
	case <-full:
	case <-timeout.C:
	}
}

// take removes the next group from the waiting mutations.
func (g *group) take() []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.want = 0
	size, n := 0, 0
	for n < len(g.waiting) {
		size += len(g.waiting[n].op.Data)
		if n > 0 && size > maxGroupBytes {
			break
		}
		n++
	}
	members := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	return members
}

// callersNow returns how many callers there seem to be.
func (g *group) callersNow() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.at) > callersFor {
		return len(g.waiting)
	}
	return max(g.callers, len(g.waiting))
}

func (g *group) ended(members int, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.callers, g.took, g.at = members+len(g.waiting), took, time.Now()
}

// commitMembers makes mutations in one commit, each with its own number and outcome. The caller
// holds the write lock.
func (s *Store) commitMembers(members []*member) {
	if s.feed != nil {
		s.mutateMembers(members)
		return
	}
	err := s.commitTogether(members)
	if err == nil {
		return
	}
	for _, m := range members {
		m.err = err
		if len(members) > 1 { // one of them may be the reason
			m.err = s.mutatePlanned(m.ctx, m.op)
		}
	}
}

// commitTogether sets the outcome of the mutations unless the commit fails, which changes nothing.
func (s *Store) commitTogether(members []*member) error {
	j := newJournal(s.gate, s.now)
	var events []ChangeEvent
	for _, m := range members {
		ev, err := j.apply(m.ctx, m.op)
		if m.err = err; err == nil {
			events = append(events, ev)
		}
	}
	if len(events) == 0 {
		return nil
	}
	ops, _ := j.merged()
	c := Commit{Ops: ops, When: timestamp(s.now), Alone: len(members) == 1 && s.group.callersNow() <= 1}
	if len(ops) > 0 {
		if err := s.gate.commit(context.Background(), c); err != nil {
			return err
		}
	}
	for i := range events {
		s.publish(events[i:i+1], "", c.When)
	}
	return nil
}
