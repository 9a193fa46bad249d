package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"evalctl/daemon/protocol"
	"evalctl/internal/intake"
	"evalctl/internal/jsonobj"
	"evalctl/internal/sse"
)

// Search returns the passages that match a query best. Requests above the limits of spec 8 are not
// sent.
func (b *Brain) Search(
	ctx context.Context, q protocol.SearchRequest,
) (protocol.SearchResponse, error) {
	r := request{method: http.MethodPost, path: b.path + "/search"}
	r.check(
		limitChars("query", q.Query, protocol.MaxSearchQuery),
		limitNumber("top_k", q.TopK, protocol.MaxSearchTopK),
	)
	r.json(q)
	return call[protocol.SearchResponse](ctx, b.c, r)
}

// AskError is the failure of an answer that had begun.
type AskError protocol.ErrorEvent

func (e *AskError) Error() string {
	return fmt.Sprintf("ask: %s: %s", oneLine(e.Code), oneLine(e.Message))
}

// Ask streams an answer (spec 6.3). It calls emit, unless that is nil, with a
// protocol.RetrieveEvent, DeltaEvent or CitationEvent for each event as it arrives, and ignores
// events of other names. An error of emit ends the answer and is returned. Options.Timeout does not
// apply.
//
// The error wraps io.ErrUnexpectedEOF if the stream ends without done, and is an *AskError if the
// daemon sent an error event.
func (b *Brain) Ask(
	ctx context.Context, q protocol.AskRequest, emit func(event any) error,
) (protocol.DoneEvent, error) {
	r := request{method: http.MethodPost, path: b.path + "/ask", accept: protocol.TypeEvents}
	var done protocol.DoneEvent
	r.check(
		limitChars("question", q.Question, protocol.MaxAskQuery),
		limitNumber("top_k", q.TopK, protocol.MaxAskTopK),
	)
	r.json(q)
	if emit == nil {
		emit = func(any) error { return nil }
	}
	res, err := b.c.do(ctx, r)
	if err != nil {
		return done, err
	}
	defer res.Body.Close()
	body := intake.NewReader(ctx, io.NopCloser(res.Body), intake.Largest)
	defer body.Close()
	var pieces jsonobj.Pieces
	for events := sse.NewReader(body, 0); ; {
		event, err := events.Next()
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the answer ended without done: %w", io.ErrUnexpectedEOF)
		}
		if err != nil {
			return done, transportError(ctx, r, err)
		}
		if event.Name == protocol.EventDelta {
			if err := relayDelta(r, event, &pieces, emit); err != nil {
				return done, err
			}
			continue
		}
		if rest := pieces.Rest(); rest != "" {
			if err := emit(protocol.DeltaEvent{Delta: rest}); err != nil {
				return done, err
			}
		}
		if event.Name == protocol.EventDone {
			err := unmarshal(r, event, &done)
			if err == nil && !done.OK {
				err = fmt.Errorf("%s %s: the event done has ok false", r.method, r.path)
			}
			return done, err
		}
		if err := relay(r, event, emit); err != nil {
			return done, err
		}
	}
}

// relay calls emit with the payload of an event. An error event is an *AskError.
func relay(r request, event sse.Event, emit func(any) error) error {
	switch event.Name {
	case protocol.EventRetrieve:
		return relayAs[protocol.RetrieveEvent](r, event, emit)
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

// relayDelta calls emit with the next text of the answer. pieces has the part of its first
// character that earlier deltas ended with.
func relayDelta(r request, event sse.Event, pieces *jsonobj.Pieces, emit func(any) error) error {
	var e struct {
		Delta json.RawMessage `json:"delta"`
	}
	if err := unmarshal(r, event, &e); err != nil {
		return err
	}
	if whole, ok := jsonobj.String(e.Delta); !ok || whole == "" {
		return relayAs[protocol.DeltaEvent](r, event, emit) // it has the error
	}
	text := pieces.Next(e.Delta)
	if text == "" {
		return nil
	}
	return emit(protocol.DeltaEvent{Delta: text})
}

func relayAs[E any](r request, event sse.Event, emit func(any) error) error {
	var e E
	if err := unmarshal(r, event, &e); err != nil {
		return err
	}
	return emit(e)
}

func unmarshal(r request, event sse.Event, into any) error {
	_, err := jsonobj.Bound(event.Data, jsonobj.MaxDecoded)
	if err == nil {
		err = json.Unmarshal(event.Data, into)
	}
	if err != nil {
		return fmt.Errorf("%s %s: event %s: %w", r.method, r.path, oneLine(event.Name), err)
	}
	return nil
}
