package actor

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// leastWait is the shortest time before an attempt that counts as a wait. What is shorter is the
// work of preparing the request.
const leastWait = 10 * time.Millisecond

// attemptClock knows when the last attempt to call a model began. A provider repeats failed
// requests and waits for its rate limit within one call, and neither belongs to the time of the
// attempt that answers. It is safe for concurrent use.
type attemptClock struct {
	start time.Time
	last  atomic.Int64 // nanoseconds after start
}

func newAttemptClock() *attemptClock { return &attemptClock{start: time.Now()} }

// restart says that an attempt begins now. A reply from a cache sends no request.
func (c *attemptClock) restart() { c.last.Store(int64(time.Since(c.start))) }

// watch returns a context whose HTTP requests begin attempts, as soon as they need a connection.
func (c *attemptClock) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { c.restart() },
	})
}

// waited returns how long after the clock the last attempt began, 0 if it did so at once.
func (c *attemptClock) waited() time.Duration {
	if d := time.Duration(c.last.Load()); d >= leastWait {
		return d
	}
	return 0
}

// began returns when the last attempt began.
func (c *attemptClock) began() time.Time { return c.start.Add(c.waited()) }
