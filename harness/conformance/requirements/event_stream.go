package requirements

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"evalctl/daemon/protocol"
)

// sentinelPath is written after all changes under test. Events come in commit order, so its event
// marks the end of theirs.
const sentinelPath = "sentinel.md"

var eventsRequest = request{method: "GET", path: "/events", streaming: true}

const (
	// straggling is how late an event may come after a later change's event, or a change after the
	// same change in another form.
	straggling = 500 * time.Millisecond
	// idling is how long a change stream must stay open without any change.
	idling = time.Second
	// pingWithin is how long an idle change stream may take to send a ping. It is less than the
	// default time limit of a check.
	pingWithin = 28 * time.Second
)

// openReadyStream opens a change stream and waits for its first frame, which must be ready. Without
// ready, the check cannot be judged.
func (c *client) openReadyStream(ctx context.Context, r request) (ready *stream, err error) {
	err = setup(func(ctx context.Context, c *client) error {
		s, err := c.openStream(ctx, r)
		if err != nil {
			return err
		}
		if err = s.verifyOpen(); err == nil {
			err = s.awaitReady(ctx)
		}
		if err != nil {
			s.close()
			return err
		}
		ready = s
		return nil
	})(ctx, c)
	return ready, err
}

func (s *stream) awaitReady(ctx context.Context) error {
	f, err := s.nextWithin(ctx, s.patience(s.silence))
	if err == nil && f.name != protocol.EventReady {
		err = brokenf("%s: want ready as the first frame, got %q", s.request, f.name)
	}
	s.ready = f
	return err
}

// withReadyStream opens a change stream, waits for ready, and passes the stream to use.
func withReadyStream(r request, use func(ctx context.Context, c *client, s *stream) error) step {
	return withOpened((*client).openReadyStream, r, use)
}

// expectFrames listens to the change stream while it runs steps, and judges the frames that they
// cause.
func expectFrames(during []step, judge func([]frame) error) step {
	return listening(during, func(_ *stream, frames []frame) []frame { return frames }, judge)
}

// expectFramesFromReady is expectFrames with ready as the first frame.
func expectFramesFromReady(during []step, judge func([]frame) error) step {
	return listening(during, (*stream).fromReady, judge)
}

// fromReady returns ready and the frames after it. It leaves out a ready without an id, which is
// another check's requirement.
func (s *stream) fromReady(frames []frame) []frame {
	if s.ready.id == "" {
		return frames
	}
	return append([]frame{s.ready}, frames...)
}

// listening judges the frames that choose returns, given the frames that the steps cause.
func listening(during []step, choose func(*stream, []frame) []frame, judge func([]frame) error) step {
	return withReadyStream(eventsRequest, func(ctx context.Context, c *client, s *stream) error {
		var frames []frame
		collect := func(ctx context.Context, c *client) (err error) {
			frames, err = s.collect(ctx, c, during...)
			return err
		}
		if err := withoutVerdict(ReasonObserve, "read the events", []step{collect})(ctx, c); err != nil {
			return err
		}
		frames = choose(s, frames)
		if err := judge(frames); err != nil {
			return s.with(frames).about(against(fmt.Errorf("%s: %w", s.request, err)))
		}
		return nil
	})
}

// collect runs steps, writes the sentinel, and returns the frames before the sentinel's, without
// pings. If the sentinel's frame does not come, it returns the frames that came and errSilence.
func (s *stream) collect(ctx context.Context, c *client, steps ...step) (frames []frame, err error) {
	acted := make(chan *time.Timer, 1)
	var late atomic.Bool
	err = s.whileListening(
		func() error {
			err := c.run(ctx, append(slices.Clip(steps), put(sentinelPath, "the end"))...)
			acted <- time.AfterFunc(s.patience(s.silence), func() { late.Store(true); s.close() })
			return err
		},
		func() error { frames, err = s.untilSentinel(ctx); return err })
	(<-acted).Stop()
	if err != nil && late.Load() && !errors.As(err, new(misplacedError)) {
		return frames, fmt.Errorf("%s: the event of the last write did not come in %v, after %q: %w",
			s.request, s.patience(s.silence), summaries(frames), errSilence)
	}
	return frames, err
}

// untilSentinel returns the frames before the sentinel's. If the sentinel is reported by another
// event than change, all changes are.
func (s *stream) untilSentinel(ctx context.Context) ([]frame, error) {
	var frames []frame
	var other *frame
	for {
		f, err := s.next(ctx)
		switch {
		case err != nil && other != nil && s.closed.Load():
			return frames, s.with([]frame{*other}).about(otherForm(*other))
		case errors.Is(err, errEnded):
			return frames, err
		case err != nil:
			return frames, fmt.Errorf("%w: %w, after the frames %v", errSilence, err, summaries(frames))
		case f.name == protocol.EventPing:
			continue
		}
		o, err := f.object()
		if f.name == protocol.EventChange && err == nil && o["path"] == sentinelPath {
			return frames, nil
		}
		if other == nil && strings.Contains(f.data, sentinelPath) {
			other = &f
			defer time.AfterFunc(s.patience(straggling), s.close).Stop()
		}
		frames = append(frames, f)
	}
}

// otherForm returns the error for a change that is reported in another form.
func otherForm(f frame) error {
	return elsewhere("events-change", asCause("changes are reported in another form than the event change with a path",
		"want the event change with the path %q in its data, got the event %q with %s", sentinelPath, f.name, excerpt([]byte(f.data))))
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

// expectEachEvent judges the payload of each event that the steps cause. If there are not n events,
// the check is not judged, since other checks cover their number.
func expectEachEvent(during []step, n int, judge func(object) error) step {
	return expectFrames(during, func(frames []frame) error {
		for _, f := range frames {
			o, err := f.object()
			if err != nil {
				return unjudgedError{ReasonObserve, err}
			}
			if err := judge(o); err != nil {
				return fmt.Errorf("%s: %w", f.data, err)
			}
		}
		if len(frames) != n {
			return unjudgedError{ReasonObserve, fmt.Errorf("want %d events, got %q", n, summaries(frames))}
		}
		return nil
	})
}

// ofRenames judges events of renames only. Without one, the check cannot be judged.
func ofRenames(judge func(object) error) func(object) error {
	return func(o object) error {
		if o["kind"] != "renamed" {
			return unjudgedError{ReasonObserve, fmt.Errorf("want a renamed event, got %v", o["kind"])}
		}
		return judge(o)
	}
}
