package mcpserver

import (
	"encoding/json"
	"errors"
	"io"

	"evalctl/daemon/protocol"
	"evalctl/internal/jsonobj"
	"evalctl/internal/printable"
	"evalctl/internal/sse"
)

// translateEvents returns an event stream with the names of the protocol. It ends with the error of
// body, and closing it closes body.
func translateEvents(body io.ReadCloser) io.ReadCloser {
	return &eventTranslator{body: body, events: sse.NewReader(body, 0)}
}

// eventTranslator reads one event at a time, so that none waits for the next.
type eventTranslator struct {
	body   io.ReadCloser
	events *sse.Reader
	pieces jsonobj.Pieces
	frame  []byte // unread part of the current event
}

func (t *eventTranslator) Read(p []byte) (int, error) {
	for len(t.frame) == 0 {
		event, err := t.events.Next()
		if err != nil {
			return 0, err
		}
		name, data, err := translateEvent(event.Name, event.Data, &t.pieces)
		if err != nil {
			return 0, err
		}
		t.frame = t.frame[:0]
		if name != protocol.EventDelta {
			if rest := t.pieces.Rest(); rest != "" {
				encoded, err := json.Marshal(protocol.DeltaEvent{Delta: rest})
				if err != nil {
					return 0, err
				}
				t.add(protocol.EventDelta, encoded)
			}
		}
		t.add(name, data)
	}
	n := copy(p, t.frame)
	t.frame = t.frame[n:]
	return n, nil
}

func (t *eventTranslator) add(name string, data []byte) {
	t.frame = append(t.frame, "event: "+name+"\ndata: "...)
	t.frame = append(append(t.frame, data...), "\n\n"...)
}

func (t *eventTranslator) Close() error { return t.body.Close() }

// translateEvent returns the name and the JSON of an event. Other data is encoded as a string,
// which is one line. pieces has the part of a character that earlier deltas ended with.
func translateEvent(name string, data []byte, pieces *jsonobj.Pieces) (string, []byte, error) {
	var payload map[string]any
	if json.Unmarshal(data, &payload) != nil || payload == nil {
		encoded, err := json.Marshal(string(data))
		return name, encoded, err
	}
	rename(payload)
	switch name {
	case protocol.EventRetrieve:
		previews(payload)
	case "token":
		name = protocol.EventDelta
		fallthrough
	case protocol.EventDelta:
		for _, key := range []string{"text", "content", "token"} {
			if _, ok := payload["delta"].(string); !ok {
				payload["delta"] = payload[key]
			}
		}
		if _, ok := payload["delta"].(string); !ok {
			return "", nil, errors.New("the event answer_delta has no text")
		}
		if o, err := jsonobj.Parse(data); err == nil {
			payload["delta"] = pieces.Next(o.First("delta", "text", "content", "token"))
		}
	case protocol.EventCitation:
		payload["type"] = protocol.EventCitation
	case protocol.EventDone:
		if payload["ok"] == nil { // optional, see docs/wire.md
			payload["ok"] = true
		}
	case protocol.EventError:
		if code, _ := payload["code"].(string); code == "" {
			payload["code"] = protocol.CodeInternal
		}
	}
	encoded, err := json.Marshal(payload)
	return name, encoded, err
}

// previews gives the chunks of a retrieve event a preview.
func previews(payload map[string]any) {
	chunks, _ := payload["chunks"].([]any)
	for _, item := range chunks {
		chunk, ok := item.(map[string]any)
		if !ok {
			continue
		}
		for _, name := range []string{"text", "content", "summary"} {
			preview, _ := chunk["preview"].(string)
			if text, _ := chunk[name].(string); preview == "" {
				chunk["preview"] = printable.First(text, protocol.MaxPreviewChars)
			}
		}
	}
}
