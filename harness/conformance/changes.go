package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"evalctl/daemon/protocol"
)

// sentinel is written after everything that a check looks at. Events come in
// commit order, so its own ends the wait for theirs.
const sentinel = "sentinel.md"

var eventStream = request{method: "GET", path: "/events", endless: true}

// observes attaches to the change stream, waits for ready, takes the steps,
// and judges every frame up to the sentinel's, without it and without pings.
func observes(during []step, judge func([]frame) error) step {
	return func(ctx context.Context, t *trial) error {
		s, err := t.attachReady(ctx, eventStream)
		if err != nil {
			return err
		}
		defer s.close()
		frames, err := s.during(ctx, t, during)
		if err != nil {
			return err
		}
		if err := judge(frames); err != nil {
			return fmt.Errorf("%s: %w", s.line, err)
		}
		return nil
	}
}

// attachReady attaches and waits for the first frame, which must be ready.
func (t *trial) attachReady(ctx context.Context, r request) (*stream, error) {
	s, err := t.attach(ctx, r)
	if err != nil {
		return nil, err
	}
	f, err := s.next(ctx)
	if err == nil && f.name != protocol.EventReady {
		err = fmt.Errorf("%s: want the first frame to be ready, got %q", s.line, f.name)
	}
	if err != nil {
		s.close()
		return nil, errors.Join(err)
	}
	return s, nil
}

// during takes steps and collects the frames that they cause. A write of the
// sentinel closes them.
func (s *stream) during(ctx context.Context, t *trial, steps []step) (frames []frame, err error) {
	err = s.alongside(
		func() error { return t.take(ctx, append(steps[:len(steps):len(steps)], put(sentinel, "the end"))) },
		func() error { frames, err = s.untilSentinel(ctx); return err })
	return frames, err
}

func (s *stream) untilSentinel(ctx context.Context) ([]frame, error) {
	var frames []frame
	for {
		f, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%s: the stream ended", s.line)
		}
		if err != nil {
			return nil, fmt.Errorf("%w, after the frames %v", err, names(frames))
		}
		if f.name == protocol.EventPing {
			continue
		}
		if f.name == protocol.EventChange {
			o, err := f.object()
			if err != nil {
				return nil, err
			}
			if o["path"] == sentinel {
				return frames, nil
			}
		}
		frames = append(frames, f)
	}
}

// names tells frames in short: the kind and path of a change.
func names(frames []frame) []string {
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

// tells wants the steps to cause exactly these events, in this order.
func tells(during []step, want ...string) step {
	return observes(during, func(frames []frame) error {
		if got := names(frames); !slices.Equal(got, want) {
			return fmt.Errorf("want the events %q, got %q", want, got)
		}
		return nil
	})
}

// carries wants n changes, and judges a value of each.
func carries(during []step, n int, judge func(object) error) step {
	return observes(during, func(frames []frame) error {
		if len(frames) != n {
			return fmt.Errorf("want %d events, got %q", n, names(frames))
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

func having(name string, v value) func(object) error {
	return func(o object) error { return judgeKey(o, name, v) }
}
