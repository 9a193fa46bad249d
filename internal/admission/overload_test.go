package admission

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/internal/awaittest"
)

// processor is one that does what it is given in order, in fake time.
type processor chan struct{}

func (p processor) use(d time.Duration) {
	p <- struct{}{}
	time.Sleep(d)
	<-p
}

// served is what became of simulated requests.
type served struct {
	mu             sync.Mutex
	answered, shed int
	waited         []time.Duration // until the work was done
}

// quantile returns that of the times of answered requests.
func (s *served) quantile(p float64) time.Duration {
	slices.Sort(s.waited)
	return s.waited[int(p*float64(len(s.waited)-1))]
}

// request passes a gate as the requests of the daemon do: it is read or refused, at a cost of the
// processor, and works for some time.
func (s *served) request(ctx context.Context, p processor, g *Gate, refusal, work time.Duration) error {
	arrived := time.Now()
	p.use(refusal)
	err := ErrOverloaded
	if !g.Refuse("a") {
		var leave func()
		if leave, err = g.Enter(ctx, "a"); err == nil {
			p.use(work)
			leave()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.shed++
		return err
	}
	s.answered++
	s.waited = append(s.waited, time.Since(arrived))
	return nil
}

// simulate has requests arrive as a function says, at a gate with one slot, and waits for their
// ends.
func simulate(t *testing.T, arrive func(begin func(work time.Duration) error, async func(func()))) *served {
	t.Helper()
	var s served
	synctest.Test(t, func(t *testing.T) {
		g, p := New(Config{Slots: 1, Queue: 128}), make(processor, 1)
		var requests sync.WaitGroup
		arrive(func(work time.Duration) error { return s.request(t.Context(), p, g, time.Millisecond/40, work) }, requests.Go)
		requests.Wait()
	})
	return &s
}

// offer has requests arrive in a Poisson process for 5 s, at a multiple of the rate at which the
// work can be done. It takes a millisecond in the mean, and half of it less than 0.7 ms.
func offer(t *testing.T, factor float64) *served {
	t.Helper()
	return simulate(t, func(begin func(work time.Duration) error, async func(func())) {
		r := rand.New(rand.NewPCG(1, 2))
		for start := time.Now(); time.Since(start) < 5*time.Second; {
			time.Sleep(time.Duration(r.ExpFloat64() / factor * float64(time.Millisecond)))
			work := time.Duration(math.Exp(r.NormFloat64()*.8-.32) * float64(time.Millisecond))
			async(func() { _ = begin(work) })
		}
	})
}

// TestGoodput: under overload nearly as much is answered as can be, and what is answered has not
// waited much longer than without overload, also while the queue fills at the beginning.
func TestGoodput(t *testing.T) {
	half := offer(t, .5)
	for _, factor := range []float64{2, 4} {
		got := offer(t, factor)
		share, times := float64(got.answered)/5000, float64(got.quantile(.99))/float64(half.quantile(.99))
		t.Logf("%v × capacity: %.2f of it answered, %d shed; p50 %v, p99 %v, %.1f × that of half load", factor,
			share, got.shed, got.quantile(.5), got.quantile(.99), times)
		if share < .85 || times > 3 {
			t.Errorf("%v × capacity: want at least .85 of it, and p99 at most 3 × that of half load", factor)
		}
	}
}

// TestNothingShedNeedlessly: clients that wait for their responses, and bursts, are served.
func TestNothingShedNeedlessly(t *testing.T) {
	closed := simulate(t, func(begin func(work time.Duration) error, async func(func())) {
		for start, client := time.Now(), 0; client < 64; client++ {
			async(func() {
				for time.Since(start) < 5*time.Second {
					if err := begin(time.Millisecond); err != nil {
						t.Errorf("a client that waits: %v", err)
					}
				}
			})
		}
	})
	if closed.answered < 4800 {
		t.Errorf("of 64 clients that wait, %d requests were answered in 5 s, of at most 5,000", closed.answered)
	}
	const most = 1 + 128 // has a slot or waits
	for _, burst := range []int{most, 200} {
		got := simulate(t, func(begin func(work time.Duration) error, async func(func())) {
			for range 3 {
				time.Sleep(2 * time.Second)
				for range burst {
					async(func() { _ = begin(time.Millisecond) })
				}
			}
		})
		if want := 3 * min(burst, most); got.answered < want {
			t.Errorf("of three bursts of %d, %d were answered, want at least %d", burst, got.answered, want)
		}
	}
}

// TestManyClients: more clients than find room, which wait for their responses and then for as long
// as they are asked to, or slowed down to, keep a processor busy.
func TestManyClients(t *testing.T) {
	for _, tc := range []struct {
		clients int
		pause   time.Duration // after a refusal
	}{{256, time.Second}, {1024, time.Second}, {256, 100 * time.Millisecond}} {
		got := simulate(t, func(begin func(work time.Duration) error, async func(func())) {
			for start, client := time.Now(), 0; client < tc.clients; client++ {
				async(func() {
					for time.Since(start) < 5*time.Second {
						if begin(time.Millisecond) != nil {
							time.Sleep(tc.pause)
						}
					}
				})
			}
		})
		t.Logf("%d clients, %v after a refusal: %d answered, %d shed, p99 %v", tc.clients, tc.pause, got.answered, got.shed, got.quantile(.99))
		if got.answered < 4250 {
			t.Error("want at least 0.85 of 5,000 answered")
		}
	}
}

// TestRecovery: clients that wait for their responses, and that all find room in the queue, are not
// refused for long after an overload, even if they repeat refused requests.
func TestRecovery(t *testing.T) {
	simulate(t, func(begin func(work time.Duration) error, async func(func())) {
		for range 1000 {
			async(func() { _ = begin(time.Millisecond) })
		}
		start := time.Now()
		for range 64 {
			async(func() {
				for time.Since(start) < trial+5*time.Second {
					if err := begin(time.Millisecond); err == nil {
						continue
					}
					if since := time.Since(start); since > trial+calm {
						t.Errorf("refused after %v", since)
						return
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
	})
}

// TestStale: while work is refused, what has waited too long is shed, which is longer if more
// tenants take turns.
func TestStale(t *testing.T) {
	const mean = time.Millisecond
	for _, tc := range []struct {
		waiting []string
		waits   time.Duration
		shed    bool
	}{
		{[]string{"a1", "a2"}, stale * crowd * mean, false},
		{[]string{"a1", "a2"}, stale*crowd*mean + 1, true},
		{[]string{"a1", "b1"}, stale*crowd*mean + 1, false},
		{[]string{"a1", "b1"}, 2*stale*crowd*mean + 1, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(Config{Slots: 1, Queue: 2})
			s.arrive(t.Context(), "a0")
			time.Sleep(mean)
			s.finish("a0")
			s.arrive(t.Context(), "x")
			s.arrive(t.Context(), tc.waiting[0])
			time.Sleep(mean)
			s.arrive(t.Context(), tc.waiting[1])
			time.Sleep(tc.waits - mean)
			if !s.gate.Refuse("a") {
				t.Error("the queue is not full")
			}
			s.gate.leave(s.gate.tenants["x"]) // has taken much longer than the mean, which must not change
			synctest.Wait()
			delete(s.leave, "x")
			if shed := s.ended["a1"] != nil; shed != tc.shed || len(s.ended) > 1 {
				t.Errorf("after %v of %v: ended %v", tc.waits, tc.waiting, s.ended)
			}
			s.finishAll()
			s.empty(t)
		})
	}
}

// TestArrivalsBeforeWork: the queue of the gate has what waits, not that of the scheduler.
// Otherwise a processor does the work of each request before the next one is seen, and none is ever
// refused.
func TestArrivalsBeforeWork(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const most = 1 + 8 // has a slot or waits
	g := New(Config{Slots: 1, Queue: most - 1})
	var answered, refused atomic.Int64
	var requests sync.WaitGroup
	for range 10 * most {
		requests.Go(func() {
			if g.Refuse("a") {
				refused.Add(1)
				return
			}
			leave, err := g.Enter(t.Context(), "a")
			if err != nil {
				return
			}
			for range 100_000 { // does not block
				answered.Load()
			}
			answered.Add(1)
			leave()
		})
	}
	awaittest.Wait(t, "requests", requests.Wait)
	if refused.Load() == 0 || answered.Load() == 0 {
		t.Errorf("of %d requests that were ready at once %d were refused and %d answered", 10*most, refused.Load(), answered.Load())
	}
}
