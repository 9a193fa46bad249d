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
	// frameTimeout is how long a client may take to read a frame before its stream ends.
	frameTimeout = 30 * time.Second
	// lastFrameTimeout applies to the error event, and, when the daemon stops, to a frame that is
	// being sent.
	lastFrameTimeout = 200 * time.Millisecond
)

// ask streams an answer. A failure before the first event is a Problem. A later one is an error
// event, which ends the stream without done.
func (a *API) ask(w http.ResponseWriter, r *http.Request) error {
	var body protocol.AskRequest
	also := aliases{"query": "question"}
	if err := decodeQuestion(w, r, also, protocol.MaxAskTopK, &body); err != nil {
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
		// Unblocks the sending of a frame to a client that does not read.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(lastFrameTimeout))
	})
	s := &askStream{w: w}
	err := a.memory.Ask(ctx, h, body, func(name string, payload any) error {
		if ctx.Err() != nil { // the reader may notice the end later
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
	if err != nil && s.events != nil && !s.broken && r.Context().Err() == nil {
		o := outcomeOf(err)
		err = errors.Join(err, s.last(protocol.EventError, protocol.ErrorEvent{
			Code: o.code, Message: o.detail(err, requestOf(r).id), Retryable: o.retryable,
		}))
	}
	return err
}

// askStream begins the event stream with its first event. Until then, the response can still be a
// Problem.
type askStream struct {
	w      http.ResponseWriter
	events *sse.Writer
	broken bool // the last event was not sent
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

// last sends the last event of a stream, with a shorter time limit.
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
