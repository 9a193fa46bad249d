// Package retry determines from an HTTP response whether and when its request may be sent again.
// The caller decides how often, and how long to wait at most.
package retry

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longest limits a wait, so that adding a past time to it cannot overflow.
const longest = 365 * 24 * time.Hour

// After parses a Retry-After header (RFC 9110, section 10.2.3): a whole number of seconds, or an
// HTTP date. The wait is between 0, also for a date before now, and a year. ok is false if the
// header is missing or neither.
func After(header string, now time.Time) (wait time.Duration, ok bool) {
	if header != "" && strings.Trim(header, "0123456789") == "" {
		seconds, err := strconv.ParseUint(header, 10, 64)
		if err != nil { // more than 64 bits
			return longest, true
		}
		return time.Duration(min(seconds, uint64(longest/time.Second))) * time.Second, true
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), longest), true
}

// Status reports whether the same request may succeed later after a response with this status: 429,
// 502, 503 or 504.
func Status(code int) bool {
	switch code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return true
	}
	return false
}

// Sleep waits, or until ctx ends, and then returns its cause.
func Sleep(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(wait):
		return nil
	}
}
