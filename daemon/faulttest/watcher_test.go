package faulttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"evalctl/daemon/protocol"
)

// watcher follows the changes of a brain, at one replica after the other.
type watcher struct {
	w     *world
	brain string
	rng   *rand.Rand

	mu       sync.Mutex
	segments []*segment
}

// segment is what a watcher got from one attached stream.
type segment struct {
	url string
	// head is the number of the last commit at a moment when the stream was attached, -1 if unknown:
	// all later commits belong to the segment.
	head   int64
	events []protocol.ChangeEvent
	ended  bool
	why    error
}

func newWatcher(w *world, brain string, seed uint64) *watcher {
	return &watcher{w: w, brain: brain, rng: rand.New(rand.NewPCG(seed, 77))}
}

// run follows until ctx ends.
func (v *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		urls := v.w.urls()
		v.follow(ctx, urls[v.rng.IntN(len(urls))])
		select { // the replica may be down
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (v *watcher) follow(ctx context.Context, url string) {
	s := &segment{url: url, head: -1}
	err := v.w.at(url).Brain(v.brain).Events(ctx, func() {
		v.w.counts.attached.Add(1)
		head := int64(-1)
		if v.w.truth != nil {
			head = v.w.truth.head(ctx, v.brain)
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		s.head = head
		v.segments = append(v.segments, s)
	}, func(e protocol.ChangeEvent) error {
		v.w.counts.events.Add(1)
		v.mu.Lock()
		defer v.mu.Unlock()
		s.events = append(s.events, e)
		return nil
	})
	v.mu.Lock()
	defer v.mu.Unlock()
	s.ended, s.why = true, err
}

// change is an event as the database has it, with the number of its commit.
type change struct {
	seq                       int64
	kind, path, oldPath, note string
}

func (c change) is(e protocol.ChangeEvent) bool {
	return c.kind == e.Kind && c.path == e.Path && c.oldPath == e.OldPath && c.note == e.Reason
}

func (c change) String() string {
	return fmt.Sprintf("%d %s %s%s %q", c.seq, c.kind, c.oldPath, c.path, c.note)
}

// truth is what was committed, in order.
type truth interface {
	// open begins with a brain that has no changes yet, until ctx ends.
	open(ctx context.Context, brain string) error
	// head returns the number of the last commit of a brain, -1 if it cannot be found out now.
	head(ctx context.Context, brain string) int64
	// changes returns all changes of a brain until now.
	changes(brain string) []change
}

// check compares each segment with the changes of the brain. Streams that are still attached must
// have all changes until the last one.
func (v *watcher) check(changes []change) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, s := range v.segments {
		v.w.checkSegment(fmt.Sprintf("%s, stream %d at %s", v.brain, i, s.url), s, changes)
	}
}

// behind reports whether an attached stream has not yet got the last change.
func (v *watcher) behind(changes []change) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(changes) == 0 {
		return false
	}
	for _, s := range v.segments {
		last := changes[len(changes)-1]
		if s.ended || s.head < 0 && len(s.events) == 0 || s.head >= last.seq {
			continue
		}
		if len(s.events) == 0 || !last.is(s.events[len(s.events)-1]) {
			return true
		}
	}
	return false
}

// checkSegment looks for the place of a segment among the changes.
func (w *world) checkSegment(name string, s *segment, changes []change) {
	latest := len(changes) // where the segment begins at the latest
	if s.head >= 0 {
		for latest = 0; latest < len(changes) && changes[latest].seq <= s.head; latest++ {
		}
	}
	if len(s.events) == 0 {
		if !s.ended && s.head >= 0 && latest < len(changes) {
			w.violated("%s: no event, though %v was committed while it was attached", name, changes[latest])
		}
		return
	}
	matched, missed := 0, change{}
	for start := 0; start < len(changes) && start <= latest; start++ {
		n := 0
		for n < len(s.events) && start+n < len(changes) && changes[start+n].is(s.events[n]) {
			n++
		}
		if n == len(s.events) && (s.ended || start+n == len(changes)) {
			return
		}
		if n >= matched && start+n < len(changes) {
			matched, missed = n, changes[start+n]
		}
	}
	if matched == len(s.events) {
		w.violated("%s: %d events, and then not %v, though it is attached", name, matched, missed)
		return
	}
	w.violated("%s: after %d of %d events: got %+v, want %v", name, matched, len(s.events), s.events[matched], missed)
}
