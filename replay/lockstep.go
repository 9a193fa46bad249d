package replay

import (
	"context"
	"sync"

	"evalctl/harness/pipeline"
)

// lockstep keeps several arms at the same question: no arm asks a question before every other arm
// has asked the previous ones. Changes over time, such as the load of a model's provider, then
// affect all arms alike. It is safe for concurrent use.
type lockstep struct {
	mu      sync.Mutex
	at      map[string]int  // the question that an arm asks or waits to ask, by arm
	asked   map[string]bool // the arms that have asked a question, also those that have left
	changed chan struct{}   // closed and replaced by each change of at
}

// newLockstep returns a lockstep for arms that have asked no question yet. Each arm must leave.
func newLockstep(arms []string) *lockstep {
	l := &lockstep{at: map[string]int{}, asked: map[string]bool{}, changed: make(chan struct{})}
	for _, a := range arms {
		l.at[a] = -1
	}
	return l
}

// turn waits until no arm is behind question i, or returns the cause of ctx. An arm's questions
// must ascend but may skip some.
func (l *lockstep) turn(ctx context.Context, arm string, i int) error {
	l.mu.Lock()
	l.at[arm], l.asked[arm] = i, true
	l.signal()
	for l.behind(i) {
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		l.mu.Lock()
	}
	l.mu.Unlock()
	return nil
}

// hasAsked reports whether an arm has asked a question.
func (l *lockstep) hasAsked(arm string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked[arm]
}

// leave removes an arm, so that the others no longer wait for it.
func (l *lockstep) leave(arm string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.at, arm)
	l.signal()
}

// signal wakes the waiting arms. l.mu must be held.
func (l *lockstep) signal() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// behind reports whether any arm is before question i. l.mu must be held.
func (l *lockstep) behind(i int) bool {
	for _, at := range l.at {
		if at < i {
			return true
		}
	}
	return false
}

// pace is the pipeline.Pace of an arm in a lockstep.
type pace struct {
	lockstep *lockstep
	arm      string
}

// Turn implements pipeline.Pace.
func (p pace) Turn(ctx context.Context, j pipeline.Job) error {
	return p.lockstep.turn(ctx, p.arm, j.Index)
}
