package actor

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"evalctl/harness/target"
	"evalctl/internal/llm"
)

// leastWait is the shortest wait before an attempt that counts. Shorter times are the work of
// preparing the request.
const leastWait = 10 * time.Millisecond

// attemptClock records when the last attempt to call a model began. A provider retries failed
// requests and waits for its rate limit and for the cap within one call; none of it is part of
// the latency of the attempt that answers. It is safe for concurrent use.
type attemptClock struct {
	start time.Time
	last  atomic.Int64 // nanoseconds after start
}

func newAttemptClock() *attemptClock { return &attemptClock{start: time.Now()} }

// restart records that an attempt begins now. A cached reply needs no attempt.
func (c *attemptClock) restart() { c.last.Store(int64(time.Since(c.start))) }

// watch returns a context whose HTTP requests begin attempts when they need a connection.
func (c *attemptClock) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { c.restart() },
	})
}

// waited returns the time from the start of the clock to the last attempt, 0 if it is negligible.
func (c *attemptClock) waited() time.Duration {
	if d := time.Duration(c.last.Load()); d >= leastWait {
		return d
	}
	return 0
}

// began returns when the last attempt began.
func (c *attemptClock) began() time.Time { return c.start.Add(c.waited()) }

// limit is the time limit of a question and the time that has passed.
type limit struct{ timeout, spent time.Duration }

// stopwatch is a context that ends when the time of a question has passed. The time stands still
// while a request waits for the cap, which says nothing about the model.
type stopwatch struct {
	context.Context
	run   context.Context
	limit limit
	end   context.CancelCauseFunc
	began time.Time // to run
	stop  func()
}

// newStopwatch starts the time. The caller must call close.
func newStopwatch(run context.Context, l limit) *stopwatch {
	t := &stopwatch{run: run, limit: l}
	t.Context, t.end = context.WithCancelCause(llm.WithPause(run, t.pause))
	t.resume()
	return t
}

func (t *stopwatch) resume() {
	limited, cancel := target.QuestionLimit(t.run, t.limit.timeout, t.limit.spent)
	detach := context.AfterFunc(limited, func() { t.end(context.Cause(limited)) })
	t.began, t.stop = time.Now(), func() { detach(); cancel() }
}

func (t *stopwatch) pause() (resume func()) {
	t.stop()
	t.limit.spent += time.Since(t.began)
	return t.resume
}

func (t *stopwatch) close() {
	t.stop()
	t.end(nil)
}
