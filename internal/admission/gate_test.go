package admission

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scene runs work in a gate and remembers what became of it. Its methods return when every goroutine
// waits.
type scene struct {
	gate  *Gate
	began []string // the names of work, in order
	ended map[string]error
	leave map[string]func()
}

func newScene(cfg Config) *scene {
	return &scene{gate: New(cfg), ended: map[string]error{}, leave: map[string]func(){}}
}

// arrive has work of a tenant enter the gate. Its name begins with that of the tenant, of one byte.
func (s *scene) arrive(ctx context.Context, names ...string) {
	for _, name := range names {
		go func() {
			leave, err := s.gate.Enter(ctx, name[:1])
			if err != nil {
				s.ended[name] = err
				return
			}
			s.began = append(s.began, name)
			s.leave[name] = leave
		}()
		synctest.Wait()
	}
}

func (s *scene) finish(names ...string) {
	for _, name := range names {
		leave := s.leave[name]
		delete(s.leave, name)
		leave()
		synctest.Wait()
	}
}

// finishAll ends all work, the earliest first.
func (s *scene) finishAll() {
	for i := 0; i < len(s.began); i++ {
		if s.leave[s.began[i]] != nil {
			s.finish(s.began[i])
		}
	}
}

func (s *scene) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(s.began, want) {
		t.Errorf("began %q, want %q", s.began, want)
	}
}

// empty reports what a gate still holds after all work has ended.
func (s *scene) empty(t *testing.T) {
	t.Helper()
	g := s.gate
	if g.inFlight != 0 || g.queued != 0 || len(g.tenants) != 0 || len(g.turns) != 0 {
		t.Errorf("after the end: %d in flight, %d queued, tenants %v", g.inFlight, g.queued, g.tenants)
	}
}

func TestBoundedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(Config{Slots: 2, Queue: 3})
		s.arrive(t.Context(), "a1", "a2", "a3", "a4", "a5")
		s.expect(t, "a1", "a2")
		if got := s.gate.Stats(); got != (Stats{InFlight: 2, Queued: 3}) {
			t.Errorf("got %+v", got)
		}
		s.finish("a2")
		s.expect(t, "a1", "a2", "a3")
		s.finishAll()
		s.expect(t, "a1", "a2", "a3", "a4", "a5")
		s.empty(t)
	})
}

// TestOverload: the oldest work is shed, the newest admitted first, until a second has passed.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(Config{Slots: 1, Queue: 4})
		s.arrive(t.Context(), "a1", "a2", "a3", "a4", "a5", "a6")
		if !errors.Is(s.ended["a2"], ErrOverloaded) || len(s.ended) != 1 {
			t.Fatalf("ended %v, want only a2", s.ended)
		}
		s.finish("a1")
		s.expect(t, "a1", "a6")
		time.Sleep(calm)
		s.finishAll()
		s.expect(t, "a1", "a6", "a3", "a4", "a5")
		if got := s.gate.Stats(); got != (Stats{Shed: 1}) {
			t.Errorf("got %+v", got)
		}
		s.empty(t)
	})
}

// TestAbandoned: work whose client is gone leaves the queue at once, and shows that clients do not
// wait as long as the queue is.
func TestAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(Config{Slots: 1, Queue: 3})
		impatient, leave := context.WithCancel(t.Context())
		s.arrive(t.Context(), "a1", "a2")
		s.arrive(impatient, "a3")
		s.arrive(t.Context(), "a4")
		leave()
		synctest.Wait()
		if !errors.Is(s.ended["a3"], context.Canceled) {
			t.Fatalf("a3 ended with %v", s.ended["a3"])
		}
		s.arrive(t.Context(), "a5") // has room, so nothing is shed
		s.finishAll()
		s.expect(t, "a1", "a5", "a4", "a2")
		if got := s.gate.Stats(); got != (Stats{Abandoned: 1}) {
			t.Errorf("got %+v", got)
		}
		s.arrive(impatient, "a6")
		if !errors.Is(s.ended["a6"], context.Canceled) {
			t.Errorf("a6 ended with %v", s.ended["a6"])
		}
		s.empty(t)
	})
}

// TestRefuse: work is refused once it would have others shed, unless these are of a tenant with more.
func TestRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(Config{Slots: 2, PerTenant: 1, Queue: 3})
		expect := func(tenant string, want bool) {
			t.Helper()
			if got := s.gate.Refuse(tenant); got != want {
				t.Errorf("work of %s is refused: %t, with %+v", tenant, got, s.gate.Stats())
			}
		}
		expect("a", false)
		s.arrive(t.Context(), "a1")
		expect("a", false) // it may wait
		s.arrive(t.Context(), "a2", "a3")
		expect("a", false)
		s.arrive(t.Context(), "a4")
		expect("a", true)
		expect("b", false) // has a slot
		s.arrive(t.Context(), "b1")
		expect("b", false) // has less than a
		expect("a", true)
		s.arrive(t.Context(), "b2")
		if !errors.Is(s.ended["a2"], ErrOverloaded) {
			t.Errorf("a2 ended with %v", s.ended["a2"])
		}
		expect("b", false)
		if got := s.gate.Stats(); got != (Stats{InFlight: 2, Queued: 3, Shed: 3}) {
			t.Errorf("got %+v", got)
		}
		s.finishAll()
		s.empty(t)
	})
	// For a second, less may wait.
	synctest.Test(t, func(t *testing.T) {
		s := newScene(Config{Slots: 1, Queue: crowd + 2})
		refused := func() bool { return s.gate.Refuse("a") }
		for i := range 1 + crowd + 2 {
			if refused() {
				t.Errorf("work %d is refused", i)
			}
			s.arrive(t.Context(), "a"+string(rune('A'+i)))
		}
		if !refused() {
			t.Error("the queue is full")
		}
		s.finish("aA", "aB", "aC")
		if s.gate.queued != crowd-1 || refused() {
			t.Errorf("with %d that wait, work is refused", s.gate.queued)
		}
		s.arrive(t.Context(), "ax")
		if !refused() {
			t.Errorf("with %d that wait, work is not refused", s.gate.queued)
		}
		time.Sleep(calm)
		if refused() {
			t.Error("work is refused later")
		}
		s.finishAll()
		s.empty(t)
	})
	if g := New(Config{}); !g.Refuse("a") || g.Stats() != (Stats{Shed: 1}) || len(g.tenants) != 0 {
		t.Errorf("a gate without slots has %+v", g.Stats())
	}
}

func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(Config{Slots: 1, Queue: 1})
		s.arrive(t.Context(), "a1", "a2")
		time.Sleep(patience - time.Nanosecond)
		synctest.Wait()
		if got := s.gate.Stats(); got != (Stats{InFlight: 1, Queued: 1}) {
			t.Fatalf("too early: %+v", got)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if !errors.Is(s.ended["a2"], ErrOverloaded) {
			t.Errorf("a2 ended with %v", s.ended["a2"])
		}
		s.finishAll()
		s.empty(t)
	})
}

// TestFairness: one tenant floods the gate. The other one waits for one slot at a time, loses
// nothing, and keeps its order.
func TestFairness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(Config{Slots: 1, Queue: 4})
		s.arrive(t.Context(), "f1", "f2", "f3", "f4", "f5")
		s.arrive(t.Context(), "q1", "q2", "f6", "f7")
		for _, name := range []string{"f2", "f3", "f4", "f5"} {
			if !errors.Is(s.ended[name], ErrOverloaded) {
				t.Errorf("%s ended with %v", name, s.ended[name])
			}
		}
		s.finishAll()
		s.expect(t, "f1", "f7", "q1", "f6", "q2")
		s.empty(t)
	})
}

// TestShare: a tenant does not get all slots.
func TestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(Config{Slots: 3, PerTenant: 2, Queue: 9})
		s.arrive(t.Context(), "a1", "a2", "a3", "a4", "b1", "b2")
		s.expect(t, "a1", "a2", "b1")
		s.finish("b1")
		s.expect(t, "a1", "a2", "b1", "b2")
		s.finish("b2")
		s.expect(t, "a1", "a2", "b1", "b2")
		s.finish("a1")
		s.expect(t, "a1", "a2", "b1", "b2", "a3")
		s.finishAll()
		s.empty(t)
	})
}

func TestContext(t *testing.T) {
	leave, err := Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leave()
	g := New(Config{Slots: 1})
	ctx, coming, end := With(t.Context(), g, "a")
	if g.coming != 0 {
		t.Errorf("%d are on their way", g.coming)
	}
	coming()
	if g.coming != 1 {
		t.Errorf("%d are on their way", g.coming)
	}
	if leave, err = Enter(ctx); err != nil || g.Stats().InFlight != 1 {
		t.Fatalf("got %v and %+v", err, g.Stats())
	}
	if _, err := Enter(ctx); !errors.Is(err, ErrOverloaded) {
		t.Errorf("got %v", err)
	}
	leave()
	end()
	if got := g.Stats(); got != (Stats{Shed: 1}) || g.coming != 0 || len(g.tenants) != 0 {
		t.Errorf("got %+v, %d on their way, %d tenants", got, g.coming, len(g.tenants))
	}
}

// TestOnTheirWay: what waits for other things before it is at the gate is not unlimited either, and
// no tenant has others refused.
func TestOnTheirWay(t *testing.T) {
	g := New(Config{Slots: 2, Queue: 3})
	refused := func(tenant string) bool { return g.Refuse(tenant) }
	var ends []func()
	for i := range 2 + 3 {
		if refused("a") {
			t.Errorf("work %d is refused", i)
		}
		_, coming, end := With(t.Context(), g, "a")
		coming()
		coming()
		ends = append(ends, end)
	}
	if !refused("a") || refused("b") || g.Idle() {
		t.Errorf("with %d on their way: a refused %t, b %t", g.coming, refused("a"), refused("b"))
	}
	ends[0]()
	ends[0]()
	if refused("a") {
		t.Error("there is room again")
	}
	for _, end := range ends {
		end()
	}
	if len(g.tenants) != 0 || g.coming != 0 || !g.Idle() {
		t.Errorf("%d on their way, %d tenants", g.coming, len(g.tenants))
	}
}

// TestInvariants: whatever happens, limits are kept, no slot is free while work that may have it
// waits, and nothing is lost.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		slots := rapid.IntRange(1, 4).Draw(rt, "slots")
		cfg := Config{Slots: slots, PerTenant: rapid.IntRange(1, slots).Draw(rt, "share"), Queue: rapid.IntRange(0, 5).Draw(rt, "queue")}
		steps := rapid.SliceOf(rapid.IntRange(0, 5)).Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			s := newScene(cfg)
			arrived := 0
			var cancels []func()
			for i, step := range steps {
				switch {
				case step < 3:
					ctx, cancel := context.WithCancel(t.Context())
					cancels = append(cancels, cancel)
					s.arrive(ctx, string(rune('a'+step))+string(rune('0'+i)))
					arrived++
				case step == 3 && len(cancels) > 0:
					cancels[len(cancels)/2]()
					synctest.Wait()
				case step == 4:
					time.Sleep(calm)
					synctest.Wait()
				case step == 5 && i%2 == 0:
					before := s.gate.Stats()
					refused := s.gate.Refuse("a")
					if after := s.gate.Stats(); refused && after.Shed != before.Shed+1 || !refused && after != before {
						t.Errorf("refused %t with %+v, then %+v", refused, before, after)
					}
				default:
					for _, name := range s.began {
						if s.leave[name] != nil {
							s.finish(name)
							break
						}
					}
				}
				checkLimits(t, s.gate)
			}
			s.finishAll()
			for _, cancel := range cancels {
				cancel()
			}
			if len(s.began)+len(s.ended) != arrived {
				t.Errorf("%d arrived, %d began and %d ended otherwise", arrived, len(s.began), len(s.ended))
			}
			s.empty(t)
		})
	})
}

func checkLimits(t *testing.T, g *Gate) {
	t.Helper()
	inFlight, queued := 0, 0
	for _, of := range g.turns {
		inFlight, queued = inFlight+of.inFlight, queued+of.queue.Len()
		if of.inFlight > g.cfg.PerTenant {
			t.Errorf("tenant %s has %d slots", of.name, of.inFlight)
		}
		if of.queue.Len() > 0 && of.inFlight < g.cfg.PerTenant && g.inFlight < g.cfg.Slots {
			t.Errorf("tenant %s waits for a slot that is free", of.name)
		}
	}
	if inFlight != g.inFlight || queued != g.queued || inFlight > g.cfg.Slots || queued > g.cfg.Queue {
		t.Errorf("%d in flight, %d queued, %+v with %+v", inFlight, queued, g.Stats(), g.cfg)
	}
}
