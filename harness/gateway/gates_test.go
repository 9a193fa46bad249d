package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"evalctl/harness/ledger"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

// TestGates: embeddings have a gateway of their own if their key is another one, and what any of
// the gateways rejects stops the run.
func TestGates(t *testing.T) {
	upstream := llm.Config{Provider: llm.ProviderOpenAI, Model: "m", BaseURL: "http://127.0.0.1:9/v1", APIKey: "a"}
	other := upstream
	other.APIKey = "b"
	for _, tt := range []struct {
		embedding *llm.Config
		gateways  int
		variables int
	}{{nil, 1, 2}, {&upstream, 1, 5}, {&other, 2, 5}} {
		var g Gates
		err := g.Open(Config{Log: slog.New(slog.DiscardHandler)}, Models{Upstream: &upstream, Embedding: tt.embedding})
		if err != nil {
			t.Fatal(err)
		}
		if len(g.list) != tt.gateways || len(g.Environment()) != tt.variables ||
			strings.Contains(strings.Join(g.Environment(), " "), "URL=http://127.0.0.1:9/") {
			t.Errorf("%d gateways, %q", len(g.list), g.Environment())
		}
		ctx, stop := g.Watch(t.Context())
		if g.Err() != nil || ctx.Err() != nil {
			t.Errorf("stopped before anything was rejected: %v", g.Err())
		}
		g.list[tt.gateways-1].fail(llm.ErrBudgetExceeded)
		awaittest.Receive(t, "ctx.Done", ctx.Done())
		if !errors.Is(context.Cause(ctx), llm.ErrBudgetExceeded) || !errors.Is(g.Err(), llm.ErrBudgetExceeded) {
			t.Errorf("got %v and %v", context.Cause(ctx), g.Err())
		}
		stop()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestGatesPhases: completions of one phase wait until those of another one have ended.
func TestGatesPhases(t *testing.T) {
	var g Gates
	upstream := llm.Config{Provider: llm.ProviderOpenAI, BaseURL: "http://127.0.0.1:9/v1", APIKey: "a"}
	if err := g.Open(Config{Log: slog.New(slog.DiscardHandler)}, Models{Upstream: &upstream}); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	leave := g.Enter(ledger.Ingest)
	asked := make(chan ledger.Phase)
	go func() {
		defer g.Enter(ledger.Actor)()
		asked <- g.list[0].config.Phase()
	}()
	for waits := false; !waits; {
		g.mu.Lock()
		waits = g.waiting[ledger.Actor] == 1
		g.mu.Unlock()
		select {
		case phase := <-asked:
			t.Fatalf("%s began while brains were filled", phase)
		default:
		}
	}
	if phase := g.list[0].config.Phase(); phase != ledger.Ingest {
		t.Errorf("%s while brains are filled", phase)
	}
	leave()
	if phase := awaittest.Receive(t, "asked", asked); phase != ledger.Actor {
		t.Errorf("%s while questions are asked", phase)
	}
}

// TestGatesCap: questions whose completions would have to wait for the cap inside the daemon, on
// its time, begin only once there is room for them.
func TestGatesCap(t *testing.T) {
	r := start(t, new(1000*token), nil, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "a", Input: 90, Output: 10} })
	g := Gates{completions: true, list: []*Gateway{r.Gateway}, waiting: map[ledger.Phase]int{}}
	g.changed = sync.NewCond(&g.mu)
	g.phase.Store(ledger.Actor)
	const body = `{"model":"m","max_tokens":240,"messages":[]}` // 348 tokens as the worst case
	if res, text := r.post("/chat/completions", body); res.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", res.StatusCode, text)
	}
	synctest.Test(t, func(t *testing.T) {
		begun := 0
		leaves := make(chan func(), 4)
		for range cap(leaves) {
			go func() {
				leave := g.Enter(ledger.Actor)
				begun++
				leaves <- leave
			}()
			synctest.Wait()
		}
		for _, want := range []int{2, 3, 4, 4} { // of 900 tokens that are left
			if begun != want {
				t.Errorf("%d questions have begun, want %d", begun, want)
			}
			(<-leaves)()
			synctest.Wait()
		}
	})
}
