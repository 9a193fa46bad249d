package queue_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/postgres/postgrestest"
	"evalctl/replay/queue"
)

// TestCapHoldsOverProcesses: eight members of the queue spend at once, some vanish with what they
// had reserved, and the bill stays within what the books count and within the cap.
func TestCapHoldsOverProcesses(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	const members, calls = 8, 60
	const limit = 40 * llm.Dollar
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var mu sync.Mutex
	var bill, open, most llm.USD // a process that vanishes leaves its worst case open
	vanished := 0
	run := create(t, open1(t, conn), new(limit))
	var wg sync.WaitGroup
	for i := range members {
		q := open1(t, conn)
		books := resumed(t, q, run)
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for range calls {
				worst := llm.USD(1+random.IntN(3)) * llm.Dollar
				settle, err := books.Account(ledger.Actor, "go").Reserve(t.Context(), "m", worst)
				if errors.Is(err, llm.ErrBudgetExceeded) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				cost := llm.USD(random.Int64N(int64(worst) + 1))
				mu.Lock()
				open += worst
				most = max(most, bill+open)
				gone := i%2 == 1 && random.IntN(20) == 0
				if gone {
					vanished++
				}
				mu.Unlock()
				if gone {
					_ = q.Close() // with the request in progress
					return
				}
				time.Sleep(10 * time.Millisecond) // the request
				mu.Lock()
				open, bill = open-worst, bill+cost
				mu.Unlock()
				settle(llm.Charge{Cost: cost, Usage: llm.Usage{InputTokens: 1}})
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	awaittest.Until(t, "what was lost is booked", func() bool { return run.Spent() == bill+open })
	if spent := run.Spent(); spent > limit || most > limit {
		t.Errorf("at most %s at a time, spent %s, cap %s", most, spent, limit)
	}
	if got := run.Accounting(""); got.TotalUSD != run.Spent() || got.ActorUSD != got.TotalUSD {
		t.Errorf("accounting %+v of %s", got, run.Spent())
	}
	if run.Spent() < limit-3*llm.Dollar {
		t.Errorf("%s of %s was spent: the test has tested nothing", run.Spent(), limit)
	}
	t.Logf("bill %s, spent %s, %d vanished", bill, run.Spent(), vanished)
}

func open1(t *testing.T, conn string) *queue.Queue {
	t.Helper()
	q, err := queue.Open(t.Context(), conn, queue.Options{Lease: lease, MaxConns: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	return q
}

// resumed returns the books of a run as another process has them.
func resumed(t *testing.T, q *queue.Queue, r *queue.Run) ledger.Books {
	t.Helper()
	b, err := q.Books(t.Context(), r.ID())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBooksAreLikeALedger: the same requests give the same accounting in a file and in a database.
func TestBooksAreLikeALedger(t *testing.T) {
	t.Parallel()
	limit := 50 * llm.Dollar
	file, err := ledger.Create(filepath.Join(t.TempDir(), "x.ledger"), nil, time.Now().UTC(), &limit)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	q := open(t, postgrestest.Database(t), false)
	run := create(t, q, &limit)
	random := rand.New(rand.NewPCG(7, 7))
	for n := range 200 {
		ctx := llm.WithQuestion(t.Context(), fmt.Sprint("q", n%9))
		phase := []ledger.Phase{ledger.Ingest, ledger.Actor, ledger.Judge, ledger.Embed}[random.IntN(4)]
		arm := []string{"go", "ts"}[random.IntN(2)]
		model := []string{"a", "b"}[random.IntN(2)]
		if random.IntN(4) == 0 {
			var saved *llm.Charge
			if random.IntN(2) == 0 {
				saved = &llm.Charge{Cost: llm.USD(random.IntN(1000)), Unpriced: random.IntN(9) == 0}
				saved.Usage.Estimated = random.IntN(2) == 0
			}
			reply := llm.CacheKey{byte(random.IntN(40))} // 0 is that of no reply
			for _, b := range []ledger.Books{file, run} {
				b.Account(phase, arm).Lookup(ctx, model, reply, saved)
			}
			continue
		}
		worst := llm.USD(random.IntN(3)) * llm.Dollar / 4
		c := llm.Charge{
			Usage:    llm.Usage{InputTokens: random.IntN(100), OutputTokens: random.IntN(9), Estimated: random.IntN(5) == 0},
			Rejected: random.IntN(5) == 0, Unpriced: random.IntN(9) == 0,
		}
		if worst > 0 && !c.Rejected {
			c.Cost = llm.USD(random.Int64N(int64(worst)))
			if random.IntN(4) == 0 {
				c.Cost, c.Lost, c.UsageProblem = worst, worst, "impossible"
			}
		}
		var failed []bool
		for _, b := range []ledger.Books{file, run} {
			settle, err := b.Account(phase, arm).Reserve(ctx, model, worst)
			if failed = append(failed, err != nil); err == nil {
				settle(c)
				settle(c) // only the first call counts
			} else if !errors.Is(err, llm.ErrBudgetExceeded) {
				t.Fatal(err)
			}
		}
		if failed[0] != failed[1] {
			t.Fatalf("refused: %v", failed)
		}
	}
	for _, arm := range []string{"", "go", "ts"} {
		if diff := cmp.Diff(file.Accounting(arm), run.Accounting(arm)); diff != "" {
			t.Errorf("arm %q: %s", arm, diff)
		}
		usd, estimated := file.Saved(arm, "go")
		if inRun, estimatedInRun := run.Saved(arm, "go"); usd != inRun || estimated != estimatedInRun {
			t.Errorf("arms %q and go: saved %s, %d estimated, in the database %s, %d", arm, usd, estimated, inRun, estimatedInRun)
		}
	}
	if diff := cmp.Diff(requests(t, file), requests(t, run)); diff != "" {
		t.Errorf("on the bills: %s", diff)
	}
	if file.Spent() != run.Spent() || run.Err() != nil {
		t.Errorf("spent %s and %s, %v", file.Spent(), run.Spent(), run.Err())
	}
}

// requests returns what a bill of books has, without times.
func requests(t *testing.T, b ledger.Books) (out []ledger.Request) {
	t.Helper()
	for r, err := range b.Requests(t.Context()) {
		if err != nil || r.At.IsZero() {
			t.Fatalf("%+v: %v", r, err)
		}
		r.At = time.Time{}
		out = append(out, r)
	}
	if len(out) == 0 {
		t.Error("there are no requests")
	}
	return out
}

// TestReserveWaits: a request that fits only once another one settles for less waits for it, also
// if that is another process's, and one that never fits is refused.
func TestReserveWaits(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	limit := 10 * llm.Dollar
	run := create(t, open(t, conn, false), &limit)
	other := resumed(t, open(t, conn, true), run)
	settle, err := run.Account(ledger.Judge, "go").Reserve(t.Context(), "m", 8*llm.Dollar)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		settle, err := other.Account(ledger.Judge, "go").Reserve(t.Context(), "m", 5*llm.Dollar)
		if err == nil {
			settle(llm.Charge{Cost: llm.Dollar})
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	settle(llm.Charge{Cost: llm.Dollar})
	if err := awaittest.Receive(t, "got", got); err != nil {
		t.Error(err)
	}
	if _, err := other.Account(ledger.Judge, "go").Reserve(t.Context(), "m", 9*llm.Dollar); !errors.Is(err, llm.ErrBudgetExceeded) {
		t.Errorf("got %v", err)
	}
	if run.Spent() != 2*llm.Dollar {
		t.Errorf("spent %s", run.Spent())
	}
}

// TestVanishedReservations: what a process that vanished had reserved counts as spent, and as what
// it cost if the process settles it nevertheless.
func TestVanishedReservations(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	limit := 10 * llm.Dollar
	run := create(t, open(t, conn, false), &limit)
	q := open1(t, conn)
	gone := resumed(t, q, run)
	if _, err := gone.Account(ledger.Actor, "go").Reserve(t.Context(), "m", 4*llm.Dollar); err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	awaittest.Until(t, "what was lost is booked", func() bool { return run.Spent() == 4*llm.Dollar })
	want := result.ModelTokens{Requests: 1, USD: 4 * llm.Dollar}
	if got := run.Accounting("go"); got.LostUSD != 4*llm.Dollar || got.Tokens["m"] != want {
		t.Errorf("got %+v", got)
	}
	if _, err := run.Account(ledger.Actor, "go").Reserve(t.Context(), "m", 7*llm.Dollar); !errors.Is(err, llm.ErrBudgetExceeded) {
		t.Errorf("got %v", err)
	}

	// A process whose lease has ended, although it lives.
	paused := resumed(t, open1(t, conn), run)
	settle, err := paused.Account(ledger.Actor, "go").Reserve(t.Context(), "m", 5*llm.Dollar)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.ChargeLost(t.Context()); err != nil {
		t.Fatal(err)
	}
	if run.Spent() != 9*llm.Dollar {
		t.Errorf("spent %s", run.Spent())
	}
	settle(llm.Charge{Cost: llm.Dollar, Usage: llm.Usage{InputTokens: 3}})
	if got := run.Accounting("go"); run.Spent() != 5*llm.Dollar || got.TotalUSD != run.Spent() || got.LostUSD != 4*llm.Dollar {
		t.Errorf("spent %s, %+v", run.Spent(), got)
	}
}

// TestSettle: a worker whose question was given to another one while its request was in progress
// still pays for it when all questions have records. The books wait for that, and it begins no
// further request.
func TestSettle(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	run := create(t, open(t, conn, false), nil)
	q := open1(t, conn)
	late := resumed(t, q, run).Account(ledger.Actor, "go")
	settle, err := late.Reserve(t.Context(), "m", 5*llm.Dollar)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- run.Settle(t.Context()) }()
	awaittest.Until(t, "the run refuses money", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		again, err := late.Reserve(ctx, "m", llm.Dollar)
		if err == nil {
			again(llm.Charge{Rejected: true})
		}
		return err != nil && ctx.Err() == nil
	})
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	settle(llm.Charge{Cost: 2 * llm.Dollar})
	if err := awaittest.Receive(t, "done", done); err != nil {
		t.Fatal(err)
	}
	if got := run.Accounting("go"); got.TotalUSD != 2*llm.Dollar || got.LostUSD != 0 || run.Spent() != got.TotalUSD {
		t.Errorf("spent %s, %+v", run.Spent(), got)
	}
}

// TestSettleUnknown: a request that is still in progress counts in full when nobody waits any more.
func TestSettleUnknown(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	run := create(t, open(t, conn, false), nil)
	settle, err := resumed(t, open1(t, conn), run).Account(ledger.Actor, "go").Reserve(t.Context(), "m", 5*llm.Dollar)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := run.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	if got := run.Accounting("go"); got.TotalUSD != 5*llm.Dollar || got.LostUSD != 5*llm.Dollar {
		t.Errorf("got %+v", got)
	}
	settle(llm.Charge{Cost: llm.Dollar})
	if run.Spent() != llm.Dollar {
		t.Errorf("spent %s", run.Spent())
	}
}

// TestVanishedWorkerPays: a worker counts as gone while its request is in progress, another one
// answers the question, and the first goes on with it. All that it is charged for is in the books.
func TestVanishedWorkerPays(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	run := create(t, open(t, conn, false), nil)
	var mu sync.Mutex
	var bill llm.USD
	pay := func(b ledger.Books, sent chan<- struct{}, reply <-chan struct{}) error {
		settle, err := b.Account(ledger.Actor, "go").Reserve(t.Context(), "m", 3*llm.Dollar)
		if err != nil {
			return err
		}
		mu.Lock()
		bill += llm.Dollar
		mu.Unlock()
		close(sent)
		<-reply
		settle(llm.Charge{Cost: llm.Dollar})
		return nil
	}
	replied := make(chan struct{})
	close(replied)
	sent1, sent2, ended, reply1, reply2 := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	gone := open(t, conn, true)
	books := resumed(t, gone, run)
	start(t, gone, 1, &handler{t: t, do: func(context.Context, queue.Task) queue.Outcome {
		if err := errors.Join(pay(books, sent1, reply1), pay(books, sent2, reply2)); err != nil {
			t.Error(err)
		}
		if err := pay(books, make(chan struct{}), replied); err == nil {
			t.Error("a request was admitted after the end of the run")
		}
		close(ended)
		return queue.Outcome{Record: []byte("late")}
	}})
	dispatch(t, run, "go", 1)
	awaittest.Receive(t, "sent1", sent1)
	gone.Vanish(t.Context())
	q := open(t, conn, true)
	other := resumed(t, q, run)
	start(t, q, 1, &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome {
		if err := pay(other, make(chan struct{}), replied); err != nil {
			t.Error(err)
		}
		return record(task)
	}})
	collect(t, run, "go", 1)
	if spent := run.Spent(); spent != 4*llm.Dollar { // one in full
		t.Errorf("spent %s", spent)
	}
	close(reply1)
	awaittest.Receive(t, "sent2", sent2)
	if err := run.Settle(t.Context()); err != nil { // which counts it in full
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if got := run.Accounting("go"); bill != 3*llm.Dollar || got.TotalUSD != 5*llm.Dollar || got.LostUSD != 3*llm.Dollar {
		t.Errorf("the bill is %s, the books have %+v", bill, got)
	}
	close(reply2)
	awaittest.Receive(t, "ended", ended)
	if got := run.Accounting("go"); got.TotalUSD != bill || got.LostUSD != 0 || run.Spent() != bill {
		t.Errorf("the bill is %s, the books have %+v", bill, got)
	}
}

// TestCancelledReservation: a request whose context ends while the database is about to answer is
// refused, and reserves nothing.
func TestCancelledReservation(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	proxy, proxied := postgrestest.Behind(t, conn)
	run := create(t, open(t, conn, false), nil)
	books := resumed(t, open1(t, proxied), run)
	ctx, cancel := context.WithCancel(t.Context())
	hit := proxy.CutAt("cut-model", postgrestest.Outage)
	got := make(chan error, 1)
	go func() {
		_, err := books.Account(ledger.Actor, "go").Reserve(ctx, "cut-model", 5*llm.Dollar)
		got <- err
	}()
	awaittest.Receive(t, "hit", hit)
	cancel()
	proxy.Restore()
	if err := awaittest.Receive(t, "got", got); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if reserved, err := run.Reserved(t.Context()); err != nil || reserved != 0 {
		t.Errorf("%s is reserved, %v", reserved, err)
	}
	if spent := run.Spent(); spent != 0 {
		t.Errorf("spent %s", spent)
	}
}

// TestOutlive: a reservation ends soon after its question, and not with it.
func TestOutlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		longer, cancel := queue.Outlive(ctx, time.Minute)
		defer cancel()
		time.Sleep(time.Hour)
		end()
		time.Sleep(time.Minute - 1)
		if err := longer.Err(); err != nil {
			t.Errorf("before its end: %v", err)
		}
		time.Sleep(2 * time.Nanosecond)
		if longer.Err() == nil {
			t.Error("it does not end")
		}
		early, cancel := queue.Outlive(ctx, time.Minute)
		if cancel(); early.Err() == nil {
			t.Error("it is not cancelled")
		}
	})
}

// TestWithdraw: a reservation is given back of which the process does not know whether it was made.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	run := create(t, open(t, postgrestest.Database(t), false), nil)
	if _, err := run.Account(ledger.Actor, "go").Reserve(t.Context(), "m", 5*llm.Dollar); err != nil {
		t.Fatal(err)
	}
	if err := run.WithdrawOpen(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if reserved, err := run.Reserved(t.Context()); err != nil || reserved != 0 || run.Spent() != 0 || run.Err() != nil {
		t.Errorf("%s is reserved, %s spent, %v, %v", reserved, run.Spent(), err, run.Err())
	}
}

// TestQuestionsOfAnyName: the database takes the requests for questions with any id.
func TestQuestionsOfAnyName(t *testing.T) {
	t.Parallel()
	run := create(t, open(t, postgrestest.Database(t), false), nil)
	ctx := llm.WithQuestion(t.Context(), "q\x00\xff")
	a := run.Account(ledger.Actor, "go")
	for _, worst := range []llm.USD{llm.Dollar, 0} {
		settle, err := a.Reserve(ctx, "m", worst)
		if err != nil {
			t.Fatal(err)
		}
		settle(llm.Charge{Cost: worst, Usage: llm.Usage{InputTokens: 1}})
	}
	a.Lookup(ctx, "m", llm.CacheKey{1}, nil)
	for _, r := range requests(t, run) {
		if r.Question != "q\ufffd\ufffd" {
			t.Errorf("a request for %q", r.Question)
		}
	}
	if err := run.Err(); err != nil {
		t.Error(err)
	}
}
