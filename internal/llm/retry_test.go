package llm

import (
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/internal/llm/llmtest"
)

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		status    int
		body      string
		transient bool
		billed    bool
		has       []string
	}{
		{400, `{"error":"text only"}`, false, false, []string{"400 Bad Request: text only"}},
		{401, `{"error":{"message":"bad key ` + secret + `","code":"x"}}`, false, false, []string{"401", "bad key [API key]", "OPENAI_API_KEY"}},
		{403, `{"detail":"no"}`, false, false, []string{"403", ": no;", "OPENAI_API_KEY"}},
		{404, `{"error":{"message":"no such model"}}`, false, false, []string{"404", "no such model", `"gpt-4o"`}},
		{429, `{"error":{"message":"slow down"}}`, true, false, []string{"429", "slow down"}},
		{500, ``, true, true, []string{"500"}},
		{502, "<html>\x1b[31mbad\ngateway", true, true, []string{"502", `<html>\x1b[31mbad\ngateway`}},
		{503, `{"message":"later"}`, true, false, []string{"503", "later"}},
		{504, strings.Repeat("é", 1000), true, true, []string{"504", "éé…"}},
		{307, ``, false, false, []string{"307"}},
	} {
		t.Run(http.StatusText(tt.status), func(t *testing.T) {
			for _, stream := range []bool{false, true} {
				srv := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Status: tt.status, Body: tt.body} })
				o, err := newOpenAI(endpointConfig{BaseURL: srv.URL, APIKey: secret})
				if err != nil {
					t.Fatal(err)
				}
				o.attempts = 1
				if stream {
					_, err = o.Complete(t.Context(), streamed(ask("gpt-4o", "q"), func(string) error { return nil }))
				} else {
					_, err = o.Complete(t.Context(), ask("gpt-4o", "q"))
				}
				e, ok := errors.AsType[*Error](err)
				if !ok || e.Status != tt.status || e.transient != tt.transient || e.Billed != tt.billed {
					t.Fatalf("got %+v (%v)", e, err)
				}
				for _, s := range append(tt.has, "openai "+srv.URL+"/chat/completions") {
					if !strings.Contains(err.Error(), s) {
						t.Errorf("no %q in %v", s, err)
					}
				}
				if strings.Contains(err.Error(), secret) || len(e.Message) > maxMessage {
					t.Errorf("key or length: %v", err)
				}
			}
		})
	}
}

// No error contains the key, whatever repeats it.
func TestKeyStaysOutOfErrors(t *testing.T) {
	for _, r := range []llmtest.Reply{
		{Status: 400, Body: secret}, {Status: 400, Body: strings.Repeat("x", maxMessage-8) + secret},
		{Status: 500, Body: `{"error":{"message":"` + secret + `"}}`}, {Body: secret}, {Break: true},
		{Body: "data: {\"error\":{\"message\":\"" + secret + "\"}}\n\n"},
	} {
		for _, stream := range []bool{false, true} {
			o, _ := openStub(t, r)
			o.attempts = 1
			var err error
			if stream {
				_, err = o.Complete(t.Context(), streamed(ask("gpt-4o", "q"), func(string) error { return nil }))
			} else {
				_, err = o.Complete(t.Context(), ask("gpt-4o", "q"))
			}
			if err == nil || strings.Contains(err.Error(), secret[:8]) {
				t.Errorf("reply %.40q: %v", r.Body, err)
			}
		}
	}
}

func TestRetryThenAnswer(t *testing.T) {
	o, srv := openStub(t,
		llmtest.Reply{Status: 429, RetryAfter: "0"},
		llmtest.Reply{Status: 503, RetryAfter: "Mon, 02 Jan 2006 15:04:05 GMT"},
		llmtest.Reply{Status: 502, RetryAfter: "0"},
		llmtest.Reply{Text: "at last"})
	r := ask("gpt-4o", "q")
	var failed []int
	r.Retried = func(e *Error) { failed = append(failed, e.Status) }
	resp, err := o.Complete(t.Context(), r)
	if err != nil || resp.Text != "at last" || resp.Attempts != 4 || len(srv.Calls()) != 4 {
		t.Errorf("%+v, %v", resp, err)
	}
	if !slices.Equal(failed, []int{429, 503, 502}) {
		t.Errorf("failed with %v", failed)
	}
}

func TestRetriesEnd(t *testing.T) {
	busy := llmtest.Reply{Status: 503, RetryAfter: "0"}
	o, srv := openStub(t, busy, busy, busy, busy, llmtest.Reply{Text: "too late"})
	resp, err := o.Complete(t.Context(), ask("gpt-4o", "q"))
	if err == nil || resp.Attempts != DefaultMaxAttempts || len(srv.Calls()) != DefaultMaxAttempts {
		t.Errorf("%+v, %v, %d calls", resp, err, len(srv.Calls()))
	}
}

func TestNoRetryAfterTheFirstPiece(t *testing.T) {
	cut := llmtest.Reply{Text: "one two", CutAfter: 1}
	o, srv := openStub(t, cut, llmtest.Reply{Text: "one two"})
	_, err := o.Complete(t.Context(), streamed(ask("gpt-4o", "q"), func(string) error { return nil }))
	if err == nil || len(srv.Calls()) != 1 {
		t.Errorf("%v after %d calls", err, len(srv.Calls()))
	}
}

// script is a transport without a network, for the bubble's clock.
type script func(n int, req *http.Request) (*http.Response, error)

func (s *scripted) RoundTrip(req *http.Request) (*http.Response, error) {
	s.times = append(s.times, time.Now())
	return s.reply(len(s.times), req)
}

type scripted struct {
	reply script
	times []time.Time
}

func response(status int, retryAfter, body string) *http.Response {
	h := http.Header{}
	if retryAfter != "" {
		h.Set("Retry-After", retryAfter)
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

const okBody = `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`

func TestRetryAfterIsHonoured(t *testing.T) {
	for _, tt := range []struct {
		name, header string
		want         time.Duration
	}{
		{"seconds", "7", 7 * time.Second},
		{"date", "Sat, 01 Jan 2000 00:00:20 GMT", 20 * time.Second}, // the bubble begins at midnight
		{"longest", "60", maxRetryAfter},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{reply: func(n int, _ *http.Request) (*http.Response, error) {
					if n == 1 {
						return response(429, tt.header, "{}"), nil
					}
					return response(200, "", okBody), nil
				}}
				o, err := newOpenAI(endpointConfig{Transport: s})
				if err != nil {
					t.Fatal(err)
				}
				resp, err := o.Complete(t.Context(), ask("gpt-4o", "q"))
				if err != nil || resp.Attempts != 2 {
					t.Fatal(resp, err)
				}
				if got := s.times[1].Sub(s.times[0]); got != tt.want {
					t.Errorf("waited %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// TestTooLongAWait: if a provider asks for a longer wait than a call may make, it is not called
// again.
func TestTooLongAWait(t *testing.T) {
	for _, header := range []string{"61", "3600", strings.Repeat("9", 40)} {
		synctest.Test(t, func(t *testing.T) {
			s := &scripted{reply: func(int, *http.Request) (*http.Response, error) { return response(429, header, "{}"), nil }}
			o, err := newOpenAI(endpointConfig{Transport: s})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, err = o.Complete(t.Context(), ask("gpt-4o", "q"))
			if e, ok := errors.AsType[*Error](err); !ok || e.RetryAfter <= maxRetryAfter || len(s.times) != 1 || time.Since(start) != 0 {
				t.Errorf("%s: got %v after %d requests and %s", header, err, len(s.times), time.Since(start))
			}
		})
	}
}

func TestRetryAfterInTheError(t *testing.T) {
	o, _ := openStub(t, llmtest.Reply{Status: 429, RetryAfter: "300"})
	o.attempts = 1
	_, err := o.Complete(t.Context(), ask("gpt-4o", "q"))
	if e, ok := errors.AsType[*Error](err); !ok || e.RetryAfter != 5*time.Minute || !strings.Contains(err.Error(), "wait 5m0s") {
		t.Errorf("got %v", err)
	}
}

// An attempt that would wait forever is ended, billed, and not retried.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{reply: func(_ int, req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}}
		o, err := newOpenAI(endpointConfig{Transport: s})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = o.Complete(t.Context(), ask("gpt-4o", "q"))
		e, ok := errors.AsType[*Error](err)
		if !ok || !e.Billed || !strings.Contains(e.Message, "nothing for 2m0s") || time.Since(start) != maxSilence || len(s.times) != 1 {
			t.Errorf("%v after %s and %d attempts", err, time.Since(start), len(s.times))
		}
	})
}

// A refused connection costs nothing. One that breaks after the request was sent may.
func TestBilledOnTransportErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + l.Addr().String() + "/v1"
	l.Close()
	o, err := newOpenAI(endpointConfig{BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	o.attempts = 1
	_, err = o.Complete(t.Context(), ask("gpt-4o", "q"))
	if e, ok := errors.AsType[*Error](err); !ok || e.Billed || !e.transient {
		t.Errorf("refused: %+v", err)
	}
	o, _ = openStub(t, llmtest.Reply{Break: true})
	o.attempts = 1
	_, err = o.Complete(t.Context(), ask("gpt-4o", "q"))
	if e, ok := errors.AsType[*Error](err); !ok || !e.Billed || !e.transient {
		t.Errorf("broken: %+v", err)
	}
}

func FuzzRefusal(f *testing.F) {
	f.Add([]byte(`{"error":{"message":"m"}}`))
	f.Add([]byte(`{"error":"t","detail":3}`))
	f.Add([]byte("\x1b[2J\xff"))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := escaped(parseRefusal(body).message)
		if len(s) > maxMessage || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 }) {
			t.Errorf("%q", s)
		}
	})
}
