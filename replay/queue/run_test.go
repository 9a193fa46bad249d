package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/postgres/postgrestest"
	"evalctl/replay/queue"
)

// resume takes over a run whose owner has vanished, until the test ends.
func resume(t *testing.T, q *queue.Queue, r *queue.Run) *queue.Run {
	t.Helper()
	again, err := q.Resume(t.Context(), r.ID(), func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	return again
}

// TestResumedIsNotAsked: workers begin no question of a resumed run before it is dispatched again,
// and then with the cap that it was given meanwhile.
func TestResumedIsNotAsked(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	killed := open(t, conn, false)
	run := create(t, killed, nil)
	dispatch(t, run, "go", 3)
	killed.Vanish(t.Context())
	asked := make(chan queue.Task, 9)
	h := &handler{t: t}
	h.do = func(_ context.Context, task queue.Task) queue.Outcome {
		asked <- task
		if h.lastBooks().Cap() == nil {
			t.Error("the worker knows no cap")
		}
		return record(task)
	}
	start(t, open(t, conn, true), 3, h)
	again := resume(t, open(t, conn, false), run)
	awaittest.Until(t, "the worker begins", func() bool { return h.lastBooks() != nil })
	select {
	case task := <-asked:
		t.Fatalf("question %d was begun before the run was dispatched", task.Index)
	case <-time.After(2 * time.Second): // it looks for arms every half second
	}
	if err := again.SetCap(t.Context(), llm.Dollar, nil); err != nil {
		t.Fatal(err)
	}
	dispatch(t, again, "go", 3)
	collect(t, again, "go", 3)
	if err := again.SetCap(t.Context(), 2*llm.Dollar, json.RawMessage(`{"cap":"2"}`)); err != nil {
		t.Fatal(err)
	}
	options, limit, _, err := killed.Find(t.Context(), again.ID())
	if err != nil || limit == nil || *limit != 2*llm.Dollar || string(options) != `{"cap": "2"}` {
		t.Errorf("options %s, cap %v: %v", options, limit, err)
	}
}

// TestLostRun: a process that was resumed by another one while it slept changes nothing of the run
// any more.
func TestLostRun(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	asleep := open(t, conn, false)
	run := create(t, asleep, nil)
	dispatch(t, run, "go", 3)
	asleep.Vanish(t.Context())
	other := open(t, conn, false)
	again := resume(t, other, run)
	dispatch(t, again, "go", 3)
	ctx := t.Context()
	for name, err := range map[string]error{
		"Stop":       run.Stop(ctx, "go", queue.StopError{Kind: "failed", Text: "x"}),
		"SetCap":     run.SetCap(ctx, 1, nil),
		"MarkSeeded": run.MarkSeeded("go", "brain"),
		"Retry":      run.Retry(ctx, "go", []int{0}),
		"Dispatch":   run.Dispatch(ctx, "go", []byte(`"x"`), ids(4), nil),
		"Settle":     run.Settle(ctx),
		"Remove":     run.Remove(),
	} {
		if !errors.Is(err, queue.ErrBusy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, _, err := other.Find(ctx, run.ID()); err != nil {
		t.Fatal(err)
	}
	if again.Seeded("go", "brain") {
		t.Error("a brain of the other process counts as filled")
	}
	settle, err := again.Account("actor", "go").Reserve(ctx, "m", llm.Dollar)
	if err != nil {
		t.Fatal(err)
	}
	settle(llm.Charge{Rejected: true})
	start(t, open(t, conn, true), 3, &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome { return record(task) }})
	collect(t, again, "go", 3)
}

// TestRetryCutShort: questions that were tried again by a process that ended are not asked again
// if nobody waits for them, and have their earlier record.
func TestRetryCutShort(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	run := create(t, open(t, conn, false), nil)
	stop := start(t, open(t, conn, true), 2, &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome { return record(task) }})
	dispatch(t, run, "go", 4)
	collect(t, run, "go", 4)
	stop()
	if err := run.Retry(t.Context(), "go", []int{1, 3}); err != nil {
		t.Fatal(err)
	}
	if retried, err := run.Retried(t.Context(), "go"); err != nil || len(retried) != 2 || fmt.Sprintf("%s", retried[3].Earlier) != "[go 3]" || retried[3].Record != nil {
		t.Errorf("retried %v, %v", retried, err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	again := resume(t, open(t, conn, false), run)
	start(t, open(t, conn, true), 2, &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome {
		if task.Arm == "go" {
			t.Errorf("question %d is asked again", task.Index)
		}
		return record(task)
	}})
	if err := again.Dispatch(t.Context(), "go", []byte(`"go"`), ids(4), []int{1, 3}); err != nil {
		t.Fatal(err)
	}
	dispatch(t, again, "ts", 4)
	collect(t, again, "ts", 4)
	collect(t, again, "go", 4)
}

// tryAgain answers a question with its earlier record and an apostrophe.
func tryAgain(t queue.Task) queue.Outcome {
	if t.Earlier == nil {
		return record(t)
	}
	return queue.Outcome{Record: append(t.Earlier, '\'')}
}

// awaitRecord waits for the record of the first question of an arm.
func awaitRecord(t *testing.T, r *queue.Run, arm, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if got, err := r.Await(ctx, arm, 0); err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestAllTriesAreKept: the queue has the records of all tries at a question that was retried twice.
// A retry that was given up is not another try.
func TestAllTriesAreKept(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	run := create(t, open(t, conn, false), nil)
	stop := start(t, open(t, conn, true), 1, &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome { return tryAgain(task) }})
	dispatch(t, run, "go", 1)
	awaitRecord(t, run, "go", "go 0")
	retry := func() {
		t.Helper()
		if err := run.Retry(t.Context(), "go", []int{0}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"go 0'", "go 0''"} {
		retry()
		dispatch(t, run, "go", 1)
		awaitRecord(t, run, "go", want)
	}
	stop() // or it could claim the question before Dispatch gives it up
	retry()
	if err := run.Dispatch(t.Context(), "go", []byte(`"go"`), ids(1), []int{0}); err != nil {
		t.Fatal(err)
	}
	retry()
	retried, err := run.Retried(t.Context(), "go")
	if got := fmt.Sprintf("%s", retried[0].Earlier); err != nil || got != "[go 0 go 0' go 0'']" || retried[0].Record != nil || retried[0].Held {
		t.Errorf("%s, %+v, %v", got, retried[0], err)
	}
}

// TestRetryInProgress: the retry that a live worker has in progress when its owner is killed is
// collected, although nobody would wait for it otherwise.
func TestRetryInProgress(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	killed := openFor(t, conn, false, time.Minute)
	run := create(t, killed, nil)
	retrying, finish := make(chan struct{}), make(chan struct{})
	start(t, openFor(t, conn, true, time.Minute), 1, &handler{t: t, do: func(ctx context.Context, task queue.Task) queue.Outcome {
		if task.Earlier != nil {
			close(retrying)
			select {
			case <-finish:
			case <-ctx.Done():
			}
		}
		return tryAgain(task)
	}})
	dispatch(t, run, "go", 1)
	awaitRecord(t, run, "go", "go 0")
	if err := run.Retry(t.Context(), "go", []int{0}); err != nil {
		t.Fatal(err)
	}
	dispatch(t, run, "go", 1)
	awaittest.Receive(t, "retrying", retrying)
	killed.Vanish(t.Context())
	again := resume(t, openFor(t, conn, false, time.Minute), run)
	if retried, err := again.Retried(t.Context(), "go"); err != nil || !retried[0].Held {
		t.Errorf("%+v, %v", retried, err)
	}
	if err := again.Dispatch(t.Context(), "go", []byte(`"go"`), ids(1), []int{0}); err != nil {
		t.Fatal(err)
	}
	close(finish)
	awaitRecord(t, again, "go", "go 0'")
}

// TestClaimOfAnotherOwner: a worker that prepared for the run of an owner, with its cap, claims no
// question for the next one.
func TestClaimOfAnotherOwner(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	before, after := openFor(t, conn, false, time.Minute), openFor(t, conn, false, time.Minute)
	worker := openFor(t, conn, true, time.Minute)
	run := create(t, before, nil)
	dispatch(t, run, "go", 2)
	if task, err := worker.ClaimFor(t.Context(), run.ID(), before.ID(), "go"); err != nil || task.Index != 0 {
		t.Fatalf("question %d, %v", task.Index, err)
	}
	before.Vanish(t.Context())
	again := resume(t, after, run)
	dispatch(t, again, "go", 2)
	if task, err := worker.ClaimFor(t.Context(), run.ID(), before.ID(), "go"); !errors.Is(err, pgx.ErrNoRows) {
		t.Errorf("question %d for the owner before, %v", task.Index, err)
	}
	if task, err := worker.ClaimFor(t.Context(), run.ID(), after.ID(), "go"); err != nil || task.Index != 1 {
		t.Errorf("question %d, %v", task.Index, err)
	}
}

// TestDispatchBesideRequests: requests do not wait while the questions of an arm are put on the
// queue.
func TestDispatchBesideRequests(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	run := create(t, open(t, conn, false), nil)
	dispatch(t, run, "go", 3)
	release, err := run.Hold(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	dispatched := make(chan error, 1)
	go func() { dispatched <- run.Dispatch(t.Context(), "go", []byte(`"go"`), ids(3), nil) }()
	awaittest.Until(t, "it waits for the questions", func() bool {
		waits, err := run.Waits(t.Context())
		return err == nil && waits
	})
	if locked, err := run.Locked(t.Context()); locked || err != nil {
		t.Errorf("requests wait: %v, %v", locked, err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	if err := awaittest.Receive(t, "dispatched", dispatched); err != nil {
		t.Error(err)
	}
}
