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
	"evalctl/internal/httpclient"
	"evalctl/internal/sse"
)

// frame is one event of a stream.
type frame struct{ id, name, data string }

func (f frame) object() (object, error) {
	var o object
	if err := json.Unmarshal([]byte(f.data), &o); err != nil || o == nil {
		return nil, fmt.Errorf("want the data of %q to be a JSON object, got %s", f.name, excerpt([]byte(f.data)))
	}
	return o, nil
}

// stream is an open event stream.
type stream struct {
	*response
	body   io.Closer
	events *sse.Reader
}

// openStream opens an event stream. A status other than 200 is an error.
func (c *client) openStream(ctx context.Context, r request) (*stream, error) {
	res, err := c.target.open(ctx, r.withHeader("Accept", protocol.TypeEvents), c.brain)
	if err != nil {
		return nil, err
	}
	head := &response{request: c.target.describe(r, c.brain), status: res.StatusCode, header: res.Header}
	c.remember(head.summary())
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		var text bytes.Buffer
		_, _ = text.ReadFrom(io.LimitReader(res.Body, 4<<10)) // only for the message
		head.body = text.Bytes()
		return nil, fmt.Errorf("want an event stream, but %s", head)
	}
	return &stream{response: head, body: res.Body, events: sse.NewReader(res.Body, 0)}, nil
}

func (s *stream) close() { _ = s.body.Close() }

// whileListening runs act and listen concurrently. An error of act takes precedence, and closes the
// stream, because the events that listen waits for will not come.
func (s *stream) whileListening(act, listen func() error) error {
	var actErr error
	var wg sync.WaitGroup
	wg.Go(func() {
		if actErr = act(); actErr != nil {
			s.close()
		}
	})
	listenErr := listen()
	wg.Wait()
	if actErr != nil {
		return actErr
	}
	return listenErr
}

// next waits for the next frame. It returns io.EOF at the end of the stream.
func (s *stream) next(ctx context.Context) (frame, error) {
	e, err := s.events.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return frame{}, fmt.Errorf("%s: %w", s.request, httpclient.Cause(ctx, err))
	}
	return frame{e.ID, e.Name, string(e.Data)}, err
}
