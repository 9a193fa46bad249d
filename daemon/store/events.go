package store

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// ChangeKind says what happened to a document (spec 2, ChangeEvent).
type ChangeKind string

// The kinds of ChangeEvent.
const (
	Created ChangeKind = "created"
	Updated ChangeKind = "updated"
	Deleted ChangeKind = "deleted"
	Renamed ChangeKind = "renamed"
)

// ChangeEvent tells of one committed mutation.
type ChangeEvent struct {
	Seq     uint64 // of the commit: all events of a commit share it; 0 when made elsewhere
	Last    bool   // the last event of its commit, or of a commit made elsewhere
	Kind    ChangeKind
	Path    string
	OldPath string // set on Renamed only
	Reason  string
	When    time.Time // UTC, the same for all events of a commit
}

// hub delivers events. Its table has its own lock and is copied before any sink
// is called, so a sink can subscribe and unsubscribe.
type hub struct {
	logger *slog.Logger
	// watch, when not nil, is where events come from. It runs while there are
	// sinks.
	watch func(ctx context.Context, sink func(ChangeEvent))
	// opening is held while watch starts, so that whoever subscribes meanwhile
	// returns no sooner than events are heard. No sink runs under it.
	opening sync.Mutex

	mu      sync.Mutex
	next    uint64
	sinks   map[uint64]func(ChangeEvent)
	unwatch context.CancelFunc // not nil while watch runs
	closed  bool
}

func (h *hub) subscribe(sink func(ChangeEvent)) (cancel func()) {
	h.mu.Lock()
	id := h.next
	h.next++
	h.sinks[id] = sink
	h.mu.Unlock()
	if h.watch != nil {
		h.open()
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.sinks, id)
		if len(h.sinks) == 0 {
			h.stopWatch()
		}
	}
}

// open starts watch unless it runs.
func (h *hub) open() {
	h.opening.Lock()
	defer h.opening.Unlock()
	h.mu.Lock()
	if h.unwatch != nil || h.closed || len(h.sinks) == 0 {
		h.mu.Unlock()
		return
	}
	ctx, unwatch := context.WithCancel(context.Background())
	h.unwatch = unwatch
	h.mu.Unlock()
	h.watch(ctx, func(ev ChangeEvent) {
		ev.Seq, ev.Last = 0, true
		if ctx.Err() == nil { // else a later watch tells of it
			h.publish([]ChangeEvent{ev})
		}
	})
}

// stopWatch needs mu.
func (h *hub) stopWatch() {
	if h.unwatch != nil {
		h.unwatch()
		h.unwatch = nil
	}
}

// close ends watch for good.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.stopWatch()
}

// publish calls the sinks there are now, in the order they subscribed, with
// each event. One that is cancelled meanwhile is called no more.
func (h *hub) publish(events []ChangeEvent) {
	h.mu.Lock()
	ids := slices.Sorted(maps.Keys(h.sinks))
	h.mu.Unlock()
	for _, ev := range events {
		for _, id := range ids {
			h.mu.Lock()
			sink, ok := h.sinks[id]
			h.mu.Unlock()
			if ok {
				h.call(sink, ev)
			}
		}
	}
}

func (h *hub) call(sink func(ChangeEvent), ev ChangeEvent) {
	defer func() {
		if p := recover(); p != nil {
			h.logger.Error("event sink panicked", "panic", p, "kind", ev.Kind, "seq", ev.Seq)
		}
	}()
	sink(ev)
}
