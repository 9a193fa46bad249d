package httpapi

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// admit takes one request off the key's allowance. A request above it is
// refused at once, and told in whole seconds when there is room for one.
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
	h.Set("Retry-After", strconv.Itoa(int(math.Ceil(delay.Seconds()))))
	return requestErrorf(errRateLimited, "key %s may send %v requests a second, and %d at once", c.Name, c.Rate.PerSecond, c.Rate.Burst)
}
