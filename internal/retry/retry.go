// Package retry reads from an HTTP answer whether and when its request may be
// sent again. How often, and how long at most, is the caller's to decide.
package retry

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longest is what a longer wait is cut to: sums with a time that has passed
// stay far from overflow.
const longest = 365 * 24 * time.Hour

// After reads a Retry-After header (RFC 9110, 10.2.3), which is a whole number
// of seconds or an HTTP date. The wait is from 0, as for a date before now, to
// a year. ok is false when the header is missing or neither.
func After(header string, now time.Time) (wait time.Duration, ok bool) {
	if header != "" && strings.Trim(header, "0123456789") == "" {
		seconds, err := strconv.ParseUint(header, 10, 64)
		if err != nil { // above 64 bits
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

// Status reports whether a status says that the same request may succeed
// later: 429, 502, 503 or 504.
func Status(code int) bool {
	switch code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}
