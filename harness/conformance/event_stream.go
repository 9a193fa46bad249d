package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"evalctl/daemon/protocol"
)

// sentinelPath is written after all changes that a check is about. Events come in commit order, so
// its event marks the end of theirs.
const sentinelPath = "sentinel.md"

var eventsRequest = request{method: "GET", path: "/events", streaming: true}

// openReadyStream opens a change stream and waits for its first frame, which must be ready.
func (c *client) openReadyStream(ctx context.Context, r request) (*stream, error) {
	s, err := c.openStream(ctx, r)
	if err != nil {
		return nil, err
	}
	f, err := s.next(ctx)
	if err == nil && f.name != protocol.EventReady {
		err = fmt.Errorf("%s: want ready as the first frame, got %q", s.request, f.name)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// withReadyStream opens a change stream, waits for ready, and passes the stream to use.
func withReadyStream(r request, use func(ctx context.Context, c *client, s *stream) error) step {
	return func(ctx context.Context, c *client) error {
		s, err := c.openReadyStream(ctx, r)
		if err != nil {
			return err
		}
		defer s.close()
		return use(ctx, c, s)
	}
}

// expectFrames listens to the change stream while it runs steps, and judges the frames that they
// cause.
func expectFrames(during []step, judge func([]frame) error) step {
	return withReadyStream(eventsRequest, func(ctx context.Context, c *client, s *stream) error {
		frames, err := s.collect(ctx, c, during...)
		if err != nil {
			return err
		}
		if err := judge(frames); err != nil {
			return fmt.Errorf("%s: %w", s.request, err)
		}
		return nil
	})
}

// collect runs steps, writes the sentinel, and returns the frames up to the sentinel's, without it
// and without pings.
func (s *stream) collect(ctx context.Context, c *client, steps ...step) (frames []frame, err error) {
	err = s.whileListening(
		func() error { return c.run(ctx, append(slices.Clip(steps), put(sentinelPath, "the end"))...) },
		func() error { frames, err = s.untilSentinel(ctx); return err })
	return frames, err
}

func (s *stream) untilSentinel(ctx context.Context) ([]frame, error) {
	var frames []frame
	for {
		f, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%s: the stream ended", s.request)
		}
		if err != nil {
			return nil, fmt.Errorf("%w, after the frames %v", err, summaries(frames))
		}
		if f.name == protocol.EventPing {
			continue
		}
		if f.name == protocol.EventChange {
			o, err := f.object()
			if err != nil {
				return nil, err
			}
			if o["path"] == sentinelPath {
				return frames, nil
			}
		}
		frames = append(frames, f)
	}
}

// summaries describes each frame by its name, or by the kind and path of a change.
func summaries(frames []frame) []string {
	list := []string{}
	for _, f := range frames {
		o, err := f.object()
		if f.name != protocol.EventChange || err != nil {
			list = append(list, f.name)
			continue
		}
		list = append(list, fmt.Sprintf("%v %v", o["kind"], o["path"]))
	}
	return list
}

// expectEvents requires the steps to cause exactly these events, in this order.
func expectEvents(during []step, want ...string) step {
	return expectFrames(during, func(frames []frame) error {
		if got := summaries(frames); !slices.Equal(got, want) {
			return fmt.Errorf("want the events %q, got %q", want, got)
		}
		return nil
	})
}

// expectEachEvent requires the steps to cause n events, and judges the payload of each.
func expectEachEvent(during []step, n int, judge func(object) error) step {
	return expectFrames(during, func(frames []frame) error {
		if len(frames) != n {
			return fmt.Errorf("want %d events, got %q", n, summaries(frames))
		}
		for _, f := range frames {
			o, err := f.object()
			if err != nil {
				return err
			}
			if err := judge(o); err != nil {
				return fmt.Errorf("%s: %w", f.data, err)
			}
		}
		return nil
	})
}

func eventField(name string, m matcher) func(object) error {
	return func(o object) error { return matchField(o, name, m) }
}
