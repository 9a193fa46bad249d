package httpapi

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/internal/sse"
)

const (
	// frameTimeout ends a stream whose client stopped reading.
	frameTimeout = 30 * time.Second
	// lastFrameTimeout is all that such a client gets for the error event, and
	// for the frame it is stuck at when the daemon stops.
	lastFrameTimeout = 200 * time.Millisecond
)

// ask streams an answer. Until the first event, failures are Problems; after
// it they are an error event, and the stream ends without done.
func (a *API) ask(w http.ResponseWriter, r *http.Request) error {
	var body protocol.AskRequest
	if err := decodeQuestion(w, r, aliases{"query": "question"}, protocol.MaxAskTopK, &body); err != nil {
		return err
	}
	h := brainOf(r)
	ctx, cancel := context.WithCancelCause(r.Context())
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	watch.Go(func() {
		select {
		case <-a.stopping:
			cancel(errShuttingDown)
		case <-h.Done():
			cancel(h.Err())
		case <-ctx.Done():
			return
		}
		// Frees a frame that is stuck at a client that does not read.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(lastFrameTimeout))
	})
	s := &askStream{w: w}
	err := a.memory.Ask(ctx, h, body, func(name string, payload any) error {
		if ctx.Err() != nil { // a reader may be slow to notice
			return context.Cause(ctx)
		}
		if e, ok := payload.(protocol.RetrieveEvent); ok {
			a.metrics.searched(e.EffectiveMode, e.Degraded)
		}
		return s.emit(name, payload)
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil && s.events != nil && !s.broken && !errors.Is(err, context.Canceled) {
		o := outcomeOf(err)
		err = errors.Join(err, s.last(protocol.EventError, protocol.ErrorEvent{
			Code: o.code, Message: o.detail(err, w.Header().Get(requestIDHeader)), Retryable: o.retryable,
		}))
	}
	return err
}

// askStream starts the event stream with its first event.
type askStream struct {
	w      http.ResponseWriter
	events *sse.Writer
	broken bool
}

func (s *askStream) emit(name string, payload any) error {
	if s.events == nil {
		events, err := sse.NewWriter(s.w, frameTimeout)
		if err != nil {
			return err
		}
		s.events = events
	}
	err := send(s.events, name, payload)
	s.broken = err != nil
	return err
}

// last goes on with the stream under a shorter time limit.
func (s *askStream) last(name string, payload any) error {
	events, err := sse.NewWriter(s.w, lastFrameTimeout)
	if err != nil {
		return err
	}
	return send(events, name, payload)
}

func send(events *sse.Writer, name string, payload any) error {
	return events.Send(sse.Event{Name: name, Data: bytes.TrimRight(encode(payload), "\n")})
}
