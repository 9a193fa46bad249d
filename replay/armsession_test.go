package replay

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/harness"
	"evalctl/internal/awaittest"
	"evalctl/replay/ingest"
)

// fakeSubject opens and fills as a test says.
type fakeSubject struct {
	baseline
	opening func() error
	filling func(haystack string)
	closing func()
}

func (s fakeSubject) open(ctx context.Context, _ func(*harness.Session)) (context.Context, error) {
	return ctx, s.opening()
}

func (s fakeSubject) fill(_ context.Context, _ func(*ingest.Config), haystacks []string) (*ingest.FilledBrains, error) {
	s.filling(haystacks[0])
	return &ingest.FilledBrains{}, nil
}

func (s fakeSubject) close() error {
	s.closing()
	return nil
}

// TestForgetBrains: a worker with more brains than it remembers does not fill one twice at a time.
func TestForgetBrains(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	var slow, first atomic.Int32
	s := &armSession{brainsByHaystack: map[string]*workerBrain{}}
	s.instruments = &instruments{plan: &Plan{}}
	s.arm = Arm{Name: "oracle", Baseline: "oracle"}
	s.subject = fakeSubject{filling: func(haystack string) {
		switch haystack {
		case "slow":
			if slow.Add(1) == 1 {
				close(began)
				<-end
			}
		case "h0":
			first.Add(1)
		}
	}}
	fill := func(haystack string) {
		if _, err := s.brain(t.Context(), haystack); err != nil {
			t.Error(err)
		}
	}
	both := make(chan struct{}, 2)
	go func() { fill("slow"); both <- struct{}{} }()
	awaittest.Receive(t, "began", began)
	for i := range 2 * maxBrains {
		fill(fmt.Sprint("h", i))
	}
	if n := len(s.brainsByHaystack); n > maxBrains {
		t.Errorf("%d brains are remembered", n)
	}
	fill("h0")
	s.mu.Lock()
	filling := s.brainsByHaystack["slow"]
	s.mu.Unlock()
	if filling == nil {
		t.Error("the brain that is being filled is forgotten")
	}
	close(end)
	fill("slow")
	awaittest.Receive(t, "the first fill", both)
	if slow.Load() != 1 || first.Load() != 2 {
		t.Errorf("filled %d and %d times", slow.Load(), first.Load())
	}
}

// TestSessionsOneAfterTheOther: a worker opens the daemon of an arm again only once the daemon
// before has ended, because both use the same home.
func TestSessionsOneAfterTheOther(t *testing.T) {
	a := &workerArm{worker: &worker{instruments: instruments{plan: &Plan{}}}, arm: Arm{Name: "go"}}
	var closed atomic.Bool
	first := a.acquire()
	first.subject = fakeSubject{closing: func() { closed.Store(true) }}
	a.mu.Lock()
	a.drop(first)
	a.mu.Unlock()
	second := a.acquire()
	defer second.active.Done()
	early, refused := make(chan bool, 1), errors.New("no such program")
	second.subject = fakeSubject{opening: func() error {
		early <- !closed.Load()
		return refused
	}}
	got := make(chan error, 1)
	go func() { got <- second.open(t.Context()) }()
	select {
	case <-early:
		t.Fatal("the second daemon was opened beside the first")
	case <-time.After(100 * time.Millisecond):
	}
	first.active.Done() // its last question
	if awaittest.Receive(t, "opened", early) {
		t.Error("the second daemon was opened before the first had ended")
	}
	if err := awaittest.Receive(t, "got", got); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	a.closing.Wait()
}
