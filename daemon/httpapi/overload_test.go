package httpapi

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/internal/admission"
)

// TestRepeatedRefusals: a refusal is delayed only if the client has had one on the same connection
// and did not wait as long as Retry-After says.
func TestRepeatedRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := &conn{}, &conn{}
		impatient, leave := context.WithTimeout(t.Context(), slowdown/2)
		defer leave()
		for _, tc := range []struct {
			what         string
			ctx          context.Context
			on           *conn
			waits, takes time.Duration
		}{
			{"the first one", t.Context(), one, 0, 0},
			{"a repeated request whose client leaves", impatient, one, 0, slowdown / 2},
			{"a repeated request", t.Context(), one, 0, slowdown},
			{"another connection", t.Context(), other, 0, 0},
			{"a client that waits too short", t.Context(), one, retryAfter - 1, slowdown},
			{"a client that waits", t.Context(), one, retryAfter, 0},
			{"no connection, as in a test", t.Context(), nil, 0, 0},
		} {
			time.Sleep(tc.waits)
			ctx := tc.ctx
			if tc.on != nil {
				ctx = context.WithValue(ctx, connKey{}, tc.on)
			}
			r := withState(httptest.NewRequestWithContext(ctx, "POST", "/v1/brains/eval/search", nil), &request{})
			began := time.Now()
			if err := refuse(r); !errors.Is(err, admission.ErrOverloaded) || !requestOf(r).refused {
				t.Errorf("%s: %v", tc.what, err)
			}
			if took := time.Since(began); took != tc.takes {
				t.Errorf("%s: refused after %v, want %v", tc.what, took, tc.takes)
			}
		}
	})
}
