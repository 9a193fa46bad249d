package httpapi

import (
	"errors"
	"fmt"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store/memstore"
)

func newFeeds() *feeds { return &feeds{brain: map[string]*feed{}} }

func newQuiet() *listener { return newListener(func() {}) }

// TestFeedLifetime: a store has one sink while somebody listens, and none
// afterwards.
func TestFeedLifetime(t *testing.T) {
	docs := memstore.Open(nil)
	defer docs.Close()
	f := newFeeds()
	one, two := newQuiet(), newQuiet()
	detachOne, detachTwo := f.attach("b", docs, one), f.attach("b", docs, two)
	if len(f.brain) != 1 || len(f.brain["b"].listeners) != 2 {
		t.Fatalf("%+v", f.brain)
	}
	shared := f.brain["b"]
	detachOne()
	detachOne()
	if err := docs.Write(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := one.next(); ok {
		t.Error("a change after detaching")
	}
	if change, ok, err := two.next(); !ok || err != nil || len(change) == 0 {
		t.Errorf("got %s, %t, %v", change, ok, err)
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
	if _, ok, _ := late.next(); ok {
		t.Error("the store still has the sink")
	}
}

func TestFeedEnds(t *testing.T) {
	docs, others := memstore.Open(nil), memstore.Open(nil)
	defer docs.Close()
	defer others.Close()
	f := newFeeds()
	here, there := newQuiet(), newQuiet()
	defer f.attach("b", docs, here)()
	defer f.attach("c", others, there)()
	f.end("none", errStreamOver)
	f.end("b", errStreamOver)
	if !errors.Is(here.ended(), errStreamOver) || there.ended() != nil {
		t.Errorf("ended with %v and %v", here.ended(), there.ended())
	}
	again := newQuiet()
	defer f.attach("b", docs, again)()
	replaced := newQuiet()
	defer f.attach("b", others, replaced)() // the brain was made anew
	if !errors.Is(again.ended(), errStreamOver) || replaced.ended() != nil {
		t.Errorf("ended with %v and %v", again.ended(), replaced.ended())
	}
	f.endAll(errShuttingDown)
	late := newQuiet()
	defer f.attach("d", docs, late)()
	if !errors.Is(here.ended(), errStreamOver) || !errors.Is(there.ended(), errShuttingDown) || !errors.Is(late.ended(), errShuttingDown) {
		t.Errorf("ended with %v, %v and %v", here.ended(), there.ended(), late.ended())
	}
}

func TestListenerLimit(t *testing.T) {
	unblocked := 0
	l := newListener(func() { unblocked++ })
	for i := range maxBehind {
		if !l.put(fmt.Append(nil, i)) {
			t.Fatalf("no room for change %d", i)
		}
	}
	for i := range 10 {
		if change, ok, err := l.next(); string(change) != fmt.Sprint(i) || !ok || err != nil {
			t.Fatalf("change %d: %s, %t, %v", i, change, ok, err)
		}
	}
	for range 10 {
		l.put(nil)
	}
	if l.put(nil) || unblocked != 1 {
		t.Errorf("room for one more, unblocked %d times", unblocked)
	}
	if _, ok, err := l.next(); ok || !errors.Is(err, errTooSlow) {
		t.Errorf("got %t, %v", ok, err)
	}
	l.end(errShuttingDown)
	if !errors.Is(l.ended(), errTooSlow) {
		t.Errorf("the cause became %v", l.ended())
	}
}

// A batch must never cut a client that has read everything before it.
var _ [maxBehind - protocol.MaxBatchOps]struct{}
