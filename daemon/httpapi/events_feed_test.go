package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
)

func newFeeds() *feeds { return &feeds{brain: map[brain.Handle]*feed{}} }

// handles returns handles of the brains b, c and d.
func handles(t *testing.T) (b, c, d brain.Handle) {
	t.Helper()
	s := startFake(t)
	for id, h := range map[string]*brain.Handle{"b": &b, "c": &c, "d": &d} {
		s.expect(t, 201, "POST", "/v1/brains", `{"id":"`+id+`"}`)
		var err error
		if *h, err = s.brains.Find(id); err != nil {
			t.Fatal(err)
		}
	}
	return b, c, d
}

func newQuiet() *listener { return newListener(func() {}) }

// TestFeedLifetime: a brain has one sink while there are listeners, and none afterwards.
func TestFeedLifetime(t *testing.T) {
	f := newFeeds()
	b, _, _ := handles(t)
	docs, err := b.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	one, two := newQuiet(), newQuiet()
	detachOne, detachTwo := f.attach(b, one), f.attach(b, two)
	if len(f.brain) != 1 || len(f.brain[b].listeners) != 2 {
		t.Fatalf("%+v", f.brain)
	}
	shared := f.brain[b]
	detachOne()
	detachOne()
	if err := docs.Write(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	if changes, _ := one.next(); len(changes) > 0 {
		t.Error("received a change after detaching")
	}
	if changes, err := two.next(); err != nil || len(changes) != 1 || len(changes[0]) == 0 {
		t.Errorf("got %q, %v", changes, err)
	}
	detachTwo()
	if len(f.brain) != 0 {
		t.Errorf("%+v", f.brain)
	}
	late := newQuiet()
	shared.listeners[late] = struct{}{}
	if err := docs.Write(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	if changes, _ := late.next(); len(changes) > 0 {
		t.Error("the brain still has the sink")
	}
}

func TestFeedEnds(t *testing.T) {
	f := newFeeds()
	b, c, d := handles(t)
	here, there := newQuiet(), newQuiet()
	defer f.attach(b, here)()
	defer f.attach(c, there)()
	f.end(d, errStreamOver)
	f.end(b, errStreamOver)
	if !errors.Is(here.ended(), errStreamOver) || there.ended() != nil {
		t.Errorf("ended with %v and %v", here.ended(), there.ended())
	}
	again := newQuiet()
	defer f.attach(b, again)()
	if again.ended() != nil {
		t.Errorf("ended with %v", again.ended())
	}
	f.endAll(errShuttingDown)
	late := newQuiet()
	defer f.attach(d, late)()
	if !errors.Is(here.ended(), errStreamOver) || !errors.Is(there.ended(), errShuttingDown) || !errors.Is(late.ended(), errShuttingDown) {
		t.Errorf("ended with %v, %v and %v", here.ended(), there.ended(), late.ended())
	}
}

func TestListenerLimit(t *testing.T) {
	unblocked := 0
	l := newListener(func() { unblocked++ })
	for i := range maxBehind {
		if !l.put(fmt.Append(nil, i)) {
			t.Fatalf("the queue is full at change %d", i)
		}
	}
	taken, err := l.next()
	for i, change := range taken {
		if string(change) != fmt.Sprint(i) {
			t.Fatalf("change %d: %s", i, change)
		}
	}
	if len(taken) == 0 || err != nil {
		t.Fatalf("%d changes, %v", len(taken), err)
	}
	for range taken {
		l.put(nil)
	}
	if l.put(nil) || unblocked != 1 {
		t.Errorf("the queue accepts one more, unblocked %d times", unblocked)
	}
	if changes, err := l.next(); len(changes) > 0 || !errors.Is(err, errTooSlow) {
		t.Errorf("got %d changes, %v", len(changes), err)
	}
	l.end(errShuttingDown)
	if !errors.Is(l.ended(), errTooSlow) {
		t.Errorf("the cause became %v", l.ended())
	}
}

// A batch must never disconnect a client that has read everything before it.
var _ [maxBehind - protocol.MaxBatchOps]struct{}

// TestListenerTakesWhatFits: one write has never more than maxTogether bytes, unless a single
// change is longer, and changes stay in order.
func TestListenerTakesWhatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newListener(func() {})
		var put, got [][]byte
		for i, n := range rapid.SliceOfN(rapid.IntRange(1, maxTogether+2), 1, 20).Draw(t, "sizes") {
			put = append(put, bytes.Repeat([]byte{byte(i)}, n))
			l.put(put[i])
		}
		for {
			changes, err := l.next()
			if err != nil {
				t.Fatal(err)
			}
			if len(changes) == 0 {
				break
			}
			if size := len(bytes.Join(changes, nil)); size > maxTogether && len(changes) > 1 {
				t.Fatalf("%d changes of %d bytes", len(changes), size)
			}
			got = append(got, changes...)
			if len(got) < len(put) && len(bytes.Join(changes, nil))+len(put[len(got)]) <= maxTogether {
				t.Fatal("the next change would have fitted")
			}
		}
		if !slices.EqualFunc(got, put, bytes.Equal) {
			t.Fatalf("%d changes of %d, or in another order", len(got), len(put))
		}
	})
}
