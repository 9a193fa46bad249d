package store

import "log/slog"

// Relay delivers the events of stores that replace each other to the same sinks. Publish is the
// sink to subscribe to each of the stores.
type Relay struct{ hub *hub }

// NewRelay returns a relay without sinks. The logger receives sinks that panic.
func NewRelay(logger *slog.Logger) *Relay {
	return &Relay{&hub{logger: logger, sinks: map[uint64]func(ChangeEvent){}}}
}

// Subscribe registers a sink for later events, as Store.Subscribe does.
func (r *Relay) Subscribe(sink func(ChangeEvent)) (cancel func()) { return r.hub.subscribe(sink) }

// Publish calls the sinks in the order of their subscription. A sink that panics is logged
// and skipped.
func (r *Relay) Publish(ev ChangeEvent) { r.hub.publish([]ChangeEvent{ev}) }
