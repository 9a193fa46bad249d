package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/postgres/postgrestest"
	"evalctl/replay/queue"
)

// handler works on tasks as do says.
type handler struct {
	t     *testing.T
	do    func(ctx context.Context, t queue.Task) queue.Outcome
	begin error
	ready error
	// beginning, if set, returns begin.
	beginning func() error

	mu      sync.Mutex
	notices []string
	books   *queue.Books // of the run that was begun last
}

func (h *handler) Begin(_ context.Context, j queue.Job) (queue.Worker, error) {
	if string(j.Options) != "{}" {
		h.t.Errorf("options %s", j.Options)
	}
	h.mu.Lock()
	h.books = j.Books
	h.mu.Unlock()
	if h.beginning != nil {
		return h, h.beginning()
	}
	return h, h.begin
}

func (h *handler) Notice(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notices = append(h.notices, text)
}

func (h *handler) Ready(_ context.Context, arm string, identity json.RawMessage) error {
	if string(identity) != `"`+arm+`"` {
		h.t.Errorf("identity %s of %s", identity, arm)
	}
	return h.ready
}

func (h *handler) Work(ctx context.Context, t queue.Task) queue.Outcome { return h.do(ctx, t) }

func (h *handler) Close() error { return nil }

// lastBooks returns the books of the run that was begun last, nil before.
func (h *handler) lastBooks() *queue.Books {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.books
}

// start runs a worker until the test ends or stop is called.
func start(t *testing.T, q *queue.Queue, concurrency int, h *handler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := q.Work(ctx, concurrency, h); err != nil {
			t.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return stop
}

func ids(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("q\x00\xff%d", i)) // a dataset may have any ids
	}
	return out
}

// dispatch puts n questions of an arm on the queue.
func dispatch(t *testing.T, r *queue.Run, arm string, n int) {
	t.Helper()
	if err := r.Dispatch(t.Context(), arm, []byte(`"`+arm+`"`), ids(n), nil); err != nil {
		t.Fatal(err)
	}
}

// collect waits for the records of an arm. Jobs that a worker returns are delivered again after
// seconds, perhaps to the same one.
func collect(t *testing.T, r *queue.Run, arm string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			got, err := r.Await(ctx, arm, i)
			if want := fmt.Sprintf("%s %d", arm, i); err != nil || string(got) != want {
				t.Errorf("question %d of %s: %q, %v", i, arm, got, err)
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
}

func record(t queue.Task) queue.Outcome {
	return queue.Outcome{Record: fmt.Appendf(nil, "%s %d", t.Arm, t.Index)}
}

// TestEveryQuestionHasOneRecord: two workers share the questions of two arms, and each is worked on
// once. A run that is resumed has the records already.
func TestEveryQuestionHasOneRecord(t *testing.T) {
	t.Parallel()
	const n = 40
	conn := postgrestest.Database(t)
	owner := open(t, conn, false)
	run := create(t, owner, nil)
	var mu sync.Mutex
	worked := map[string]int{}
	by := map[int]int{}
	for i := range 2 {
		start(t, open(t, conn, true), 4, &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome {
			time.Sleep(5 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			worked[fmt.Sprintf("%s %d %s", task.Arm, task.Index, task.Question)]++
			by[i]++
			return record(task)
		}})
	}
	for _, arm := range []string{"go", "ts"} {
		dispatch(t, run, arm, n)
	}
	for _, arm := range []string{"go", "ts"} {
		collect(t, run, arm, n)
	}
	if len(worked) != 2*n || worked["go 7 q\ufffd\ufffd7"] != 1 || by[0] == 0 || by[1] == 0 {
		t.Errorf("%v by %v", worked, by)
	}
	for key, times := range worked {
		if times != 1 {
			t.Errorf("%s: %d times", key, times)
		}
	}
	other := open(t, conn, false)
	if _, err := other.Resume(t.Context(), run.ID(), nil); !errors.Is(err, queue.ErrBusy) {
		t.Errorf("resumed beside its owner: %v", err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := other.Resume(t.Context(), run.ID(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	collect(t, again, "go", n)
	if err := again.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Resume(t.Context(), run.ID(), nil); err == nil || !strings.Contains(err.Error(), "no run") {
		t.Errorf("resumed after its end: %v", err)
	}
}

// TestVanishedWorker: what a worker had that vanished is given to another one. If it was only
// paused, its record comes too late, and the first one stays.
func TestVanishedWorker(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	run := create(t, open(t, conn, false), nil)
	gone, err := queue.Open(t.Context(), conn, queue.Options{Lease: lease, Works: true, MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	began, wake := make(chan struct{}, 9), make(chan struct{})
	stop := start(t, gone, 3, &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome {
		began <- struct{}{}
		<-wake
		return queue.Outcome{Record: []byte("late")}
	}})
	dispatch(t, run, "go", 3)
	for range 3 {
		awaittest.Receive(t, "began", began)
	}
	gone.Vanish(t.Context())
	start(t, open(t, conn, true), 3, &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome { return record(task) }})
	collect(t, run, "go", 3)
	close(wake)
	stop()
	collect(t, run, "go", 3)
	if err := gone.Close(); err != nil {
		t.Error(err)
	}
}

// TestLostClaim: a question whose claim took effect although the worker got no answer is worked on.
func TestLostClaim(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	proxy, proxied := postgrestest.Behind(t, conn)
	run := create(t, open(t, conn, false), nil)
	worker := open(t, proxied, true)
	hit := proxy.CutAt(worker.Claim("go"), postgrestest.Answered)
	start(t, worker, 2, &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome { return record(task) }})
	dispatch(t, run, "go", 3)
	awaittest.Receive(t, "hit", hit)
	collect(t, run, "go", 3)
}

// TestStoppedArm: after a stop, the questions that nobody works on have the reason, the others
// their record, and the other arm goes on. Dispatched again, the arm is complete.
func TestStoppedArm(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	run := create(t, open(t, conn, false), nil)
	var mu sync.Mutex
	poor := true
	start(t, open(t, conn, true), 1, &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome {
		mu.Lock()
		defer mu.Unlock()
		if task.Arm == "go" && task.Index == 2 && poor {
			return queue.Outcome{Stop: &queue.StopError{Kind: "budget", Text: "no\x00 money\xff"}}
		}
		return record(task)
	}})
	for _, arm := range []string{"go", "ts"} {
		dispatch(t, run, arm, 5)
	}
	collect(t, run, "ts", 5)
	collect(t, run, "go", 2)
	for i := 2; i < 5; i++ {
		_, err := run.Await(t.Context(), "go", i)
		if stop, ok := errors.AsType[*queue.StopError](err); !ok || stop.Kind != "budget" || stop.Text != "no\ufffd money\ufffd" {
			t.Errorf("question %d: %v", i, err)
		}
	}
	mu.Lock()
	poor = false
	mu.Unlock()
	dispatch(t, run, "go", 5)
	collect(t, run, "go", 5)
}

// TestResumedAfterLostWorkers: a question that lost ten workers stops its arm. A resumed run
// counts from 0 again, so that it asks the question.
func TestResumedAfterLostWorkers(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	good := &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome { return record(task) }}
	run := create(t, open(t, conn, false), nil)
	dispatch(t, run, "go", 2)
	if err := run.Lose(t.Context(), "go", 10); err != nil {
		t.Fatal(err)
	}
	start(t, open(t, conn, true), 1, good)
	if _, err := run.Await(t.Context(), "go", 0); err == nil || !strings.Contains(err.Error(), "was begun 10 times") {
		t.Fatalf("the arm is not stopped: %v", err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := open(t, conn, false).Resume(t.Context(), run.ID(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	dispatch(t, again, "go", 2)
	collect(t, again, "go", 2)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestRefusingWorkers: workers that cannot work for a run, or for an arm of it, take no job of it,
// and the run reports why.
func TestRefusingWorkers(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	heard := &notices{t: t}
	run, err := open(t, conn, false).Create(t.Context(), []byte(`{}`), time.Now().UTC(), nil, heard.add)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []*handler{{begin: errors.New("no such dataset here")}, {ready: errors.New("another daemon")}} {
		h.t, h.do = t, func(context.Context, queue.Task) queue.Outcome {
			t.Error("a worker got a question of a run that it refuses")
			return queue.Outcome{}
		}
		start(t, open(t, conn, true), 16, h)
	}
	dispatch(t, run, "go", 50)
	awaittest.Until(t, "the lines of the log", func() bool {
		return heard.has("refuses the run: no such dataset here") && heard.has("refuses the run: another daemon") &&
			heard.has("no worker takes the questions, 2 refused")
	})
	start(t, open(t, conn, true), 4, &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome {
		return record(task)
	}})
	collect(t, run, "go", 50)
	if n, err := run.HandedBack(t.Context()); err != nil || n > 0 {
		t.Errorf("%d jobs were handed back, %v", n, err)
	}
	if err := run.Remove(); err != nil {
		t.Fatal(err)
	}
}

// notices keeps what a run reports.
type notices struct {
	t  *testing.T
	mu sync.Mutex
	of []string
}

func (n *notices) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.t.Log(text)
	n.of = append(n.of, text)
}

func (n *notices) has(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.of, func(s string) bool { return strings.Contains(s, text) })
}

// TestNoWorkers: a run that nobody works for ends after the time that it waits, with the reason,
// and a worker that has refused it is asked again when it is resumed.
func TestNoWorkers(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	impatient := func() *queue.Queue {
		q, err := queue.Open(t.Context(), conn, queue.Options{Wait: 2 * time.Second, MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = q.Close() })
		return q
	}
	run := create(t, impatient(), nil)
	dispatch(t, run, "go", 4)
	if _, err := run.Await(t.Context(), "go", 0); !errors.Is(err, queue.ErrNoWorkers) || !strings.Contains(err.Error(), "no worker is there") {
		t.Errorf("got %v", err)
	}
	var mu sync.Mutex
	problem := errors.New("no such dataset here")
	h := &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome { return record(task) }}
	h.beginning = func() error {
		mu.Lock()
		defer mu.Unlock()
		return problem
	}
	start(t, open(t, conn, true), 4, h)
	for _, refused := range []bool{true, false} {
		if err := run.Close(); err != nil {
			t.Fatal(err)
		}
		var err error
		if run, err = impatient().Resume(t.Context(), run.ID(), func(text string) { t.Log(text) }); err != nil {
			t.Fatal(err)
		}
		dispatch(t, run, "go", 4)
		if !refused {
			collect(t, run, "go", 4)
			continue
		}
		_, err = run.Await(t.Context(), "go", 0)
		if !errors.Is(err, queue.ErrNoWorkers) || !strings.Contains(err.Error(), "no such dataset here") {
			t.Errorf("got %v", err)
		}
		mu.Lock()
		problem = nil
		mu.Unlock()
	}
	if err := run.Remove(); err != nil {
		t.Fatal(err)
	}
}

// TestDatabaseRestarts: a database that ends without warning and starts again delays the run, and
// nothing is lost.
func TestDatabaseRestarts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("River waits long before it connects again")
	}
	const n = 30
	cluster := postgrestest.New(t)
	conn := cluster.Database()
	run := create(t, open(t, conn, false), nil)
	began := make(chan struct{}, 10*n)
	start(t, open(t, conn, true), 3, &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome {
		began <- struct{}{}
		settle, err := run.Account("actor", "go").Reserve(context.Background(), "m", 5)
		if err != nil {
			t.Error(err)
			return queue.Outcome{}
		}
		time.Sleep(50 * time.Millisecond)
		settle(llm.Charge{Cost: 2})
		return record(task)
	}})
	dispatch(t, run, "go", n)
	for range n / 3 {
		awaittest.Receive(t, "began", began)
	}
	cluster.Stop("immediate")
	time.Sleep(500 * time.Millisecond)
	cluster.Start()
	collect(t, run, "go", n)
	// A question may have been asked twice, and a reservation whose outcome was not known is open.
	if spent := run.Spent(); spent < 2*n || run.Err() != nil {
		t.Errorf("spent %d, %v", spent, run.Err())
	}
}

// TestNoTimeout: a question may take any time, because it may fill a brain.
func TestNoTimeout(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	run := create(t, open(t, conn, false), nil)
	start(t, open(t, conn, true), 1, &handler{t: t, do: func(ctx context.Context, task queue.Task) queue.Outcome {
		if deadline, limited := ctx.Deadline(); limited {
			t.Errorf("the question must end by %v", deadline)
		}
		return record(task)
	}})
	dispatch(t, run, "go", 1)
	collect(t, run, "go", 1)
}

// TestPanic: a panic in one question stops the arm, and says so.
func TestPanic(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	run := create(t, open(t, conn, false), nil)
	h := &handler{t: t, do: func(_ context.Context, task queue.Task) queue.Outcome {
		if task.Index == 1 {
			panic("no such index")
		}
		return record(task)
	}}
	start(t, open(t, conn, true), 1, h)
	dispatch(t, run, "go", 3)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := run.Await(ctx, "go", 1)
	if stop, ok := errors.AsType[*queue.StopError](err); !ok || stop.Kind != "failed" || !strings.Contains(stop.Text, "no such index") {
		t.Errorf("got %v", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.notices) == 0 || !strings.Contains(h.notices[0], "worker_test.go") {
		t.Errorf("the worker does not say where: %q", h.notices)
	}
}
