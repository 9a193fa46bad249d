package store

import (
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
	Seq     uint64 // of the commit: all events of a commit share it
	Last    bool   // the last event of its commit
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
	mu     sync.Mutex
	next   uint64
	sinks  map[uint64]func(ChangeEvent)
}

func (h *hub) subscribe(sink func(ChangeEvent)) (cancel func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := h.next
	h.next++
	h.sinks[id] = sink
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.sinks, id)
	}
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
			h.logger.Error("event sink panicked", "panic", p, "kind", ev.Kind, "path", ev.Path, "seq", ev.Seq)
		}
	}()
	sink(ev)
}
