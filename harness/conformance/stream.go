package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"evalctl/daemon/protocol"
	"evalctl/internal/sse"
)

// frame is one event of a stream.
type frame struct{ id, name, data string }

func (f frame) object() (object, error) {
	var o object
	if err := json.Unmarshal([]byte(f.data), &o); err != nil || o == nil {
		return nil, fmt.Errorf("want the data of %q to be a JSON object, got %s", f.name, clip([]byte(f.data)))
	}
	return o, nil
}

// stream is an open event stream.
type stream struct {
	*response
	body   io.Closer
	events *sse.Reader
}

// attach opens an event stream. Any other answer is an error.
func (t *trial) attach(ctx context.Context, r request) (*stream, error) {
	res, err := t.target.open(ctx, r.with("Accept", protocol.TypeEvents), t.brain)
	if err != nil {
		return nil, err
	}
	head := &response{line: t.target.lineOf(r, t.brain), status: res.StatusCode, header: res.Header}
	t.remember(fmt.Sprintf("%s → %d", head.line, head.status))
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		var text bytes.Buffer
		_, _ = text.ReadFrom(io.LimitReader(res.Body, 4<<10)) // for the message only
		head.body = text.Bytes()
		return nil, fmt.Errorf("want an event stream, but %s", head)
	}
	return &stream{response: head, body: res.Body, events: sse.NewReader(res.Body, 0)}, nil
}

func (s *stream) close() { _ = s.body.Close() }

// alongside acts while s is listened to. What failed in acting counts first, and
// ends the listening, since what it waits for will not come.
func (s *stream) alongside(act, listen func() error) error {
	var acted error
	var wg sync.WaitGroup
	wg.Go(func() {
		if acted = act(); acted != nil {
			s.close()
		}
	})
	heard := listen()
	wg.Wait()
	if acted != nil {
		return acted
	}
	return heard
}

// next waits for the next frame. The end of the stream is io.EOF.
func (s *stream) next(ctx context.Context) (frame, error) {
	e, err := s.events.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return frame{}, fmt.Errorf("%s: %w", s.line, blame(ctx, err))
	}
	return frame{e.ID, e.Name, string(e.Data)}, err
}
