package conformance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evalctl/daemon/protocol"
)

func eventChecks() []check {
	return slices.Concat(attachChecks(), changeChecks(), deliveryChecks(), idChecks(),
		with(patience, must("events-ping", "6.1", "An idle stream is kept alive by pings, 25 s apart by default.", pinged)))
}

func attachChecks() []check {
	attached := func(judge func(*stream) error) step {
		return func(ctx context.Context, t *trial) error {
			s, err := t.attach(ctx, eventStream)
			if err != nil {
				return err
			}
			defer s.close()
			return judge(s)
		}
	}
	first := func(judge func(frame) error) step {
		return func(ctx context.Context, t *trial) error {
			return attached(func(s *stream) error {
				f, err := s.next(ctx)
				if err != nil {
					return err
				}
				return judge(f)
			})(ctx, t)
		}
	}
	return []check{
		must("events-200", "4.2", "The change stream answers 200.", attached(func(*stream) error { return nil })),
		must("events-content-type", "4.2", "The change stream is text/event-stream.",
			attached(func(s *stream) error { return s.judge(200, []want{mediaType(protocol.TypeEvents)}) })),
		must("events-no-cache", "9", "The change stream has Cache-Control: no-cache.",
			attached(func(s *stream) error { return s.judge(200, []want{cacheControl("no-cache")}) })),
		must("events-ready", "6.1", "The first frame of a change stream is ready.", first(func(f frame) error { return is(protocol.EventReady)(f.name) })),
		must("events-ready-data", "6.1", "The data of ready is the text ok.", first(func(f frame) error { return is("ok")(f.data) })),
		must("events-ready-id", "6.1", "The frame ready has an id.", first(func(f frame) error { return isText(f.id) })),
		must("events-ready-once", "6.1", "ready comes once.", observes([]step{put("a.md", "1"), put("b.md", "2")}, func(frames []frame) error {
			if slices.Contains(names(frames), protocol.EventReady) {
				return fmt.Errorf("want one ready, got another among %q", names(frames))
			}
			return nil
		})),
		must("events-ready-attached", "6.1", "A write right after ready is told.", tells([]step{put("a.md", "one")}, "created a.md")),
		must("events-last-event-id", "6.2", "Last-Event-ID is not honoured: nothing is replayed.", noReplay(eventStream.with("Last-Event-ID", "0"))),
		must("events-no-replay", "6.2", "What was written before attaching is not told.", noReplay(eventStream)),
		should("events-brain-missing", "6.1", "The stream of a brain that does not exist is 404, or 403 with a token.", lacksBrain("GET", "/events", asItIs)),
	}
}

// noReplay writes, attaches, and wants the first change to be a later one.
func noReplay(r request) step {
	return func(ctx context.Context, t *trial) error {
		if err := tree("a.md", "b.md")(ctx, t); err != nil {
			return err
		}
		for range 2 { // a second stream is as fresh as the first
			s, err := t.attachReady(ctx, r)
			if err != nil {
				return err
			}
			frames, err := s.during(ctx, t, nil)
			s.close()
			if err != nil {
				return err
			}
			if len(frames) > 0 {
				return fmt.Errorf("want no event of what was written before, got %q", names(frames))
			}
		}
		return nil
	}
}

func changeChecks() []check {
	renamed := []step{rename("a.md", "n/b.md")}
	ops := []step{batch(writeOp("x.md", "1"), deleteOp("a.md"), appendOp("x.md", "2"), renameOp("x.md", "y.md"))}
	seed := put("a.md", "one")
	every := []step{put("b.md", "1"), appendTo("b.md", "2"), rename("b.md", "c.md"), remove("c.md")}
	return []check{
		must("events-created", "2", "A PUT of a new document is told as created.", tells([]step{put("n/é.md", "one")}, "created n/é.md")),
		must("events-updated", "2", "A PUT of a document that exists is told as updated.", seed, tells([]step{put("a.md", "two")}, "updated a.md")),
		must("events-updated-same", "6.1", "A PUT of the same content is told too: it was committed.", seed, tells([]step{put("a.md", "one")}, "updated a.md")),
		must("events-append-created", "2", "An append that makes a document is told as created.", tells([]step{appendTo("b.md", "one")}, "created b.md")),
		must("events-append-updated", "2", "An append to a document is told as updated.", seed, tells([]step{appendTo("a.md", "two")}, "updated a.md")),
		must("events-deleted", "2", "A DELETE is told as deleted.", seed, tells([]step{remove("a.md")}, "deleted a.md")),
		must("events-renamed", "2", "A rename is told as one event, renamed, with the new path.", seed, tells(renamed, "renamed n/b.md")),
		must("events-renamed-old-path", "6.1", "renamed carries old_path.", seed, carries(renamed, 1, having("old_path", is("a.md")))),
		must("events-old-path-only-renamed", "2", "Only renamed carries old_path.",
			carries([]step{put("b.md", "1"), appendTo("b.md", "2"), remove("b.md")}, 3, func(o object) error {
				if v, ok := o["old_path"]; ok && v != "" && v != nil {
					return fmt.Errorf("want no old_path, got %v", v)
				}
				return nil
			})),
		must("events-when", "2", "An event says when, in ISO 8601.", carries(every, 4, having("when", isTime))),
		must("events-snake-case", "2", "The keys of an event are in snake_case.", carries(every, 4, func(o object) error { return snakeCase(o) })),
		must("events-kinds", "2", "kind is created, updated, deleted or renamed.",
			tells(every, "created b.md", "updated b.md", "renamed c.md", "deleted c.md")),
		must("events-batch", "6.1", "A batch of N ops is told as N events, in the order of the ops.",
			seed, tells(ops, "created x.md", "deleted a.md", "updated x.md", "renamed y.md")),
		must("events-batch-reason", "6.1", "The events of a batch carry its reason.", seed, carries(ops, 4, having("reason", is("conformance")))),
		must("events-batch-old-path", "6.1", "A rename in a batch carries old_path.", seed,
			carries([]step{batch(renameOp("a.md", "b.md"))}, 1, having("old_path", is("a.md")))),
		must("events-batch-large", "6.1", "A batch of 200 ops is told as 200 events, in order.", largeBatchTold(200)),
		must("events-batch-same-path", "6.1", "Ops on one path are told one by one.",
			tells([]step{batch(writeOp("x.md", "1"), writeOp("x.md", "2"), deleteOp("x.md"))}, "created x.md", "updated x.md", "deleted x.md")),
		must("events-generated", "6.1", "Writes to generated files are told.", tells([]step{put("_index.md", "x")}, "created _index.md")),
	}
}

func largeBatchTold(n int) step {
	var ops []object
	var want []string
	for i := range n {
		p := fmt.Sprintf("%03d.md", (i*7919)%n) // not in the order of the paths
		ops = append(ops, writeOp(p, "x"))
		want = append(want, "created "+p)
	}
	return tells([]step{batch(ops...)}, want...)
}

func deliveryChecks() []check {
	var writes []step
	var want []string
	for i := range 30 {
		p := fmt.Sprintf("%02d.md", (i*7)%30)
		writes = append(writes, put(p, "x"))
		want = append(want, "created "+p)
	}
	return []check{
		must("events-commit-order", "6.2", "Events come in the order of the commits.", tells(writes, want...)),
		must("events-two-streams", "6.2", "Every stream is told the same, in the same order.", sameOrder),
		must("events-failed-silent", "6.1", "A batch that is rolled back is not told.",
			tells([]step{answers(batchOf(writeOp("a.md", "x"), deleteOp("none.md")), 0, refused)})),
		must("events-refused-silent", "6.1", "What is refused is not told.", tells([]step{
			answers(deleteOf("none.md"), 0, refused), answers(renameOf("none.md", "b.md"), 0, refused), answers(putOf("../a.md", "x"), 0, refused)})),
		must("events-read-silent", "6.1", "Reading is not told.", put("a.md", "one"),
			tells([]step{reads("a.md", "one"), answers(statOf("a.md"), 200), lists(flat, "a.md")})),
		must("events-other-brain", "6.1", "What happens in another brain is not told.",
			tells([]step{elsewhere(put("other.md", "x")), put("a.md", "one")}, "created a.md")),
		must("events-committed", "6.1", "What an event tells of can be read.", readsWhatItTells),
		must("events-after-reconnect", "6.2", "A stream that was attached again tells what happens from then on.",
			tells([]step{put("a.md", "1")}, "created a.md"), remove(sentinel), tells([]step{put("b.md", "2")}, "created b.md")),
	}
}

// sameOrder watches concurrent writers through two streams.
func sameOrder(ctx context.Context, t *trial) error {
	var streams [2]*stream
	for i := range streams {
		s, err := t.attachReady(ctx, eventStream)
		if err != nil {
			return err
		}
		defer s.close()
		streams[i] = s
	}
	var told [2][]frame
	writes := func(ctx context.Context, t *trial) error {
		return together(20, func(i int) error { return put(fmt.Sprintf("%d.md", i), "x")(ctx, t) })
	}
	err := streams[1].alongside(
		func() (err error) { told[0], err = streams[0].during(ctx, t, []step{writes}); return err },
		func() (err error) { told[1], err = streams[1].untilSentinel(ctx); return err })
	if err != nil {
		return err
	}
	a, b := names(told[0]), names(told[1])
	if len(a) != 20 || !slices.Equal(a, b) {
		return fmt.Errorf("want 20 events in one order, got %q and %q", a, b)
	}
	return nil
}

func readsWhatItTells(ctx context.Context, t *trial) error {
	s, err := t.attachReady(ctx, eventStream)
	if err != nil {
		return err
	}
	defer s.close()
	return s.alongside(
		func() error { return put("a.md", strings.Repeat("x", 10_000))(ctx, t) },
		func() error {
			f, err := s.next(ctx)
			for err == nil && f.name == protocol.EventPing {
				f, err = s.next(ctx)
			}
			if err != nil {
				return err
			}
			if got := names([]frame{f}); got[0] != "created a.md" {
				return fmt.Errorf("want the event created a.md, got %q", got)
			}
			return reads("a.md", strings.Repeat("x", 10_000))(ctx, t)
		})
}

func idChecks() []check {
	increasing := func(frames []frame) error {
		last := -1
		for _, f := range frames {
			n, err := strconv.Atoi(f.id)
			if err != nil || n <= last {
				return fmt.Errorf("want ids that increase, got %q after %d", f.id, last)
			}
			last = n
		}
		return nil
	}
	five := []step{put("a.md", "1"), put("b.md", "2"), batch(writeOp("c.md", "3"), writeOp("d.md", "4"), writeOp("e.md", "5"))}
	return []check{
		must("events-ids-increase", "6.1", "The ids of a stream's frames increase.", observes(five, increasing)),
		must("events-ids-all", "6.1", "Every frame has an id.", observes(five, func(frames []frame) error {
			seen := map[string]bool{}
			for _, f := range frames {
				if f.id == "" || seen[f.id] {
					return fmt.Errorf("want an id of its own in every frame, got %q for %q", f.id, f.name)
				}
				seen[f.id] = true
			}
			return nil
		})),
	}
}

// pinged waits for a ping.
func pinged(ctx context.Context, t *trial) error {
	s, err := t.attachReady(ctx, eventStream)
	if err != nil {
		return err
	}
	defer s.close()
	f, err := s.next(ctx)
	if err != nil {
		return err
	}
	if f.name != protocol.EventPing || f.data != protocol.PingData {
		return fmt.Errorf("%s: want a ping with the data keepalive, got %q with %s", s.line, f.name, clip([]byte(f.data)))
	}
	return nil
}
