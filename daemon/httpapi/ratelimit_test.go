package httpapi

import (
	"net/http"
	"testing"
	"time"
)

// TestAdmit uses up a rate, with a clock of its own.
func TestAdmit(t *testing.T) {
	key := Key{Name: "k", Rate: &Rate{PerSecond: 0.4, Burst: 2}}
	c := keysOf(t, []Key{{Name: key.Name, Tenant: "acme", Brains: []string{"*"}, Roles: []string{"reader"}, Rate: key.Rate}}).callers()[0]
	at := func(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }
	for _, tt := range []struct {
		at    float64
		retry string // empty: admitted
	}{
		{0, ""}, {0, ""}, {0, "3"}, {0, "3"}, {1, "2"}, {2.4, "1"}, {2.5, ""}, {2.5, "3"}, {100, ""}, {100, ""}, {100, "3"},
	} {
		h := http.Header{}
		err := c.admit(h, at(tt.at))
		if got := h.Get("Retry-After"); got != tt.retry || (err != nil) != (tt.retry != "") {
			t.Errorf("at %v s: retry after %q, want %q: %v", tt.at, got, tt.retry, err)
		}
	}
}

// TestLimitsAreSeparate: requests of one key do not use up the rate of another, and a rejected
// request counts.
func TestLimitsAreSeparate(t *testing.T) {
	s := startKeyed(t)
	for i, want := range []int{403, 200, 429, 429} {
		target := "/v1/brains"
		if i == 0 {
			target = "/metrics"
		}
		if got := s.status(t, "GET", target, "", as("slow")...); got != want {
			t.Errorf("request %d: got %d, want %d", i, got, want)
		}
	}
	for range 20 {
		s.expect(t, 200, "GET", "/v1/brains", "", as("reader")...)
	}
	s.expect(t, 200, "GET", "/healthz", "", as("slow")...)
}
