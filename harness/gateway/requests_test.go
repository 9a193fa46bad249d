package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

// raw sends the bytes of a request with the gateway's key, and returns the response with its body.
func (r *rig) raw(method, path, body string) (*http.Response, string) {
	r.t.Helper()
	conn, err := new(net.Dialer).DialContext(r.t.Context(), "tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		method, path, r.addr, r.Key(), len(body), body)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res, string(data)
}

// TestBaseURLs: daemons append "/v1" to the base URL again, or cut it off, or add a slash.
func TestBaseURLs(t *testing.T) {
	r := start(t, new(llm.Dollar), nil, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "a", Input: 1, Output: 1} })
	paths := []string{
		"/v1/chat/completions", "/v1/v1/chat/completions", "/v1/v1/v1/chat/completions", "/chat/completions",
		"/v1//chat/completions", "//v1/chat/completions", "/v1/chat/completions/",
		"/v1/embeddings", "/v1/v1/embeddings", "/embeddings",
	}
	for _, path := range paths {
		request, want := `{"model":"m","max_tokens":1,"messages":[]}`, "/v1/chat/completions"
		if strings.Contains(path, "embeddings") {
			request, want = `{"model":"e","input":"a"}`, "/v1/embeddings"
		}
		res, body := r.raw("POST", path, request)
		if res.StatusCode != 200 {
			t.Errorf("%s: %s %s", path, res.Status, body)
			continue
		}
		calls := r.vendor.Calls()
		if got := calls[len(calls)-1].Path; got != want {
			t.Errorf("%s is sent to %s", path, got)
		}
	}
	for _, path := range []string{"/v1", "/", "/v2/chat/completions", "/v1/chat", "/v1/x/v1/embeddings", "/v1/../embeddings"} {
		if res, body := r.raw("POST", path, "{}"); res.StatusCode != 404 || !strings.Contains(body, `"code":"not_found"`) {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
}

// TestRequestWithoutModel gets the arm's model, on the wire and in the accounts.
func TestRequestWithoutModel(t *testing.T) {
	r := start(t, new(llm.Dollar), nil, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "a", Input: 2, Output: 1} })
	r.config.Model, r.config.Embedding = "m", "e"
	for i, tt := range []struct{ path, body, want string }{
		{"/v1/chat/completions", `{"max_tokens":1,"messages":[]}`, `{"model":"m","max_tokens":1,"messages":[]}`},
		{"/v1/chat/completions", `{"model":"","max_tokens":1,"messages":[]}`, `{"max_tokens":1,"messages":[],"model":"m"}`},
		{"/v1/chat/completions", `{"model":null,"max_tokens":1,"messages":[]}`, `{"max_tokens":1,"messages":[],"model":"m"}`},
		{"/v1/embeddings", `{"input":"a"}`, `{"model":"e","input":"a"}`},
		{"/v1/embeddings", `{}`, `{"model":"e"}`},
		{"/v1/embeddings", `{"model":"e","input":"a"}`, `{"model":"e","input":"a"}`},
	} {
		res, body := r.raw("POST", tt.path, tt.body)
		if res.StatusCode != 200 {
			t.Fatalf("%s: %s %s", tt.body, res.Status, body)
		}
		if got := strings.TrimSpace(string(r.vendor.Calls()[i].Body)); got != tt.want {
			t.Errorf("%s: sent %s, want %s", tt.body, got, tt.want)
		}
	}
	r.spent()
	c, n := r.ledger.Accounting("go"), r.Requests()
	if c.Tokens["m"].Requests != 3 || c.Tokens["e"].Requests != 3 || n.WithoutModel != 5 {
		t.Errorf("%+v, %+v", c.Tokens, n)
	}
}

// TestNoModelIsKnown: a request without a model is refused with what to do, and so is a model that
// is not a text.
func TestNoModelIsKnown(t *testing.T) {
	r := start(t, new(llm.Dollar), nil, nil)
	for body, want := range map[string]string{`{"input":"a"}`: "SVC_EMBED_MODEL", `{"model":7}`: "is not a text"} {
		if res, text := r.raw("POST", "/v1/embeddings", body); res.StatusCode != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %s %s", body, res.Status, text)
		}
	}
	if res, text := r.raw("POST", "/v1/chat/completions", `{"messages":[]}`); res.StatusCode != 400 || !strings.Contains(text, "--actor") {
		t.Errorf("%s %s", res.Status, text)
	}
	if r.Err() != nil || len(r.vendor.Calls()) != 0 {
		t.Errorf("%v, %d requests", r.Err(), len(r.vendor.Calls()))
	}
	want := []result.RefusedRequests{{Path: "/embeddings", Status: 400, Requests: 2}, {Path: "/chat/completions", Status: 400, Requests: 1}}
	if diff := cmp.Diff(want, r.Requests().Refused); diff != "" {
		t.Error(diff)
	}
}

// TestRequestsAreCounted: by purpose, and those that failed by path and status.
func TestRequestsAreCounted(t *testing.T) {
	r := start(t, new(llm.Dollar), nil, func(c llmtest.Call) llmtest.Reply {
		switch {
		case strings.HasSuffix(c.Path, "/embeddings"):
			return llmtest.Reply{Status: 404, Body: `{"error":{"message":"no embeddings here"}}`}
		case len(c.Messages) > 0:
			return llmtest.Reply{Text: "one two three", CutAfter: 2}
		}
		return llmtest.Reply{Text: "a", Input: 1, Output: 1}
	})
	phase := ledger.Ingest
	r.config.Phase = func() ledger.Phase { return phase }
	post := func(path, body string) { r.raw("POST", path, body) }
	post("/v1/chat/completions", `{"model":"m","messages":[]}`)
	phase = ledger.Actor
	for range 2 {
		post("/v1/chat/completions", `{"model":"m","messages":[]}`)
	}
	for range 14 {
		post("/v1/v1/embeddings", `{"model":"e","input":"a"}`)
	}
	for range 3 {
		post("/v1/messages", `{"model":"claude"}`)
	}
	post("/v1/responses", `{}`)
	post("/v1/chat/completions", `[]`)
	for key, name := range map[string]string{"wrong": "Authorization", r.Key(): "X-Api-Key"} {
		r.do("POST", "/v1/messages", "{}", func(q *http.Request) { q.Header.Del("Authorization"); q.Header.Set(name, key) })
	}
	r.do("POST", "/v1/messages", "{}", func(q *http.Request) { q.Host = "attacker.example" })
	// A stream that breaks off has failed too.
	_, _ = r.client().Complete(t.Context(), streamed(ask("q"), func(string) error { return nil }))
	got := r.Requests()
	broken := got.Answers.Made - 3 // our client repeats it
	want := result.ModelRequests{
		Ingest: result.RequestCount{Made: 1}, Answers: result.RequestCount{Made: 3 + broken, Failed: 1 + broken},
		Embeddings: result.RequestCount{Made: 14, Failed: 14}, Silent: []result.GeneratedKind{},
		Refused: []result.RefusedRequests{
			{Path: "/embeddings", Status: 404, Requests: 14}, {Path: "/v1/messages", Status: 404, Requests: 4},
			{Path: "/chat/completions", Status: 0, Requests: broken}, {Path: "/chat/completions", Status: 400, Requests: 1},
			{Path: "/v1/messages", Status: 401, Requests: 1}, {Path: "/v1/responses", Status: 404, Requests: 1},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || broken < 1 {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestRefusedPathsAreBounded: what a daemon sends cannot fill the memory or the result.
func TestRefusedPathsAreBounded(t *testing.T) {
	r := start(t, new(llm.Dollar), nil, nil)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 50 {
				r.raw("POST", fmt.Sprintf("/%d/%d/%s", worker, i, strings.Repeat("%C3%A9", 200)), "")
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	got, total := r.Requests().Refused, 0
	for _, p := range got {
		if len(p.Path) > maxPath || !strings.HasSuffix(p.Path, "…") && p.Path != "" {
			t.Errorf("%d bytes: %q", len(p.Path), p.Path)
		}
		total += p.Requests
	}
	if len(got) != maxRefused+1 || total != 200 || got[0].Path != "" || got[0].Requests != 200-maxRefused {
		t.Errorf("%d kinds, %d requests: %+v", len(got), total, got[0])
	}
}
