package store

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// ChangeKind is the kind of change to a document (spec 2, ChangeEvent).
type ChangeKind string

// The kinds of ChangeEvent.
const (
	Created ChangeKind = "created"
	Updated ChangeKind = "updated"
	Deleted ChangeKind = "deleted"
	Renamed ChangeKind = "renamed"
)

// ChangeEvent describes one committed mutation.
type ChangeEvent struct {
	Seq     uint64 // number of the commit, shared by all its events; 0 from httpstore
	Last    bool   // the last event of its commit; always true from httpstore
	Kind    ChangeKind
	Path    string
	OldPath string // set on Renamed only
	Reason  string
	When    time.Time // UTC, the same for all events of a commit
}

// hub delivers events. The lock on the table of sinks is not held while a sink runs, so a sink can
// subscribe and unsubscribe.
type hub struct {
	logger *slog.Logger
	// watch, if not nil, is the source of events. It runs while there are sinks.
	watch func(ctx context.Context, sink func(ChangeEvent))
	// opening is held while watch starts, so that no concurrent subscribe returns before watch
	// receives events. No sink runs while it is held.
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

// open starts watch unless it is running.
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
		if ctx.Err() == nil { // otherwise a later watch may deliver the event too
			h.publish([]ChangeEvent{ev})
		}
	})
}

// stopWatch requires that mu is held.
func (h *hub) stopWatch() {
	if h.unwatch != nil {
		h.unwatch()
		h.unwatch = nil
	}
}

// close stops watch permanently.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.stopWatch()
}

// publish calls the current sinks with each event, in the order of their subscription. It skips a
// sink that was cancelled in the meantime.
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
