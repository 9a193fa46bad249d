package httpapi

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/internal/sse"
)

// defaultPing is the time between two ping events (spec 8).
const defaultPing = 25 * time.Second

// watchBrain streams the changes of a brain (spec 6.1) until the client disconnects or does not
// keep up, its key ends or changes, the brain is deleted, or the daemon stops.
func (a *API) watchBrain(w http.ResponseWriter, r *http.Request) error {
	// The store is open, and stays so because the request holds the brain.
	if a.stopped() {
		return errShuttingDown
	}
	if r.Method == http.MethodHead { // the pattern GET also matches it
		w.Header().Set("Content-Type", protocol.TypeEvents)
		w.Header().Set("Cache-Control", "no-cache")
		sse.Unbuffered(w.Header())
		w.WriteHeader(http.StatusOK)
		return nil
	}
	rc := http.NewResponseController(w)
	l := newListener(func() {
		// Unblocks the sending of a frame to a client that does not read.
		_ = rc.SetWriteDeadline(time.Now().Add(lastFrameTimeout))
	})
	h := brainOf(r)
	// So that commits of other replicas from before the stream are not delivered to it.
	if err := h.Sync(r.Context()); err != nil {
		return err
	}
	defer a.feeds.attach(h, l)()
	// The client may attach again with the key's new rights.
	defer requestOf(r).caller.whenEnded(func() { l.end(errKeyEnded) })()
	// A later deletion of the brain ends the listener. An earlier one is found here.
	if err := h.Err(); err != nil {
		return err
	}
	events, err := sse.NewWriter(w, frameTimeout)
	if err != nil {
		return err
	}
	err = a.streamEvents(r.Context(), events, l)
	switch cause := l.ended(); {
	case errors.Is(cause, errTooSlow), cause == nil && errors.Is(err, os.ErrDeadlineExceeded):
		a.slowClients.Add(1)
		return errTooSlow
	case cause != nil, r.Context().Err() != nil:
		return nil // the client sees the end of the stream
	}
	return err
}

// streamEvents sends events until the listener is ended or the client has disconnected. It sends
// waiting changes together, so that a batch needs few writes per stream.
func (a *API) streamEvents(ctx context.Context, events *sse.Writer, l *listener) error {
	id := uint64(0)
	event := func(name string, data []byte) sse.Event {
		id++
		return sse.Event{ID: strconv.FormatUint(id, 10), Name: name, Data: data}
	}
	if err := events.Send(event(protocol.EventReady, []byte(protocol.ReadyData))); err != nil {
		return err
	}
	ping := time.NewTicker(a.ping)
	defer ping.Stop()
	always := make(chan struct{})
	close(always)
	for {
		changes, err := l.next()
		if err != nil {
			return err
		}
		next := l.wake
		if len(changes) > 0 {
			frames := make([]sse.Event, len(changes))
			for i, change := range changes {
				frames[i] = event(protocol.EventChange, change)
			}
			if err := events.Send(frames...); err != nil {
				return err
			}
			next = always // so that pings are sent even while changes are waiting
		}
		select {
		case <-next:
		case <-ping.C:
			if err := events.Send(event(protocol.EventPing, []byte(protocol.PingData))); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
