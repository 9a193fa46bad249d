package httpapi

import (
	"net/http"
	"time"
)

// admit counts one request against the key's rate. It rejects a request above the rate immediately,
// with the header Retry-After in whole seconds.
func (c *caller) admit(h http.Header, now time.Time) error {
	if c.limiter == nil {
		return nil
	}
	r := c.limiter.ReserveN(now, 1)
	delay := r.DelayFrom(now)
	if delay == 0 {
		return nil
	}
	r.CancelAt(now)
	askToWait(h, delay)
	return requestErrorf(errRateLimited, "key %s may send %v requests a second, and %d at once",
		c.Name, c.Rate.PerSecond, c.Rate.Burst)
}
