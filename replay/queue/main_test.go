package queue_test

import (
	"context"
	"os"
	"testing"
	"time"

	"evalctl/internal/llm"
	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
	"evalctl/replay/queue"
)

func TestMain(m *testing.M) {
	longtest.Parallel(6) // workers look for questions every second
	os.Exit(postgrestest.Main(m))
}

// lease is short, so that tests do not wait long for what a vanished process had.
const lease = time.Second

// open joins the queue of a database until the test ends.
func open(t *testing.T, conn string, works bool) *queue.Queue {
	t.Helper()
	return openFor(t, conn, works, lease)
}

// openFor is open with another lease: a long one where no lease may end in between.
func openFor(t *testing.T, conn string, works bool, lease time.Duration) *queue.Queue {
	t.Helper()
	q, err := queue.Open(t.Context(), conn, queue.Options{Lease: lease, Works: works, MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	return q
}

// create puts a run on the queue that ends with the test.
func create(t *testing.T, q *queue.Queue, limit *llm.USD) *queue.Run {
	t.Helper()
	r, err := q.Create(context.Background(), []byte(`{}`), time.Now().UTC(), limit, func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}
