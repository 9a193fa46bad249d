package queue_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/internal/awaittest"
	"evalctl/internal/postgres/postgrestest"
	"evalctl/replay/queue"
)

// TestSmallPool: a process with one connection, which would wait for itself, says what to set.
func TestSmallPool(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	q, err := queue.Open(ctx, postgrestest.Database(t)+"&pool_max_conns=1", queue.Options{})
	if err == nil {
		q.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "set it to 2 or more") {
		t.Errorf("got %v, want what to set", err)
	}
}

// TestForgottenWorker: a worker whose row was deleted while its machine slept becomes a member
// again, and asks each question once.
func TestForgottenWorker(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	run := create(t, open(t, conn, false), nil)
	q := open(t, conn, true)
	if err := q.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaittest.Until(t, "the worker is a member", func() bool {
		alive, err := q.Alive(t.Context())
		return err == nil && alive
	})
	var mu sync.Mutex
	asked := map[int]int{}
	start(t, q, 3, &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome {
		mu.Lock()
		defer mu.Unlock()
		asked[task.Index]++
		return record(task)
	}})
	dispatch(t, run, "go", 3)
	collect(t, run, "go", 3)
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 3 || asked[0] != 1 || asked[1] != 1 || asked[2] != 1 {
		t.Errorf("asked %v", asked)
	}
}

// TestNoLeaseNoClaim: a worker without a lease, whose questions others would get at once, claims
// none.
func TestNoLeaseNoClaim(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	run := create(t, open(t, conn, false), nil)
	silent := open(t, conn, true)
	silent.Vanish(t.Context())
	var mu sync.Mutex
	claims := 0
	start(t, silent, 3, &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome {
		mu.Lock()
		defer mu.Unlock()
		claims++
		return record(task)
	}})
	dispatch(t, run, "go", 3)
	time.Sleep(3 * time.Second) // it looks for questions every second
	start(t, open(t, conn, true), 3, &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome { return record(task) }})
	collect(t, run, "go", 3)
	mu.Lock()
	defer mu.Unlock()
	if claims > 0 {
		t.Errorf("a worker without a lease claimed %d questions", claims)
	}
}

// TestRenewalEnds: a process that leaves the queue while it renews its lease lets the renewal end,
// which could otherwise make it a member again.
func TestRenewalEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		renewing, renewed := make(chan context.Context), make(chan struct{})
		done := queue.Live(ctx, lease, func(ctx context.Context) error {
			renewing <- ctx
			<-renewed
			return nil
		})
		beat := <-renewing
		stop()
		synctest.Wait()
		select {
		case <-done:
			t.Error("it left during a renewal")
		default:
		}
		if beat.Err() != nil {
			t.Errorf("the renewal: %v", beat.Err())
		}
		if _, limited := beat.Deadline(); !limited {
			t.Error("a silent database keeps the process from leaving")
		}
		close(renewed)
		<-done
	})
}

// TestOlderTables: a queue of an older version is brought to this one when it is joined.
func TestOlderTables(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	if err := queue.CreateOld(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	run := create(t, open(t, conn, false), nil)
	dispatch(t, run, "go", 1)
	if err := run.Retry(t.Context(), "go", []int{0}); err != nil {
		t.Error(err)
	}
}
