package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"evalctl/daemon/protocol"
	"evalctl/internal/sse"
)

// Search ranks passages.
func (b *Brain) Search(ctx context.Context, q protocol.SearchRequest) (protocol.SearchResponse, error) {
	r := request{method: http.MethodPost, path: b.path + "/search"}
	if err := r.check(
		atMost("query", q.Query, protocol.MaxSearchQuery),
		within("top_k", q.TopK, protocol.MaxSearchTopK),
	); err != nil {
		return protocol.SearchResponse{}, err
	}
	if err := r.json(q); err != nil {
		return protocol.SearchResponse{}, err
	}
	return call[protocol.SearchResponse](ctx, b.c, r)
}

// AskError is an answer that failed after it had begun.
type AskError protocol.ErrorEvent

func (e *AskError) Error() string {
	return fmt.Sprintf("ask: %s: %s", oneLine(e.Code), oneLine(e.Message))
}

// Ask streams an answer (spec 6.3). It calls emit, unless it is nil, with a
// protocol.RetrieveEvent, DeltaEvent or CitationEvent for each event as it
// comes; events of other names are skipped. An error of emit ends the answer
// and is returned. The time limit of the client does not apply.
//
// An answer that ends without done wraps io.ErrUnexpectedEOF, whatever came
// before; one that the daemon gave up is an *AskError.
func (b *Brain) Ask(ctx context.Context, q protocol.AskRequest, emit func(event any) error) (protocol.DoneEvent, error) {
	r := request{method: http.MethodPost, path: b.path + "/ask", accept: protocol.TypeEvents}
	var done protocol.DoneEvent
	if err := r.check(
		atMost("question", q.Question, protocol.MaxAskQuery),
		within("top_k", q.TopK, protocol.MaxAskTopK),
	); err != nil {
		return done, err
	}
	if err := r.json(q); err != nil {
		return done, err
	}
	if emit == nil {
		emit = func(any) error { return nil }
	}
	res, err := b.c.do(ctx, r)
	if err != nil {
		return done, err
	}
	defer res.Body.Close()
	for events := sse.NewReader(res.Body, 0); ; {
		event, err := events.Next()
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the answer ended without done: %w", io.ErrUnexpectedEOF)
		}
		if err != nil {
			return done, transportError(ctx, r, err)
		}
		if event.Name == protocol.EventDone {
			err := unmarshal(r, event, &done)
			if err == nil && !done.OK {
				err = fmt.Errorf("%s %s: the daemon says that the answer is not ok", r.method, r.path)
			}
			return done, err
		}
		if err := relay(r, event, emit); err != nil {
			return done, err
		}
	}
}

func relay(r request, event sse.Event, emit func(any) error) error {
	switch event.Name {
	case protocol.EventRetrieve:
		return relayAs[protocol.RetrieveEvent](r, event, emit)
	case protocol.EventDelta:
		return relayAs[protocol.DeltaEvent](r, event, emit)
	case protocol.EventCitation:
		return relayAs[protocol.CitationEvent](r, event, emit)
	case protocol.EventError:
		var failure AskError
		if err := unmarshal(r, event, &failure); err != nil {
			return err
		}
		return &failure
	}
	return nil
}

func relayAs[E any](r request, event sse.Event, emit func(any) error) error {
	var e E
	if err := unmarshal(r, event, &e); err != nil {
		return err
	}
	return emit(e)
}

func unmarshal(r request, event sse.Event, into any) error {
	if err := json.Unmarshal(event.Data, into); err != nil {
		return fmt.Errorf("%s %s: event %s: %w", r.method, r.path, oneLine(event.Name), err)
	}
	return nil
}
