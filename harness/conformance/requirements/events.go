package requirements

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/protocol"
)

func eventStreamChecks() []check {
	opened := func(assertion assertion) step {
		return expectStream(eventsRequest, func(s *stream) error { return s.verify(0, s.isOpen, assertion) })
	}
	firstFrame := func(judge func(frame) error) step {
		return withStream(eventsRequest, func(ctx context.Context, _ *client, s *stream) error {
			if err := s.verifyOpen(); err != nil {
				return err
			}
			f, err := s.nextWithin(ctx, s.patience(s.silence))
			if err == nil {
				err = against(judge(f))
			}
			return err
		})
	}
	ofReady := func(judge func(frame) error) func(frame) error {
		return func(f frame) error {
			if f.name != protocol.EventReady {
				return unjudgedError{ReasonObserve, fmt.Errorf("the first frame is %q, not ready", f.name)}
			}
			return judge(f)
		}
	}
	return []check{
		must("events-200", "4.2", "A change stream returns 200.",
			expectStream(eventsRequest, func(s *stream) error { return s.verify(200) })),
		must("events-content-type", "4.2", "The media type of a change stream is text/event-stream.",
			opened(hasMediaType(protocol.TypeEvents))),
		must("events-no-cache", "9", "A change stream has Cache-Control: no-cache.",
			opened(hasCacheControl("no-cache"))),
		must("events-ready", "6.1", "The first frame of a change stream is ready.",
			firstFrame(func(f frame) error { return equals(protocol.EventReady)(f.name) })),
		must("events-ready-data", "6.1", "The data of ready is the text ok.",
			firstFrame(ofReady(func(f frame) error { return equals("ok")(f.data) }))),
		must("events-ready-id", "6.1", "The ready frame has an id.",
			firstFrame(ofReady(func(f frame) error { return isNonEmptyString(f.id) }))),
		must("events-ready-once", "6.1", "A change stream has only one ready frame.",
			expectFrames([]step{put("a.md", "1"), put("b.md", "2")}, func(frames []frame) error {
				if slices.Contains(summaries(frames), protocol.EventReady) {
					return fmt.Errorf("want one ready, got another among %q", summaries(frames))
				}
				return nil
			})),
		must("events-stays-open", "6.1", "A change stream stays open until the client closes it.", staysOpen(idling)),
		must("events-ready-attached", "6.1", "A write right after ready is reported as an event.",
			expectEvents([]step{written("a.md", "one")}, "created a.md")),
		must("events-last-event-id", "6.2", "Last-Event-ID is ignored: a change stream does not replay earlier events.",
			noReplay(eventsRequest.withHeader("Last-Event-ID", "0"))),
		must("events-no-replay", "6.2", "A change stream does not report writes from before it was opened.",
			noReplay(eventsRequest)),
	}
}

// idleStreamChecks wait for half a minute.
func idleStreamChecks() []check {
	return []check{
		must("events-stays-open-idle", "6.1", "A change stream stays open although nothing changes.", staysOpen(pingWithin)),
		must("events-ping", "6.1", "A daemon sends pings with increasing ids on an idle change stream, 25 s apart by default.", expectPing),
	}
}

// staysOpen requires a change stream to be open, and to report changes, after a while without any.
func staysOpen(idle time.Duration) step {
	return withReadyStream(eventsRequest, func(ctx context.Context, c *client, s *stream) error {
		_, err := s.collect(ctx, c, putPaths("a.md", "b.md"), pause(idle), appendTo("a.md", "more"), remove("b.md"))
		return err
	})
}

// noReplay requires that a stream opened after writes does not report them. It opens two streams in
// turn.
func noReplay(r request) step {
	noEvents := withReadyStream(r, func(ctx context.Context, c *client, s *stream) error {
		frames, err := s.collect(ctx, c, pause(idling/2))
		if err == nil && len(frames) > 0 {
			err = brokenf("want no event of earlier writes, got %q", summaries(frames))
		}
		return err
	})
	return inTurn(putPaths("a.md", "b.md"), noEvents, noEvents)
}

func changeChecks() []check {
	seed := written("a.md", "one")
	byRename := []step{renamedTo("a.md", "n/b.md", "one")}
	every := []step{written("b.md", "1"), extended("b.md", "2", "12"), renamedTo("b.md", "c.md", "12"), removed("c.md")}
	return []check{
		must("events-change", "6.1", "A change is reported as the event change, with its path in a JSON object.",
			expectFrames([]step{put("a.md", "one")}, func([]frame) error { return nil })),
		must("events-created", "2", "A PUT of a new document is reported as created.",
			expectEvents([]step{written("n/é.md", "one")}, "created n/é.md")),
		must("events-updated", "2", "A PUT of an existing document is reported as updated.",
			seed, expectEvents([]step{written("a.md", "two")}, "updated a.md")),
		must("events-updated-same", "6.1", "A PUT that does not change the content is reported as updated.",
			seed, expectEvents([]step{written("a.md", "one")}, "updated a.md")),
		must("events-append-created", "2", "An append that creates a document is reported as created.",
			expectEvents([]step{extended("b.md", "one", "one")}, "created b.md")),
		must("events-append-updated", "2", "An append to an existing document is reported as updated.",
			seed, expectEvents([]step{extended("a.md", "two", "onetwo")}, "updated a.md")),
		must("events-deleted", "2", "A DELETE is reported as deleted.",
			seed, expectEvents([]step{removed("a.md")}, "deleted a.md")),
		must("events-renamed", "2", "A rename is reported as a single renamed event with the new path.",
			seed, expectEvents(byRename, "renamed n/b.md")),
		must("events-renamed-old-path", "6.1", "A renamed event has old_path.",
			seed, expectEachEvent(byRename, 1, ofRenames(hasField("old_path", equals("a.md"))))),
		must("events-old-path-only-renamed", "2", "Events other than renamed have no old_path.",
			expectEachEvent([]step{written("b.md", "1"), extended("b.md", "2", "12"), removed("b.md")}, 3, func(o object) error {
				if v, ok := o["old_path"]; ok && v != "" && v != nil {
					return fmt.Errorf("want no old_path, got %v", v)
				}
				return nil
			})),
		must("events-when", "2", "The when of an event is an ISO 8601 timestamp.",
			expectEachEvent(every, 4, hasField("when", isTimestamp))),
		must("events-snake-case", "2", "The keys of an event are in snake_case.",
			expectEachEvent(every, 4, func(o object) error { return snakeCase(o) })),
		must("events-kinds", "2", "The kind of an event is created, updated, deleted or renamed.",
			expectEachEvent(every, 4, isKnownKind)),
	}
}

func batchEventChecks() []check {
	seed := written("a.md", "one")
	ops := []step{
		applied(batchOf(writeOp("x.md", "1"), deleteOp("a.md"), appendOp("x.md", "2"), renameOp("x.md", "y.md")),
			expectAbsent("a.md"), expectAbsent("x.md"), expectContent("y.md", "12")),
	}
	return []check{
		must("events-batch", "6.1", "A batch of N ops is reported as N events in the order of the ops.",
			seed, expectEventsInOrder(ops, "created x.md", "deleted a.md", "updated x.md", "renamed y.md")),
		must("events-batch-reason", "6.1", "The events of a batch have its reason.",
			seed, expectEachEvent(ops, 4, hasField("reason", equals("conformance")))),
		must("events-batch-old-path", "6.1", "The event of a rename op has old_path.",
			seed, expectEachEvent([]step{applied(batchOf(renameOp("a.md", "b.md")), expectAbsent("a.md"), expectContent("b.md", "one"))},
				1, ofRenames(hasField("old_path", equals("a.md"))))),
		must("events-batch-large", "6.1", "A batch of 200 ops is reported as 200 events in the order of the ops.",
			largeBatchEvents(200)),
		must("events-batch-same-path", "6.1", "Several ops on one path are reported as one event each.",
			expectEvents([]step{applied(batchOf(writeOp("x.md", "1"), writeOp("x.md", "2"), deleteOp("x.md")), expectAbsent("x.md"))},
				"created x.md", "updated x.md", "deleted x.md")),
		must("events-only-documents", "2",
			"Events report only documents that were written: files that the daemon adds begin with an underscore.",
			onlyWrittenEvents),
		must("events-generated", "6.1", "Writes to generated files are reported.",
			expectEvents([]step{written("_ours.md", "x")}, "created _ours.md")),
	}
}

// onlyWrittenEvents looks for events of files that the daemon added, for example for an index.
var onlyWrittenEvents = withReadyStream(asSent(eventsRequest), func(ctx context.Context, c *client, s *stream) error {
	frames, err := s.collect(ctx, c, put(kettle, "The kettle is green."), attempt(plainSearch), remove(kettle))
	if err != nil {
		return err
	}
	var changed []object
	for _, f := range frames {
		o, _ := f.object() // another check is about that
		changed = append(changed, o)
	}
	return s.with(frames).about(against(noOwnFiles(pathsOf(changed), func(p string) bool { return p == "" || p == kettle || isGenerated(p) })))
})

func largeBatchEvents(n int) step {
	var ops []object
	var want, paths []string
	for i := range n {
		p := fmt.Sprintf("%03d.md", (i*7919)%n) // not in the order of the paths
		paths = append(paths, fmt.Sprintf("%03d.md", i))
		ops = append(ops, writeOp(p, "x"))
		want = append(want, "created "+p)
	}
	return expectEventsInOrder([]step{applied(batchOf(ops...), expectListing(recursive, paths...))}, want...)
}

func deliveryChecks() []check {
	var writes []step
	var want []string
	for i := range 30 {
		p := fmt.Sprintf("%02d.md", (i*7)%30)
		writes = append(writes, written(p, "x"))
		want = append(want, "created "+p)
	}
	seed := put("a.md", "one")
	rejected := []step{
		expect(deleteOf("none.md"), 0, givenError), expect(renameOf("none.md", "b.md"), 0, givenError),
		expect(putOf("../a.md", "x"), 0, givenError),
	}
	reads := []step{setup(expectContent("a.md", "one"), expect(statOf("a.md"), 200), expectListing(flat, "a.md"))}
	failedBatch := expect(batchOf(writeOp("a.md", "x"), deleteOp("none.md")), 0, givenError)
	return []check{
		must("events-commit-order", "6.2", "Events are sent in commit order.", expectEventsBut(writes, eventReport.isReordered, want...)),
		must("events-two-streams", "6.2", "All streams of a brain send the same events in the same order.",
			sameOrderOnBothStreams),
		must("events-failed-silent", "6.1", "A batch that is rolled back emits no event.",
			expectEvents([]step{failedBatch, setup(expectAbsent("a.md"))})),
		must("events-refused-silent", "6.1", "A rejected write emits no event.", expectEvents(rejected)),
		must("events-read-silent", "6.1", "A read emits no event.",
			seed, expectEvents(reads)),
		must("events-other-brain", "6.1", "A change stream does not report changes of another brain.",
			expectEventsBut([]step{inOtherBrain(written("other.md", "x")), written("a.md", "one")},
				func(h eventReport) bool {
					return slices.ContainsFunc(h.got, func(e string) bool { return strings.HasSuffix(e, " other.md") })
				}, "created a.md")),
		must("events-committed", "6.1", "When an event is sent, its change can be read.", readableWhenReported()),
		must("events-after-reconnect", "6.2", "A reopened change stream reports the changes from then on.",
			setup(expectEvents([]step{written("a.md", "1")}, "created a.md")), removed(sentinelPath),
			expectEvents([]step{written("b.md", "2")}, "created b.md")),
	}
}

// sameOrderOnBothStreams compares the events of concurrent writes on two streams.
func sameOrderOnBothStreams(ctx context.Context, c *client) error {
	var streams [2]*stream
	for i := range streams {
		s, err := c.openReadyStream(ctx, eventsRequest)
		if err != nil {
			return err
		}
		defer s.close()
		streams[i] = s
	}
	var frames [2][]frame
	writes := func(ctx context.Context, c *client) error {
		return concurrently(20, func(i int) error { return put(fmt.Sprintf("%d.md", i), "x")(ctx, c) })
	}
	err := streams[1].whileListening(
		func() (err error) { frames[0], err = streams[0].collect(ctx, c, writes); return err },
		func() (err error) { frames[1], err = streams[1].untilSentinel(ctx); return err })
	if err != nil {
		return err
	}
	a, b := summaries(frames[0]), summaries(frames[1])
	if !slices.Equal(a, b) {
		return brokenf("want 20 events in the same order, got %q and %q", a, b)
	}
	if len(a) != 20 {
		return unjudgedError{ReasonObserve, fmt.Errorf("want 20 events, got %q", a)}
	}
	return nil
}

// readableWhenReported reads a document as soon as its event arrives. A document that cannot be
// read later either was not written, which is another check's requirement.
func readableWhenReported() step {
	text := strings.Repeat("x", 10_000)
	return withReadyStream(eventsRequest, func(ctx context.Context, c *client, s *stream) error {
		var early error
		err := s.whileListening(
			func() error { return put("a.md", text)(ctx, c) },
			func() error {
				f, err := s.nextWithin(ctx, s.patience(s.silence))
				for err == nil && f.name == protocol.EventPing {
					f, err = s.nextWithin(ctx, s.patience(s.silence))
				}
				if errors.Is(err, errSilence) {
					return unjudgedError{ReasonObserve, errors.New(err.Error())} // without the contradiction in it
				}
				if err != nil {
					return err
				}
				if got := summaries([]frame{f}); got[0] != "created a.md" {
					return unjudgedError{ReasonObserve, fmt.Errorf("want the event created a.md, got %q", got)}
				}
				early = expectContent("a.md", text)(ctx, c)
				return nil
			})
		if err == nil && early != nil {
			err = setup(expectContent("a.md", text))(ctx, c)
		}
		return cmp.Or(err, early)
	})
}

const wrongIDs = "has frames without an id of their own that is above the ones before"

// idsIncrease requires the ids of frames to increase. Ids are opaque: only those that are numbers
// have an order that every client knows.
func idsIncrease(frames []frame) error {
	if err := idsAreUnique(frames); err != nil {
		return err
	}
	last := new(big.Int)
	for i, f := range frames {
		n, ok := new(big.Int).SetString(f.id, 10)
		switch {
		case !ok:
			return unjudgedError{ReasonObserve, fmt.Errorf("ids such as %q are not numbers, so their order is not defined", f.id)}
		case i > 0 && n.Cmp(last) <= 0:
			return because(wrongIDs, "want an id above %q, got %q", frames[i-1].id, f.id)
		}
		last = n
	}
	return nil
}

func idsAreUnique(frames []frame) error {
	seen := map[string]bool{}
	for _, f := range frames {
		if f.id == "" || seen[f.id] {
			return because(wrongIDs, "want a unique id in every frame, got %q for %q", f.id, f.name)
		}
		seen[f.id] = true
	}
	return nil
}

func eventIDChecks() []check {
	five := []step{
		put("a.md", "1"), put("b.md", "2"), batch(writeOp("c.md", "3"), writeOp("d.md", "4"), writeOp("e.md", "5")),
	}
	return []check{
		must("events-ids-increase", "6.1", "The ids of a stream's frames increase, from ready on.",
			expectFramesFromReady(five, idsIncrease)),
		must("events-ids-all", "6.1", "Every frame of a stream has a unique id.", expectFramesFromReady(five, idsAreUnique)),
	}
}

// expectPing waits for a ping, whose id must be above the id of ready.
var expectPing = withReadyStream(eventsRequest, func(ctx context.Context, _ *client, s *stream) error {
	f, err := s.nextWithin(ctx, pingWithin)
	if err != nil {
		return err
	}
	if f.name != protocol.EventPing || f.data != protocol.PingData {
		return brokenf("%s: want a ping with the data %s, got %q with %s",
			s.request, protocol.PingData, f.name, excerpt([]byte(f.data)))
	}
	frames := s.fromReady([]frame{f})
	if err := idsIncrease(frames); err != nil {
		return s.with(frames).about(against(fmt.Errorf("%s: %w", s.request, err)))
	}
	return nil
})
