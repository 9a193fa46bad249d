package replay

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/postgres/postgrestest"
	"evalctl/replay/queue"
)

// TestMissing: what a verdict has cost that was replaced is in the journal once its question is
// collected, wherever the run is continued, and a record that came too late for the process that
// waited for it is collected.
func TestMissing(t *testing.T) {
	try := func(n int, usd llm.USD) result.Record {
		r := result.Record{ID: "a", Outcome: result.Unscored, JudgeUnanswered: true, Reason: "503", JudgeUSD: usd, JudgeAttempts: 1}
		for range n - 1 {
			r = r.After(&r)
		}
		return r
	}
	toRetry, toCollect := journal.State{Answered: true, Finished: true, Outage: true}, journal.State{Answered: true}
	failed := result.Record{ID: "a", Outcome: result.Errored, Error: &result.Failure{Kind: result.KindStatus, Status: 400}}
	scored := try(2, 9)
	scored.Outcome, scored.JudgeUnanswered, scored.Score, scored.Passed = result.Scored, false, new(1.0), true
	for name, tt := range map[string]struct {
		known    []result.Record // what the journal has
		reopened bool            // and then reopened, to collect a record
		row      queue.Repetition
		want     journal.State
		replaced llm.USD // by reopening the question
	}{
		"elsewhere, tried again":     {nil, false, row(t, nil, try(1, 5)), toRetry, 0},
		"elsewhere, systematic":      {nil, false, row(t, nil, failed), toRetry, 0},
		"elsewhere, answered":        {nil, false, row(t, &scored, try(1, 5)), toCollect, 5},
		"elsewhere, two tries":       {nil, false, row(t, nil, try(1, 5), try(2, 7)), toRetry, 5},
		"elsewhere, three tries":     {nil, false, row(t, new(try(3, 1)), try(1, 5), try(2, 7)), toCollect, 12},
		"elsewhere, in progress":     {nil, false, held(row(t, nil, try(1, 5))), toCollect, 5},
		"here, tried again":          {[]result.Record{try(1, 5)}, false, row(t, nil, try(1, 5)), toRetry, 0},
		"here, answered":             {[]result.Record{try(1, 5)}, false, row(t, &scored, try(1, 5)), toCollect, 5},
		"here, collected":            {[]result.Record{scored}, false, row(t, &scored, try(1, 5)), journal.State{Answered: true, Finished: true}, 0},
		"here, two tries":            {[]result.Record{try(1, 5)}, false, row(t, new(try(3, 1)), try(1, 5), try(2, 7)), toCollect, 12},
		"here, two tries, one to go": {[]result.Record{try(1, 5)}, false, row(t, nil, try(1, 5), try(2, 7)), toRetry, 5},
		"here, in progress":          {[]result.Record{try(1, 5)}, false, held(row(t, nil, try(1, 5))), toCollect, 5},
		"reopened":                   {[]result.Record{try(1, 5)}, true, row(t, nil, try(1, 5)), toCollect, 5},
		"reopened, answered":         {[]result.Record{try(1, 5)}, true, row(t, &scored, try(1, 5)), toCollect, 5},
		"reopened, tried again":      {[]result.Record{try(1, 5)}, true, row(t, nil, try(1, 5), try(2, 7)), toRetry, 5},
		"reopened, two tries":        {[]result.Record{try(1, 5)}, true, row(t, new(try(3, 1)), try(1, 5), try(2, 7)), toCollect, 12},
		"failed, reopened":           {[]result.Record{failed}, true, row(t, nil, failed), journal.State{Reopened: true}, 0},
		"failed, tried again":        {[]result.Record{failed}, true, row(t, nil, failed, failed.After(&failed)), toRetry, 0},
	} {
		id := result.Identity{SchemaVersion: result.SchemaVersion, SDK: "go", Dataset: result.DatasetID{Selected: 1}}
		j, err := journal.Create(t.TempDir(), id, time.Now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range tt.known {
			if err := j.Append(journal.Entry{Kind: journal.KindGrade, Record: &r}); err != nil {
				t.Fatal(err)
			}
			if r.Outcome.Answered() {
				r = r.JudgeAgain()
			}
			if !tt.reopened {
				continue
			}
			if err := j.Append(journal.Entry{Kind: journal.KindReopened, Record: &r}); err != nil {
				t.Fatal(err)
			}
		}
		entries, err := missing(j, 0, tt.row)
		if err == nil {
			err = j.Append(entries...)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		path := j.Path()
		_ = j.Close()
		if j, err = journal.Open(path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var usd llm.USD
		for _, c := range j.Unassigned() {
			usd += c.USD
		}
		if got := j.State(0); got != tt.want || usd != tt.replaced {
			t.Errorf("%s: %+v, %d replaced", name, got, usd)
		}
		again := unawaited(j, 1, true)
		if awaited := !tt.want.Finished || tt.want.Outage; slices.Contains(again, 0) == awaited {
			t.Errorf("%s: with --retry-errors nobody waits for %v", name, again)
		}
		if without := unawaited(j, 1, false); slices.Contains(without, 0) != tt.want.Finished {
			t.Errorf("%s: nobody waits for %v", name, without)
		}
		_ = j.Close()
	}
}

// row returns a question of the queue with its earlier records and a newer one, which may be nil.
func row(t *testing.T, newest *result.Record, earlier ...result.Record) (r queue.Repetition) {
	t.Helper()
	if newest != nil {
		r.Record = encoded(t, *newest)
	}
	for _, e := range earlier {
		r.Earlier = append(r.Earlier, encoded(t, e))
	}
	return r
}

// held returns a question that a live worker has.
func held(r queue.Repetition) queue.Repetition {
	r.Held = true
	return r
}

func encoded(t *testing.T, r result.Record) []byte {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// outageWorker is a worker whose judge never answers, and costs a dollar more at each try.
type outageWorker struct{ t *testing.T }

func (w outageWorker) Begin(context.Context, queue.Job) (queue.Worker, error) { return w, nil }

func (w outageWorker) Notice(text string) { w.t.Log(text) }

func (outageWorker) Ready(context.Context, string, json.RawMessage) error { return nil }

func (w outageWorker) Work(_ context.Context, task queue.Task) queue.Outcome {
	r := result.Record{ID: "a", Outcome: result.Unscored, JudgeUnanswered: true, Reason: "503", JudgeUSD: llm.Dollar, JudgeAttempts: 1}
	if task.Earlier != nil {
		var was result.Record
		if err := json.Unmarshal(task.Earlier, &was); err != nil {
			w.t.Error(err)
		}
		r = r.After(&was)
		r.JudgeUSD = was.JudgeUSD + llm.Dollar
	}
	return queue.Outcome{Record: encoded(w.t, r)}
}

func (outageWorker) Close() error { return nil }

// openQueue joins a new queue until the test ends.
func openQueue(t *testing.T, conn string, works bool) *queue.Queue {
	t.Helper()
	q, err := queue.Open(t.Context(), conn, queue.Options{Works: works})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	return q
}

// TestRetriedTwiceElsewhere: a machine without the journal that retries a question again knows what
// all tries before have cost, also those that its retry has replaced.
func TestRetriedTwiceElsewhere(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	run, err := openQueue(t, conn, false).Create(t.Context(), []byte(`{}`), time.Now().UTC(), nil, func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	ctx, stop := context.WithCancel(t.Context())
	worker := openQueue(t, conn, true)
	worked := make(chan error, 1)
	go func() { worked <- worker.Work(ctx, 1, outageWorker{t}) }()
	defer func() { stop(); <-worked }()
	for tries := range 2 {
		if tries > 0 {
			err = run.Retry(ctx, "go", []int{0})
		}
		if err == nil {
			err = run.Dispatch(ctx, "go", []byte(`{}`), []string{"a"}, nil)
		}
		if err == nil {
			_, err = run.Await(ctx, "go", 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	id := result.Identity{SchemaVersion: result.SchemaVersion, SDK: "go", Dataset: result.DatasetID{Selected: 1}}
	j, err := journal.Create(t.TempDir(), id, time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	r := queueReplay{run}
	if err := errors.Join(r.retryErrors(ctx, "go", j), r.recall(ctx, "go", j)); err != nil {
		t.Fatal(err)
	}
	if j.Spent() != 3*llm.Dollar || !j.State(0).Outage {
		t.Errorf("%s spent, %+v", j.Spent(), j.State(0))
	}
}

// TestRestartsOfWorker: a worker adds the restarts that it notices to the run's earlier ones. What
// it cannot tell the run, it tells later, also when its question has ended.
func TestRestartsOfWorker(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	run, err := openQueue(t, conn, false).Create(t.Context(), []byte(`{}`), time.Now().UTC(), nil, func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.NoteRestarts(t.Context(), "go", 2); err != nil {
		t.Fatal(err)
	}
	elsewhere := openQueue(t, conn, false)
	lost, err := elsewhere.Create(t.Context(), []byte(`{}`), time.Now().UTC(), nil, func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(lost.Close(), elsewhere.Close()); err != nil { // no statement of it succeeds
		t.Fatal(err)
	}
	var notices []string
	w := &worker{queue: run.Books, notice: func(text string) { notices = append(notices, text) }}
	a := &workerArm{worker: w, arm: Arm{Name: "go", Session: harness.SessionConfig{Endpoint: "http://127.0.0.1"}}}
	a.recallRestarts(t.Context())
	s := &armSession{outages: &outages{restarts: 1}}
	ended, end := context.WithCancel(t.Context())
	end()
	w.queue = lost.Books
	a.noteRestarts(ended, s)
	if len(notices) != 1 || !strings.Contains(notices[0], "record the restarts of the daemon of go") {
		t.Errorf("notices %q", notices)
	}
	w.queue = run.Books
	for range 2 {
		a.noteRestarts(ended, s)
	}
	if n, err := run.Restarts(t.Context(), "go"); err != nil || n != 3 {
		t.Errorf("%d restarts, %v", n, err)
	}
}

// TestFilesOfNewReplay: a replay begins when its folder says, however long it takes to begin it. A
// run on a queue is resumed in the folder of its start.
func TestFilesOfNewReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Plan{}
		p.Arms = []Arm{{Name: "go"}, {Name: "ts"}}
		f, err := p.Files(t.Context(), nil, "", "", "root")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if again := defaultFiles("root", p.Arms, f.start()); again.Dir != f.Dir || filepath.Dir(filepath.Dir(f.Dir)) != "root" {
			t.Errorf("in %s, resumed in %s", f.Dir, again.Dir)
		}
		if got := (Files{Dir: "out"}).start(); !got.Equal(time.Now()) {
			t.Errorf("a replay elsewhere begins at %v", got)
		}
	})
}
