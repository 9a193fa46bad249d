package bench_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness"
	"evalctl/harness/bench"
	"evalctl/harness/bench/load"
	"evalctl/harness/bench/record"
	"evalctl/harness/bench/work"
	"evalctl/harness/daemontest"
	"evalctl/harness/result"
	"evalctl/internal/longtest"
)

// daemon returns a daemon whose searches end when wait returns.
func daemon(t *testing.T, wait func()) *daemontest.Daemon {
	return refusing(t, func() error {
		wait()
		return nil
	})
}

// refusing returns a daemon whose searches end when wait returns, with an error if it returns one.
func refusing(t *testing.T, wait func() error) *daemontest.Daemon {
	var brains sync.Map // created, by the request
	return daemontest.New(t, func(w http.ResponseWriter, r *http.Request, call daemontest.Call) {
		switch {
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case strings.HasSuffix(r.URL.Path, "/v1/brains"):
			if _, exists := brains.LoadOrStore(string(call.Raw), true); exists {
				w.WriteHeader(http.StatusConflict)
				return
			}
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"brain_id":"b"}`)
		case strings.HasSuffix(r.URL.Path, "/search"):
			if wait() != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			fmt.Fprint(w, `{"chunks":[{"path":"raw/documents/bench/000/000000.md","text":"nothing"}]}`)
		case strings.HasSuffix(r.URL.Path, "/ask"):
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "/batch-ops"):
			fmt.Fprint(w, `{"committed":1}`)
		default:
			fmt.Fprint(w, `{"ok":true}`)
		}
	})
}

type silent struct{}

func (silent) Doing(string, *load.Live) {}
func (silent) Save(*record.File) error  { return nil }

// measure runs a bench of daemons, the null daemon included.
func measure(t *testing.T, w bench.Settings, daemons ...*daemontest.Daemon) *record.File {
	t.Helper()
	f, err := run(t, w, daemons...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func run(t *testing.T, w bench.Settings, daemons ...*daemontest.Daemon) (*record.File, error) {
	t.Helper()
	w.Mix, w.MaxInFlight, w.Timeout, w.TopK, w.Mode, w.Documents, w.Brains = "search", 1000, time.Minute, 10, protocol.ModeAuto, "1", 1
	w.Targets, w.Step = len(daemons), 2*time.Second
	plan, err := bench.NewPlan(w)
	if err != nil {
		t.Fatal(err)
	}
	c := bench.Config{
		Plan: plan, Brain: "", Queries: []string{"nothing"}, Documents: work.Synthetic(1), Step: w.Step, Observer: silent{},
	}
	for i, d := range daemons {
		c.Targets = append(c.Targets, bench.Target{
			Name: fmt.Sprint("d", i), Dialect: result.Snake, Session: harness.SessionConfig{Endpoint: d.URL, UserAgent: "test"},
		})
	}
	c.Targets = append(c.Targets, bench.Target{Name: "null", Null: true, Dialect: result.Snake})
	return bench.Run(t.Context(), c)
}

// TestKnownAnswersOverSockets repeats what other tests show in simulated time, with a real daemon. It
// needs a machine with time to spare.
func TestKnownAnswersOverSockets(t *testing.T) {
	longtest.Skip(t)
	start := time.Now()
	freezing := daemon(t, func() {
		if in := time.Since(start) % (10 * time.Second); in > 9*time.Second {
			time.Sleep(10*time.Second - in)
		}
		time.Sleep(5 * time.Millisecond)
	})
	w := bench.Settings{Rate: "100/s", Duration: 30 * time.Second, Rounds: 10}
	open := measure(t, w, freezing).Summaries[0].Ops[0].Latency
	w.Rate, w.Concurrency = "", 8
	loop := measure(t, w, freezing).Summaries[0].Ops[0].Latency
	t.Logf("freezing daemon: p99 %.0f ms at a constant rate, %.1f ms in a closed loop", open.P99.Value, loop.P99.Value)
	if open.P99.Value < 800 || loop.P99.Value > 50 {
		t.Error("want above 800 ms and below 50 ms")
	}

	exponential := daemon(t, func() { time.Sleep(time.Duration(rand.ExpFloat64() * float64(100*time.Millisecond))) })
	o := measure(t, bench.Settings{Rate: "500/s", Duration: 60 * time.Second, Rounds: 10}, exponential).Summaries[0].Ops[0].Latency
	for p, q := range map[float64]*record.Quantity{0.5: o.P50, 0.9: o.P90, 0.99: o.P99} {
		want := -100 * math.Log(1-p)
		t.Logf("exponential daemon: quantile %v is %.1f ms, and should be %.1f ms", p, q.Value, want)
		if math.Abs(q.Value/want-1) > 0.03 { // 2 % of its own, and what timers and sockets add
			t.Error("want it within 3 %")
		}
	}
}

// TestFindLimitOverSockets finds the capacities of daemons, which a load of others on the machine
// would lower.
func TestFindLimitOverSockets(t *testing.T) {
	longtest.Skip(t)
	for _, s := range []bench.Server{
		{Workers: 1, Service: time.Second / 57},
		{Workers: 1, Service: time.Second / 230},
		{Workers: 16, Service: 16 * time.Second / 230},
		{Workers: 16, Service: 16 * time.Second / 900, Room: 40},
		{Workers: 100, Service: 100 * time.Second / 1170},
		{Workers: 100, Service: 100 * time.Second / 4700},
	} {
		capacity := float64(s.Workers) / s.Service.Seconds()
		for _, times := range []float64{100, 2} {
			t.Run(fmt.Sprintf("%d workers, %.0f a second, %v times", s.Workers, capacity, times), func(t *testing.T) {
				objective := fmt.Sprintf("p99<%v", time.Duration(times*float64(s.Service)).Round(time.Microsecond))
				l := measure(t, bench.Settings{Search: objective, Duration: time.Second, Rounds: 1}, refusing(t, s.Start())).Limits[0]
				least := 0.95
				if capacity > 2000 && times < 10 { // 21 ms above the service is what threads may wait for a processor
					least = 0.8
				}
				t.Logf("%3d workers, %4.0f/s  %-14s  %7.1f/s  ×%.3f  confirmed %v", s.Workers, capacity, objective, l.Rate, l.Rate/capacity, l.Confirmed)
				if !l.Confirmed || l.Rate < least*capacity || l.Rate > 1.05*capacity {
					t.Errorf("%+v, %s: the limit is %+v", s, objective, l)
				}
			})
		}
	}
}

// TestBenchOfEqualDaemons measures two daemons in turns, and removes what it has created.
func TestBenchOfEqualDaemons(t *testing.T) {
	a, b := daemon(t, func() { time.Sleep(time.Millisecond) }), daemon(t, func() { time.Sleep(time.Millisecond) })
	f := measure(t, bench.Settings{Rate: "50/s", Duration: time.Second, Rounds: 8, FailOver: "300%"}, a, b)
	if len(f.Blocks) != 24 || len(f.Summaries) != 3 || len(f.Comparisons) != 2 {
		t.Fatalf("%d blocks, %d summaries, %d comparisons", len(f.Blocks), len(f.Summaries), len(f.Comparisons))
	}
	order := map[string]bool{}
	for i := 0; i < len(f.Blocks); i += 3 {
		order[fmt.Sprint(f.Blocks[i].Target, f.Blocks[i+1].Target, f.Blocks[i+2].Target)] = true
		for _, b := range f.Blocks[i : i+3] {
			if b.Round != i/3 || b.LeftOut == 0 && !f.Targets[b.Target].Null && f.Plan.LeadSeconds > 0.04 {
				t.Errorf("block %+v", b)
			}
		}
	}
	if len(order) < 2 {
		t.Error("the order of the targets is the same in all rounds")
	}
	for i := range 8 {
		if x, y := ops(f, 0, i), ops(f, 1, i); x != y {
			t.Errorf("round %d: the targets were offered %d and %d requests", i, x, y)
		}
	}
	for _, d := range []*daemontest.Daemon{a, b} {
		calls := d.Calls()
		if last := calls[len(calls)-1]; last.Method != http.MethodDelete {
			t.Errorf("the last request is %s %s, want that the brain is removed", last.Method, last.Path)
		}
	}
}

// TestSlowClientOfHangingDaemon ends with the load, although the daemon answers no question.
func TestSlowClientOfHangingDaemon(t *testing.T) {
	f, err := run(t, bench.Settings{Rate: "50/s", Duration: 600 * time.Millisecond, Rounds: 1, Chaos: bench.SlowClient}, daemon(t, func() {}))
	if err == nil || !strings.Contains(err.Error(), "hold an ask stream open") || len(f.Blocks) != 1 || len(f.Faults) != 0 {
		t.Errorf("%v, %d blocks, %d faults", err, len(f.Blocks), len(f.Faults))
	}
}

// ops returns how many requests a target was offered in a round.
func ops(f *record.File, target, round int) (n int64) {
	for _, b := range f.Blocks {
		if b.Target == target && b.Round == round {
			n += record.Offered(b)
		}
	}
	return n
}

// TestBenchOfOneDaemonTwice gives a running daemon two names, as one does to see what two equal
// targets look like. Each has brains of its own.
func TestBenchOfOneDaemonTwice(t *testing.T) {
	d := daemon(t, func() {})
	f := measure(t, bench.Settings{Rate: "50/s", Duration: 400 * time.Millisecond, Rounds: 2}, d, d)
	if len(f.Comparisons) == 0 {
		t.Error("the targets are not compared")
	}
}
