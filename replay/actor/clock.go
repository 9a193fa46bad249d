package actor

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// leastWait is the shortest wait before an attempt that counts. Shorter times are the work of
// preparing the request.
const leastWait = 10 * time.Millisecond

// attemptClock records when the last attempt to call a model began. A provider retries failed
// requests and waits for its rate limit within one call; neither is part of the latency of the
// attempt that answers. It is safe for concurrent use.
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
