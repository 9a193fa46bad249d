package replay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/harness"
	"evalctl/harness/daemontest"
	"evalctl/harness/gateway"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/awaittest"
	"evalctl/replay/actor"
	"evalctl/replay/source"
)

// aloneRig are arms whose daemons answer searches, and how many requests are under way at once.
type aloneRig struct {
	plan           *Plan
	lockstep       *lockstep
	arms           map[string]aloneAsker
	underWay, most atomic.Int32
	status         atomic.Int32
}

func newAloneRig(t *testing.T, questions int, names ...string) *aloneRig {
	t.Helper()
	rig := &aloneRig{arms: map[string]aloneAsker{}, lockstep: newLockstep(names)}
	rig.status.Store(http.StatusOK)
	plan := &Plan{Config: Config{Alone: questions, Timeout: time.Minute, Style: actor.RetrieveOnly, TopK: 5, Mode: "auto", Concurrency: 4}}
	for i := range 8 {
		plan.Questions = append(plan.Questions, source.Question{ID: fmt.Sprint("q", i), Text: fmt.Sprint("What is ", i, "?"), Haystack: "h", Brain: "h"})
	}
	rig.plan = plan
	for _, name := range names {
		plan.Arms = append(plan.Arms, Arm{Name: name})
		d := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
			n := rig.underWay.Add(1)
			defer rig.underWay.Add(-1)
			for most := rig.most.Load(); n > most && !rig.most.CompareAndSwap(most, n); most = rig.most.Load() {
			}
			time.Sleep(5 * time.Millisecond) // a daemon takes time, in which others must not be asked
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(int(rig.status.Load()))
			_, _ = w.Write([]byte(`{"chunks": [{"chunk_id": "c", "score": 1}]}`))
		})
		e, err := target.NewEndpoint(d.URL, "", "test", 4)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		a, err := actor.New(actor.Config{Style: actor.RetrieveOnly, TopK: 5,
			Target: &target.Target{Service: e, Brains: map[string]string{"h": "b"}, Mode: "auto"}})
		if err != nil {
			t.Fatal(err)
		}
		rig.arms[name] = aloneAsker{plan, &gateway.Gates{}, a, pace{rig.lockstep, name}}
	}
	return rig
}

// TestAskAlone: nothing else is under way when a daemon is asked alone, also while another arm is
// still asking its own questions.
func TestAskAlone(t *testing.T) {
	rig := newAloneRig(t, 5, "ts", "go", "py")
	var wg sync.WaitGroup
	got := map[string]*result.Alone{}
	var mu sync.Mutex
	release := make(chan struct{})
	for name, r := range rig.arms {
		wg.Go(func() {
			defer rig.lockstep.leave(name)
			if name == "py" {
				<-release
			}
			alone, err := r.ask(t.Context(), "")
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			got[name] = alone
		})
	}
	if n := rig.most.Load(); n != 0 {
		t.Errorf("%d requests before all arms had finished their questions", n)
	}
	close(release)
	awaittest.Wait(t, "the goroutines", wg.Wait)
	ids := map[string]int{}
	for name, a := range got {
		if a.Request != aloneSearch || a.Planned != 5 || len(a.Asked) != 5 || a.Failed() != 0 || a.Problem != "" {
			t.Errorf("%s: %+v", name, a)
		}
		for _, q := range a.Asked {
			ids[q.ID]++
		}
	}
	for id, n := range ids {
		if n != 3 {
			t.Errorf("%s was asked %d times, want by each arm once", id, n)
		}
	}
	if n := rig.most.Load(); n != 1 || len(ids) != 5 {
		t.Errorf("%d requests at once, %d questions", n, len(ids))
	}
}

// TestAloneTurns: each block has every daemon once, in orders that differ, and the seed decides.
func TestAloneTurns(t *testing.T) {
	rig := newAloneRig(t, 8, "a", "b", "c")
	rig.plan.Arms = append(rig.plan.Arms, Arm{Name: "oracle", Baseline: actor.Oracle})
	turns := rig.plan.aloneTurns()
	orders := map[string]bool{}
	for i := 0; i < len(turns); i += 3 {
		block, seen := turns[i:i+3], map[int]bool{}
		for _, turn := range block {
			seen[turn.arm] = true
			if turn.question != block[0].question || turn.arm == 3 {
				t.Errorf("block %v", block)
			}
		}
		if len(seen) != 3 {
			t.Errorf("block %v", block)
		}
		orders[fmt.Sprint(block[0].arm, block[1].arm, block[2].arm)] = true
	}
	if len(turns) != 24 || len(orders) < 2 {
		t.Errorf("%d turns in %d orders", len(turns), len(orders))
	}
	if again := rig.plan.aloneTurns(); fmt.Sprint(again) != fmt.Sprint(turns) {
		t.Error("the order differs with the same seed")
	}
	rig.plan.Drawn.Seed++
	if other := rig.plan.aloneTurns(); fmt.Sprint(other) == fmt.Sprint(turns) {
		t.Error("the order is the same with another seed")
	}
}

// TestAloneEnds: an arm that has no figures says why, and does not hold up the others. The end of
// the whole replay is an error, so that a resumed one asks again.
func TestAloneEnds(t *testing.T) {
	rig := newAloneRig(t, 3, "go", "py")
	goArm, py := rig.arms["go"], rig.arms["py"]
	a, err := py.ask(t.Context(), result.StopBudget)
	if err != nil || len(a.Asked) != 0 || a.Problem != "the arm stopped before its last question: budget_exceeded" {
		t.Errorf("a stopped arm: %+v, %v", a, err)
	}
	rig.lockstep.leave("py")

	rig.status.Store(http.StatusBadRequest)
	a, err = goArm.ask(t.Context(), "")
	if err != nil || len(a.Asked) != 3 || a.Failed() != 3 || a.Problem != "" {
		t.Errorf("a daemon that fails: %+v, %v", a, err)
	}
	for name, c := range map[string]struct {
		cause error
		fails bool
	}{"died": {harness.ErrDaemonDied, false}, "interrupted": {context.Canceled, true}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(c.cause)
		again := newAloneRig(t, 3, "go", "py")
		a, err := again.arms["go"].ask(ctx, "")
		if c.fails != errors.Is(err, c.cause) || !c.fails && a.Problem != c.cause.Error() {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}
