package llm

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/awaittest"
	"evalctl/internal/llm/llmtest"
)

// At one dollar per million tokens, a token costs a micro-dollar.
var testPrices = Prices{"m": {Dollar, Dollar}}

const token = Dollar / 1_000_000

func openMeter(t *testing.T, b *Budget, reply func(llmtest.Call) llmtest.Reply) (*Meter, *llmtest.Server) {
	t.Helper()
	srv := llmtest.NewServer(t, reply)
	o, err := newOpenAI(endpointConfig{BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMeter(o, testPrices, b)
	if err != nil {
		t.Fatal(err)
	}
	return m, srv
}

func TestWorstCaseAndLikely(t *testing.T) {
	m, _ := openMeter(t, nil, llmtest.Script())
	r := ask("m", strings.Repeat("x", 396)) // 400 bytes together with "user"
	if got, want := m.WorstCase(r), (400+16+64+100)*token; got != want {
		t.Errorf("worst case %s, want %s", got, want)
	}
	if got, want := m.Likely(r), (100+64+25)*token; got != want {
		t.Errorf("likely %s, want %s", got, want)
	}
}

func TestMeterCounts(t *testing.T) {
	b := NewBudget(Dollar)
	m, _ := openMeter(t, b, llmtest.Script(
		llmtest.Reply{Text: "a", Input: 10, Output: 5},
		llmtest.Reply{Text: "a b", Input: 20, Output: 6},
		llmtest.Reply{Status: 400}))
	resp, err := m.Complete(t.Context(), ask("m", "q"))
	if err != nil || resp.Cost != 15*token {
		t.Error(resp, err)
	}
	if resp, err = m.Complete(t.Context(), streamed(ask("m", "q"), func(string) error { return nil })); err != nil || resp.Cost != 26*token {
		t.Error(resp, err)
	}
	if resp, err = m.Complete(t.Context(), ask("m", "q")); err == nil || resp.Cost != 0 {
		t.Error("a refusal costs nothing:", resp, err)
	}
	want := Totals{Calls: 3, Attempts: 3, Usage: Usage{InputTokens: 30, OutputTokens: 11}, Cost: 41 * token}
	if got := m.Totals(); !cmp.Equal(got, want) || b.Spent() != want.Cost {
		t.Error(b.Spent(), cmp.Diff(want, got))
	}
}

// An attempt whose answer was lost is charged in full, and the next one must fit in what is left.
func TestLostAttemptsAreReserved(t *testing.T) {
	r := ask("m", "q")
	lost := llmtest.Reply{Status: 504, RetryAfter: "0"}
	answer := llmtest.Reply{Text: "a", Input: 10, Output: 5}

	b := NewBudget(Dollar)
	m, _ := openMeter(t, b, llmtest.Script(lost, lost, answer))
	worst := m.WorstCase(r)
	resp, err := m.Complete(t.Context(), r)
	if err != nil || resp.Attempts != 3 || resp.Cost != 2*worst+15*token || b.Spent() != resp.Cost || m.Totals().Lost != 2*worst {
		t.Errorf("%+v, %v, spent %s, %+v", resp, err, b.Spent(), m.Totals())
	}

	b = NewBudget(2*worst + worst/2)
	m, srv := openMeter(t, b, llmtest.Script(lost, lost, answer))
	resp, err = m.Complete(t.Context(), r)
	if !errors.Is(err, ErrBudgetExceeded) || len(srv.Calls()) != 2 || resp.Attempts != 2 || b.Spent() != 2*worst {
		t.Errorf("%+v, %v, %d requests, spent %s", resp, err, len(srv.Calls()), b.Spent())
	}
}

func TestRefusedAttemptsAreNotCharged(t *testing.T) {
	b := NewBudget(Dollar)
	m, _ := openMeter(t, b, llmtest.Script(llmtest.Reply{Status: 429, RetryAfter: "0"}, llmtest.Reply{Text: "a", Input: 10, Output: 5}))
	resp, err := m.Complete(t.Context(), ask("m", "q"))
	if err != nil || resp.Cost != 15*token || m.Totals().Attempts != 2 {
		t.Errorf("%+v, %v, %+v", resp, err, m.Totals())
	}
}

// TestUncountedUsage: a provider that counts no tokens could have charged any number of them, so
// under a cap the worst case is charged. Without a cap, the estimate is the better figure.
func TestUncountedUsage(t *testing.T) {
	r := ask("m", strings.Repeat("x", 396))
	for _, c := range []struct {
		name   string
		budget *Budget
		text   string
		want   USD
		lost   USD
	}{
		{"no cap", nil, "four", 101 * token, 0},
		{"cap", NewBudget(Dollar), "four", 580 * token, 580 * token},
		{"cap passed", NewBudget(Dollar), strings.Repeat("y", 4000), 1100 * token, 1100 * token},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _ := openMeter(t, c.budget, llmtest.Script(llmtest.Reply{Text: c.text}))
			resp, err := m.Complete(t.Context(), r)
			got := m.Totals()
			if err != nil || resp.Cost != c.want || !resp.Usage.Estimated || got.Cost != c.want || !got.Usage.Estimated || got.Lost != c.lost {
				t.Errorf("%+v, %v, %+v", resp, err, got)
			}
			if c.budget != nil && c.budget.Spent() != c.want {
				t.Errorf("spent %s", c.budget.Spent())
			}
		})
	}
}

func TestInterruptedCallIsChargedInFull(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := NewBudget(Dollar)
	m, _ := openMeter(t, b, func(llmtest.Call) llmtest.Reply {
		cancel()
		return llmtest.Reply{Hang: true}
	})
	r := ask("m", "q")
	resp, err := m.Complete(ctx, r)
	if !errors.Is(err, context.Canceled) || resp.Cost != m.WorstCase(r) || b.Spent() != resp.Cost {
		t.Errorf("%+v, %v, spent %s", resp, err, b.Spent())
	}
	if resp, err = m.Complete(ctx, r); !errors.Is(err, context.Canceled) || resp.Cost != 0 {
		t.Errorf("a call that never began: %+v, %v", resp, err)
	}
}

// TestOverrunIsNotBelieved: a count above what the request could use is charged as the worst case,
// and the cap holds.
func TestOverrunIsNotBelieved(t *testing.T) {
	b := NewBudget(300 * token)
	m, srv := openMeter(t, b, llmtest.Script(llmtest.Reply{Text: "a", Input: 5000, Output: 1}))
	r := ask("m", "q")
	worst := m.WorstCase(r)
	if resp, err := m.Complete(t.Context(), r); err != nil || resp.Cost != worst || b.Spent() != worst || resp.UsageProblem == "" {
		t.Errorf("%+v, %v", resp, err)
	}
	if _, err := m.Complete(t.Context(), r); !errors.Is(err, ErrBudgetExceeded) || len(srv.Calls()) != 1 {
		t.Errorf("%v after %d requests", err, len(srv.Calls()))
	}
	if got := m.Totals(); got.Lost != worst {
		t.Errorf("got %+v", got)
	}
}

func TestUnpricedModel(t *testing.T) {
	m, srv := openMeter(t, NewBudget(Dollar), llmtest.Script())
	_, err := m.Complete(t.Context(), ask("mystery", "q"))
	if err == nil || !strings.Contains(err.Error(), "--price model=in/out") || len(srv.Calls()) != 0 {
		t.Errorf("%v after %d requests", err, len(srv.Calls()))
	}
	if err := m.CheckModel("m"); err != nil {
		t.Error(err)
	}
	m, _ = openMeter(t, nil, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "a", Input: 1} })
	for _, model := range []string{"z", "b", "z", "m"} {
		if _, err := m.Complete(t.Context(), ask(model, "q")); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.Totals(); !cmp.Equal(got.Unpriced, []string{"b", "z"}) || got.Cost != token {
		t.Errorf("%+v", got)
	}
}

func TestMeterRefusesMeter(t *testing.T) {
	m, _ := openMeter(t, nil, llmtest.Script())
	if _, err := NewMeter(m, nil, nil); err == nil {
		t.Error("a meter over a meter")
	}
	if _, err := NewMeter(nil, nil, nil); err == nil {
		t.Error("a meter over nothing")
	}
}

func TestMeterOverFake(t *testing.T) {
	m, err := NewMeter(NewFake(), DefaultPrices(), NewBudget(0))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := m.Complete(t.Context(), askFake("a"))
	if err != nil || resp.Cost != 0 || m.Totals().Calls != 1 {
		t.Error(resp, err)
	}
}

// Sixteen workers use a server that loses, rejects and answers requests. The server keeps its own
// bill, which the cap must limit.
func TestCapHoldsUnderWorkers(t *testing.T) {
	var mu sync.Mutex
	var bill USD
	n := 0
	r := ask("m", strings.Repeat("x", 500))
	// Far below the first exponential delay, so that retries do not slow the test.
	const now = "0"
	b := NewBudget(20_000 * token)
	m, _ := openMeter(t, b, func(llmtest.Call) llmtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		n++
		switch n % 7 {
		case 1:
			return llmtest.Reply{Status: 429, RetryAfter: now}
		case 3:
			bill += 600 * token
			return llmtest.Reply{Status: 502, RetryAfter: now}
		}
		in, out := n%500, n%100
		bill += USD(in+out) * token
		return llmtest.Reply{Text: "a", Input: in, Output: out}
	})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for {
				_, err := m.Complete(t.Context(), r)
				if errors.Is(err, ErrBudgetExceeded) {
					return
				}
				if _, ok := errors.AsType[*Error](err); err != nil && !ok {
					t.Error(err)
					return
				}
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	got := m.Totals()
	if bill > b.Spent() || b.Spent() > 20_000*token || got.Cost != b.Spent() || got.Attempts != n {
		t.Errorf("bill %s, spent %s, %+v, %d requests", bill, b.Spent(), got, n)
	}
	if left := 20_000*token - b.Spent(); left >= m.WorstCase(r) {
		t.Errorf("stopped with %s left", left)
	}
}

// TestRejectionsWithUsage: a provider that counts tokens in the body of an error charges for them,
// whatever the status. Each attempt is charged once.
func TestRejectionsWithUsage(t *testing.T) {
	const counted = `{"error":{"message":"overloaded"},"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`
	r := ask("m", "q")
	m, _ := openMeter(t, nil, nil)
	worst := m.WorstCase(r)
	for _, tt := range []struct {
		name       string
		status     int
		body       string
		cost, lost USD
	}{
		{"429", 429, counted, 15 * token, 0},
		{"500", 500, counted, 15 * token, 0},
		{"400", 400, counted, 15 * token, 0},
		{"inside the error", 402, `{"error":{"message":"m","usage":{"prompt_tokens":10,"completion_tokens":5}}}`, 15 * token, 0},
		{"none, 500", 500, `{"error":{"message":"m"}}`, worst, worst},
		{"null, 400", 400, `{"error":"m","usage":null}`, 0, 0},
		{"zero, 429", 429, `{"error":"m","usage":{"prompt_tokens":0,"completion_tokens":0}}`, 0, 0},
		{"words, 400", 400, `{"error":"m","usage":"POST a JSON object"}`, 0, 0},
		{"impossible, 400", 400, `{"error":"m","usage":{"prompt_tokens":-10,"completion_tokens":5}}`, worst, worst},
		{"too much, 400", 400, `{"error":"m","usage":{"prompt_tokens":10,"completion_tokens":500000}}`, worst, worst},
		{"no JSON, 400", 400, `usage: {"prompt_tokens":10}`, 0, 0},
	} {
		b := NewBudget(worst + 15*token)
		m, _ := openMeter(t, b, llmtest.Script(llmtest.Reply{Status: tt.status, RetryAfter: "100", Body: tt.body}))
		resp, err := m.Complete(t.Context(), r)
		got := m.Totals()
		if err == nil || resp.Cost != tt.cost || got.Cost != tt.cost || got.Lost != tt.lost || b.Spent() != tt.cost {
			t.Errorf("%s: %v, cost %s, %+v, spent %s", tt.name, err, resp.Cost, got, b.Spent())
		}
	}

	// A retried rejection is charged, and the cap holds.
	again := llmtest.Reply{Status: 429, RetryAfter: "0", Body: counted}
	b := NewBudget(worst + 20*token)
	m, srv := openMeter(t, b, llmtest.Script(again, again, again))
	resp, err := m.Complete(t.Context(), r)
	if !errors.Is(err, ErrBudgetExceeded) || len(srv.Calls()) != 2 || resp.Cost != 30*token || b.Spent() != 30*token {
		t.Errorf("%v, %d requests, cost %s, spent %s", err, len(srv.Calls()), resp.Cost, b.Spent())
	}
}
