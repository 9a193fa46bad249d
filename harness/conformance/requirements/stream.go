package requirements

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/internal/httpclient"
	"evalctl/internal/sse"
)

// silence is how long a change stream may send nothing although a frame is due.
const silence = 10 * time.Second

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
	body    *bodyReader
	events  *sse.Reader
	ready   frame            // of a change stream, once it has come
	skips   func(frame) bool // reports whether a frame is left out; nil for none
	endless bool             // only the client ends it
	frames  int              // that came
	closed  atomic.Bool      // by the client

	patience func(fast time.Duration) time.Duration // of the target
	silence  time.Duration                          // how long it may last although a frame is due
}

// bodyReader records how a body ended: a body ended by the daemon may be judged, one that was cut
// off may not.
type bodyReader struct {
	io.ReadCloser
	err error
}

func (b *bodyReader) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	if err != nil {
		b.err = err
	}
	return n, err
}

// openStream opens an event stream. If the status is not 200, the stream has a body and no events.
func (c *client) openStream(ctx context.Context, r request) (*stream, error) {
	res, err := c.target.open(ctx, r.withHeader("Accept", protocol.TypeEvents), c.brain)
	if err != nil {
		return nil, err
	}
	head := &response{request: c.target.describe(r, c.brain), status: res.StatusCode, header: res.Header}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		var text bytes.Buffer
		_, _ = text.ReadFrom(io.LimitReader(res.Body, 4<<10)) // only for the message
		head.body = text.Bytes()
	}
	head.seen = c.target.exchange(r, c.brain).answered(head)
	c.target.routes.count(head.seen)
	c.remember(head.seen)
	if err := head.withinRate(); err != nil {
		return nil, err
	}
	body := &bodyReader{ReadCloser: res.Body}
	s := &stream{response: head, body: body, events: sse.NewReader(body, 0), endless: r.streaming, patience: c.target.patience,
		silence: c.target.within(silence)}
	if !r.verbatim && !r.unfiltered {
		s.skips = func(f frame) bool { return c.target.quirks.isOwnEvent(f, c.brain, s.seen) }
	}
	return s, nil
}

// verifyOpen is for checks of a stream's events rather than its status. If the daemon lacks the
// endpoint or fails, its events cannot be judged.
func (s *stream) verifyOpen() error {
	if s.status == http.StatusNotFound {
		return unjudgedError{ReasonObserve, fmt.Errorf("there is no event stream: %s", s)}
	}
	return s.verify(0, unobservable, hasStatus(http.StatusOK))
}

// isOpen is verifyOpen as an assertion.
func (s *stream) isOpen(*response) error { return s.verifyOpen() }

// withStream opens an event stream and passes it to use.
func withStream(r request, use func(ctx context.Context, c *client, s *stream) error) step {
	return withOpened((*client).openStream, r, use)
}

func withOpened(
	open func(*client, context.Context, request) (*stream, error), r request,
	use func(ctx context.Context, c *client, s *stream) error,
) step {
	return func(ctx context.Context, c *client) error {
		s, err := open(c, ctx, r)
		if err != nil {
			return err
		}
		defer s.close()
		return use(ctx, c, s)
	}
}

// expectStream opens an event stream and checks the head of the response.
func expectStream(r request, judge func(*stream) error) step {
	return withStream(r, func(_ context.Context, _ *client, s *stream) error { return judge(s) })
}

// with returns the stream's exchange with received frames.
func (s *stream) with(frames []frame) *exchange {
	var b strings.Builder
	for _, f := range frames {
		for _, line := range [][2]string{{"id", f.id}, {"event", f.name}, {"data", f.data}} {
			if line[1] != "" {
				fmt.Fprintf(&b, "%s: %s\n", line[0], line[1])
			}
		}
		b.WriteString("\n")
		if b.Len() > 2*responseBytes {
			break
		}
	}
	return s.seen.answered(&response{status: s.status, header: s.header, body: []byte(strings.TrimSpace(b.String()))})
}

func (s *stream) close() {
	s.closed.Store(true)
	_ = s.body.Close()
}

// whileListening runs act and listen concurrently. An error of act takes precedence and closes the
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

// nextWithin waits for a frame that the daemon must send by itself. A missing frame is a
// contradiction.
func (s *stream) nextWithin(ctx context.Context, limit time.Duration) (frame, error) {
	var late atomic.Bool
	timer := time.AfterFunc(limit, func() { late.Store(true); s.close() })
	defer timer.Stop()
	f, err := s.next(ctx)
	switch {
	case late.Load():
		return frame{}, brokenf("%s: want a frame, got none in %v: %w", s.request, limit, errSilence)
	case err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), errCheckTimeout):
		return frame{}, err // the run was interrupted
	case errors.Is(err, errEnded):
		return frame{}, err
	case err != nil:
		return frame{}, brokenf("%s: want a frame, but got %w: %w", s.request, err, errSilence)
	}
	return f, nil
}

// next waits for the next frame. It returns io.EOF at the end of the stream.
func (s *stream) next(ctx context.Context) (frame, error) {
	for {
		f, err := s.read(ctx)
		if err != nil || s.skips == nil || !s.skips(f) {
			return f, err
		}
	}
}

func (s *stream) read(ctx context.Context) (frame, error) {
	e, err := s.events.Next()
	if err != nil && s.endless && s.body.err != nil && !s.closed.Load() && ctx.Err() == nil {
		return frame{}, s.ended()
	}
	if err != nil && s.body.err == io.EOF { //nolint:errorlint // of the body itself
		err = io.EOF
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return frame{}, fmt.Errorf("%s: %w", s.request, httpclient.Cause(ctx, err))
	}
	s.frames++
	return frame{e.ID, e.Name, string(e.Data)}, err
}

// ended returns the error for a stream that the daemon ended.
func (s *stream) ended() error {
	return elsewhere("events-stays-open", s.seen.about(asCause("change streams are ended by the daemon",
		"%s: want a stream that stays open, but it ended after %d frames: %w: %w", s.request, s.frames, errEnded, s.body.err)))
}

// isOwnEvent reports whether a frame reports a change of a file that the daemon added.
func (q *quirks) isOwnEvent(f frame, brain string, seen *exchange) bool {
	if f.name != protocol.EventChange {
		return false
	}
	o, err := f.object()
	if err != nil {
		return false
	}
	p, _ := o["path"].(string)
	withFrame := seen.answered(&response{status: http.StatusOK, body: []byte(f.data)})
	return q.isOwn(p, brain, withFrame)
}
