package target_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness/daemontest"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// inMemory returns the endpoint of a daemon without sockets that answers every request alike.
func inMemory(tb testing.TB, status int, body string) *target.Endpoint {
	tb.Helper()
	daemontest.InMemory(tb, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	e, err := target.NewEndpoint("http://memory", "", "evalctl-test", 1)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

// TestObjectAndCreate checks which answers each accepts, and which failures can be retried.
func TestObjectAndCreate(t *testing.T) {
	for _, c := range []struct {
		status                    int
		body                      string
		object, create            string // parts of the error
		retryObject, retryCreated bool
	}{
		{200, `{"id":"a"}`, "", "", false, false},
		{200, " \n", "POST /v1/brains did not answer with a JSON object", "", false, false},
		{200, "[]", "not answer with a JSON object", "not answer with a JSON object", false, false},
		{409, "", "409 Conflict", "409 Conflict", false, false},
		{429, "", "429 Too Many", "429 Too Many", true, true},
		{502, "", "502 Bad Gateway", "502 Bad Gateway", true, false},
		{503, "", "503 Service", "503 Service", true, true},
		{504, "", "504 Gateway", "504 Gateway", true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := inMemory(t, c.status, c.body)
			r := target.Request{Method: "POST", Path: "/v1/brains"}
			check := func(err error, want string, retry bool) {
				t.Helper()
				f, failed := errors.AsType[*target.Failure](err)
				if (err == nil) != (want == "") || failed != (want != "") {
					t.Fatalf("%d %q: got %v, want %q", c.status, c.body, err, want)
				}
				if !failed {
					return
				}
				if !strings.Contains(f.Message, want) || f.Retryable() != retry ||
					retry && f.RetryAfter() != 3*time.Second {
					t.Errorf("%d: got %q, retry %v after %v", c.status, f, f.Retryable(), f.RetryAfter())
				}
			}
			o, err := e.Object(t.Context(), r)
			check(err, c.object, c.retryObject)
			created, err := e.Create(t.Context(), r)
			check(err, c.create, c.retryCreated)
			if id := o.Text("id"); id != created.Text("id") || (id == "a") != strings.Contains(c.body, "a") {
				t.Errorf("%q: got %q and %q", c.body, id, created.Text("id"))
			}
		})
	}
}

// TestRetry checks that a call is repeated as often as the time allows, with the waits that the
// daemon asks for, and that the error is that of the last call.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := inMemory(t, 503, "busy")
		start, calls := time.Now(), 0
		err := target.Retry(t.Context(), 10*time.Second, func(ctx context.Context) error {
			calls++
			_, err := e.Object(ctx, target.Request{Method: "GET", Path: "/v1/brains"})
			return err
		})
		took := time.Since(start)
		if f, ok := errors.AsType[*target.Failure](err); !ok || f.Status != 503 {
			t.Errorf("got %v", err)
		}
		if calls != 4 || took != 9*time.Second {
			t.Errorf("%d calls in %v, want 4 in 9 s", calls, took)
		}
	})
	calls, broken := 0, errors.New("broken")
	err := target.Retry(t.Context(), time.Minute, func(context.Context) error { calls++; return broken })
	if !errors.Is(err, broken) || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

func TestEncode(t *testing.T) {
	body := map[string]any{"name": "a", "brain_id": 7}
	aliases := map[string][]string{"brain_id": {"id"}}
	for d, want := range map[result.Dialect]string{
		result.Snake: `{"brain_id":7,"name":"a"}`,
		result.Camel: `{"brainId":7,"name":"a"}`,
		result.Auto:  `{"brainId":7,"brain_id":7,"id":7,"name":"a"}`,
	} {
		if got := target.Encode(d, body, aliases); string(got) != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}
