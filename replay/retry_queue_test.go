package replay_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"evalctl/harness/result"
	"evalctl/harness/verify"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
	"evalctl/internal/postgres/postgrestest"
	"evalctl/replay"
	"evalctl/replay/queue"
	"evalctl/replay/source"
)

// following calls functions for what it sees of a replay.
type following struct {
	unobserved
	checked  func()
	recorded func(rec result.Record)
}

func (f following) Controls(result.Controls) { f.checked() }

func (f following) Recorded(_ string, rec result.Record) { f.recorded(rec) }

// openQueue joins a queue until the test ends.
func openQueue(t *testing.T, conn string, works bool) *queue.Queue {
	t.Helper()
	q, err := queue.Open(t.Context(), conn, queue.Options{Works: works})
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

// startWorker runs a worker that asks one question at a time until the test ends.
func startWorker(t *testing.T, conn string, config replay.Config) {
	t.Helper()
	q := openQueue(t, conn, true)
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		err := q.Work(ctx, 1, &replay.Handler{
			Plan: func(ctx context.Context, _ map[string]any) (_ *replay.Plan, err error) {
				c := config // the worker closes its benchmark
				if c.Benchmark, err = source.Open(ctx, config.Benchmark.Path, source.Options{}); err != nil {
					return nil, err
				}
				return replay.New(c)
			},
			Print: func(name, format string, args ...any) { t.Logf(name+" "+format, args...) },
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); done.Wait() })
}

// TestRetriedElsewhere: a replay on a queue that is stopped, and continued on another machine with
// another try at a question whose judge did not answer, knows what the judge was paid before.
func TestRetriedElsewhere(t *testing.T) {
	t.Parallel()
	const questions = 4
	conn := postgrestest.Database(t)
	p := newFailing(t, func(int64, string) *llmtest.Reply { return nil })
	release := make(chan struct{})
	unblock := sync.OnceFunc(func() { close(release) })
	defer unblock()
	config := p.config(t, questions)
	config.Arms, config.Cache.Dir = config.Arms[:1], t.TempDir()
	config.Tool.CPUs, config.PricesDate = 1, "2026-11-01"
	startWorker(t, conn, config)
	begin := func(retry bool, id string) (*replay.Session, error) {
		c, files := config, replay.Files{Dir: t.TempDir()}
		c.RetryErrors = retry
		plan, err := replay.New(c)
		if err != nil {
			t.Fatal(err)
		}
		store := replay.OnQueue(openQueue(t, conn, false), func(text string) { t.Log(text) })
		if id != "" {
			return plan.Resume(t.Context(), store, files, id)
		}
		return plan.Begin(t.Context(), store, files, map[string]any{})
	}

	first, err := begin(false, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var tries atomic.Int32
	down := func(_ int64, body string) *llmtest.Reply {
		if strings.Contains(body, "lantern q1 ") {
			if tries.Add(1) == 1 { // which is charged, and asked again
				return &llmtest.Reply{Text: "As a language model", Input: inputTokens, Output: outputTokens}
			}
			return &llmtest.Reply{Status: http.StatusInternalServerError, Body: `{"error":{"message":"restarting"}}`}
		}
		if strings.Contains(body, "lantern q2 ") {
			<-release
		}
		return nil
	}
	out, err := first.Run(ctx, following{checked: func() { p.fault.Store(&down) }, recorded: func(rec result.Record) {
		if rec.JudgeUnanswered {
			stop()
		}
	}})
	if err != nil || !errors.Is(out[0].Err, context.Canceled) {
		t.Fatalf("not stopped: %v, %+v", err, out)
	}
	if resumable, err := first.End(); err != nil || !resumable {
		t.Fatalf("resumable %v, %v", resumable, err)
	}
	p.recover()
	unblock()

	second, err := begin(true, first.ID())
	if err != nil {
		t.Fatal(err)
	}
	again := result.Record{}
	out, err = second.Run(t.Context(), following{checked: func() {}, recorded: func(rec result.Record) {
		if rec.Tries > 1 {
			again = rec
		}
	}})
	if err != nil || !replay.Finished(out) || out[0].Result.Passed != questions || again.ID != "q1" {
		t.Fatalf("%v, %+v, tried %q again", err, out, again.ID)
	}
	var before llm.USD
	for _, c := range out[0].Result.Cost.Unassigned {
		before += c.USD
	}
	if rep, err := verify.File(out[0].Path); err != nil || !rep.OK || before == 0 {
		t.Errorf("%s before, %v, %+v", before, err, rep)
	}
	if resumable, err := second.End(); err != nil || resumable {
		t.Errorf("resumable %v, %v", resumable, err)
	}
}
