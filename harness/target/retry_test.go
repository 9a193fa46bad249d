package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// TestRetries checks which failures are followed by another attempt.
func TestRetries(t *testing.T) {
	for _, c := range []struct {
		name  string
		first func(w http.ResponseWriter)
	}{
		{"429", func(w http.ResponseWriter) { w.WriteHeader(429) }},
		{"502", func(w http.ResponseWriter) { w.WriteHeader(502) }},
		{"503", func(w http.ResponseWriter) { w.WriteHeader(503) }},
		{"504", func(w http.ResponseWriter) { w.WriteHeader(504) }},
		{"hang up before the answer", daemontest.HangUp},
		{"hang up inside the stream", func(w http.ResponseWriter) {
			daemontest.Stream(w, event("token", `{"token":"half"}`))
			_ = http.NewResponseController(w).Flush()
			daemontest.HangUp(w)
		}},
		{"stream without done", func(w http.ResponseWriter) {
			daemontest.Stream(w, event("token", `{"token":"half"}`))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
				if n.Add(1) == 1 {
					c.first(w)
					return
				}
				daemontest.Stream(w, daemontest.AnswerTo("question 1"))
			})
			q := dataset.Question{Question: "question 1"}
			a, err := targetOf(t, s).Ask(t.Context(), q, questionTime)
			if err != nil || a.Answer != "answer 1" || a.Attempts != 2 || n.Load() != 2 {
				t.Errorf("got %+v, %v after %d requests", a, err, n.Load())
			}
		})
	}
}

func TestBrokenConnectionIsTransport(t *testing.T) {
	t.Parallel()
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		daemontest.Stream(w, event("token", `{"token":"half"}`))
		_ = http.NewResponseController(w).Flush()
		daemontest.HangUp(w)
	})
	a := wantFailure(t, targetOf(t, s), result.KindTransport, "read stream: ")
	if a.Attempts != maxAttempts || a.Answer != "half" {
		t.Errorf("got %+v", a)
	}
}

func TestConnectionRefused(t *testing.T) {
	t.Parallel()
	s := daemontest.Answering(t)
	target := targetOf(t, s)
	s.Close()
	a := wantFailure(t, target, result.KindTransport, "connection refused")
	if a.Attempts != maxAttempts {
		t.Errorf("asked %d times", a.Attempts)
	}
}

// replies returns the response to each attempt, nil for none.
type replies func(attempt int) *http.Response

// inMemory is a daemon without sockets, for tests in a bubble of their own time.
type inMemory struct {
	reply replies
	n     int
	at    []time.Duration
	start time.Time
}

func (m *inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	m.n++
	m.at = append(m.at, time.Since(m.start))
	if res := m.reply(m.n); res != nil {
		return res, nil
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func reply(status int, body string, header ...string) *http.Response {
	res := &http.Response{
		StatusCode: status, Status: fmt.Sprint(status), Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(body)),
	}
	res.Header.Set("Content-Type", "text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		res.Header.Set(header[i], header[i+1])
	}
	return res
}

func (m *inMemory) target() *Target {
	m.start = time.Now()
	return askBasic(&Endpoint{base: "http://memory", http: &http.Client{Transport: m}})
}

// checkAnswer is called with the answer to a question and the time that it took.
type checkAnswer func(t *testing.T, m *inMemory, a Answer, err error, took time.Duration)

// inTime asks a question in a bubble of its own time.
func inTime(t *testing.T, timeout time.Duration, r replies, check checkAnswer) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := &inMemory{reply: r}
		target := m.target()
		a, err := target.Ask(t.Context(), dataset.Question{Question: "who?"}, timeout)
		check(t, m, a, err, time.Since(m.start))
	})
}

func TestRetryAfter(t *testing.T) {
	inTime(t, time.Minute, func(n int) *http.Response {
		if n <= 2 {
			return reply(429, "", "Retry-After", "7")
		}
		return reply(200, event("done", `{"answer":"a"}`))
	}, func(t *testing.T, m *inMemory, a Answer, err error, took time.Duration) {
		if err != nil || a.Attempts != 3 || took != 14*time.Second {
			t.Errorf("got %+v, %v after %v; asked at %v", a, err, took, m.at)
		}
		if a.Latency != 0 || a.Waited != 14*time.Second {
			t.Errorf("the answering attempt took %v, after %v", a.Latency, a.Waited)
		}
	})
}

func TestRetryAfterBeyondTheTimeout(t *testing.T) {
	inTime(t, time.Minute,
		func(int) *http.Response { return reply(503, "busy", "Retry-After", "61") },
		func(t *testing.T, m *inMemory, a Answer, err error, took time.Duration) {
			f, ok := AsFailure(err)
			if !ok || f.Kind != result.KindStatus || f.Status != 503 || m.n != 1 || took != 0 ||
				!strings.Contains(f.Message, "busy") {
				t.Errorf("got %v after %d attempts and %v", err, m.n, took)
			}
		})
}

func TestRetriesEnd(t *testing.T) {
	inTime(t, time.Minute, func(int) *http.Response { return reply(503, "busy") },
		func(t *testing.T, m *inMemory, a Answer, err error, took time.Duration) {
			f, ok := AsFailure(err)
			if !ok || f.Status != 503 || m.n != maxAttempts ||
				a.Attempts != maxAttempts || took > time.Second {
				t.Errorf("got %v after %d attempts and %v", err, m.n, took)
			}
		})
}

// TestTimeoutSpansAllAttempts checks a question of which each attempt alone would be in time.
func TestTimeoutSpansAllAttempts(t *testing.T) {
	inTime(t, 10*time.Second, func(n int) *http.Response {
		if n == 1 {
			return reply(503, "", "Retry-After", "8")
		}
		return nil
	}, func(t *testing.T, m *inMemory, a Answer, err error, took time.Duration) {
		f, ok := AsFailure(err)
		if !ok || f.Kind != result.KindTimeout || took != 10*time.Second || a.Attempts != 2 ||
			f.Message != "no answer in time: 10s passed" || a.Latency != 2*time.Second || a.Waited != 8*time.Second {
			t.Errorf("got %v after %d attempts and %v: %v, %v", err, a.Attempts, took, a.Latency, a.Waited)
		}
	})
}

// TestTimeoutWhileWaiting checks that the error is the failure that caused the wait.
func TestTimeoutWhileWaiting(t *testing.T) {
	inTime(t, 30*time.Millisecond, func(int) *http.Response { return reply(503, "busy") },
		func(t *testing.T, m *inMemory, a Answer, err error, took time.Duration) {
			f, ok := AsFailure(err)
			if !ok || f.Kind != result.KindStatus || m.n != 1 || took > 30*time.Millisecond || a.Waited != took {
				t.Errorf("got %v after %d attempts and %v, of which %v waiting", err, m.n, took, a.Waited)
			}
		})
}

func TestTimeoutKeepsText(t *testing.T) {
	t.Parallel()
	s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
		daemontest.Stream(w, event("token", `{"token":"so far"}`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	q := dataset.Question{Question: "who?"}
	a, err := targetOf(t, s).Ask(t.Context(), q, 100*time.Millisecond)
	if f, ok := AsFailure(err); !ok || f.Kind != result.KindTimeout ||
		a.Answer != "so far" || a.Attempts != 1 {
		t.Errorf("got %+v, %v", a, err)
	}
}

// TestCancelledAsk checks that the end of the context is not a failure of the question.
func TestCancelledAsk(t *testing.T) {
	reason := errors.New("enough")
	for _, r := range []replies{
		func(int) *http.Response { return nil },
		func(int) *http.Response { return reply(503, "", "Retry-After", "5") },
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &inMemory{reply: r}
			target := m.target()
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(reason) })
			_, err := target.Ask(ctx, dataset.Question{Question: "who?"}, time.Minute)
			if _, failed := AsFailure(err); failed || !errors.Is(err, reason) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// advancing are the responses of a daemon that has less to do from attempt to attempt, in the two
// forms in which it says so, and then answers.
func advancing(left ...int) replies {
	return func(n int) *http.Response {
		switch {
		case n > len(left):
			return reply(200, event("retrieve", `{"chunks":[]}`)+event("done", `{"answer":"a"}`))
		case n%2 == 1:
			return reply(503, fmt.Sprintf(`{"code":"indexing","pending":%d}`, left[n-1]), "Retry-After", "9")
		}
		return reply(200, event("retrieve", fmt.Sprintf(`{"chunks":[],"indexing":{"documents_done":1,"documents_total":%d}}`, 1+left[n-1]))+
			event("done", `{"answer":"of a part"}`))
	}
}

// A question is sent again as long as the daemon gets on with its index, and an answer from a part
// of the documents does not count.
func TestRetriesWhileTheDaemonAdvances(t *testing.T) {
	for _, c := range []struct {
		left     []int
		attempts int
		fails    string
	}{
		{left: []int{90, 80, 70, 60, 50, 5, 1}, attempts: 8},
		{left: []int{9, 9, 8, 8, 8, 7}, attempts: 5, fails: "503: indexing"},
		{left: []int{9, 8, 8, 8, 8, 7}, attempts: 5, fails: "503: indexing"},
		{left: []int{9, 9, 9, 9}, attempts: 4, fails: "without 9 of the documents"},
		{left: []int{7, 7, 7}, attempts: 4},
	} {
		inTime(t, 2*time.Minute, advancing(c.left...), func(t *testing.T, m *inMemory, a Answer, err error, took time.Duration) {
			if a.Attempts != c.attempts || m.n != c.attempts || took > time.Minute {
				t.Errorf("%v: %d attempts in %v", c.left, a.Attempts, took)
			}
			if f, _ := AsFailure(err); c.fails == "" && (err != nil || a.Answer != "a") ||
				c.fails != "" && (f == nil || !f.Retryable() || !strings.Contains(f.Message, c.fails)) {
				t.Errorf("%v: got %+v, %v", c.left, a, err)
			}
		})
	}
}

// Retry goes on for as long as the daemon gets on, and no longer.
func TestRetryWhileTheDaemonAdvances(t *testing.T) {
	failure := func(pending int) error {
		f := TransientFailure(result.KindStatus, "busy", 20*time.Second)
		f.pending = pending
		return f
	}
	for _, c := range []struct {
		left  []int
		calls int
		ok    bool
	}{
		{left: []int{500, 400, 300, 200, 100}, calls: 6, ok: true},
		{left: []int{500, 500, 500, 500, 500, 500}, calls: 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			err := Retry(t.Context(), 30*time.Second, func(context.Context) error {
				calls++
				if calls > len(c.left) {
					return nil
				}
				return failure(c.left[calls-1])
			})
			if calls != c.calls || (err == nil) != c.ok {
				t.Errorf("%v: %d calls, %v", c.left, calls, err)
			}
		})
	}
}

// The chunks of an index that lacks documents are not a search's result.
func TestSearchOfAPartialIndex(t *testing.T) {
	t.Parallel()
	s := writing(t, `{"chunks":[],"indexing":{"documents_done":3,"documents_total":10}}`)
	store := endpointOf(t, s, "").Store(result.Snake)
	_, err := store.Search(t.Context(), "eval", "walrus", 5)
	if f, ok := AsFailure(err); !ok || !f.Retryable() || f.Pending() != 7 {
		t.Errorf("got %v", err)
	}
	s = writing(t, `{"chunks":[],"indexing":{"documents_done":10,"documents_total":10}}`)
	if _, err := endpointOf(t, s, "").Store(result.Snake).Search(t.Context(), "eval", "walrus", 5); err != nil {
		t.Errorf("a complete index: %v", err)
	}
}
