//go:build unix

package launch

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"evalctl/internal/awaittest"
)

// sdkDaemon is a daemon in testdata with the keys of its dialect.
type sdkDaemon struct {
	program, file   string
	create          string // body that creates the brain "eval"
	question, topK  string // keys of an ask
	query, hits     string // key of a search, and of the list in its response
	nothing         string // the list if nothing was found
	delta, lineEnd  string
	done, version   string
	notFoundContent string
}

var sdkDaemons = []sdkDaemon{
	{
		program: "node", file: "testdata/node/daemon.mjs", create: `{"brainId":"eval"}`,
		question: "question", topK: "topK", query: "query", hits: "chunks", nothing: "null",
		delta: "event:token\r\ndata:{\"text\":\"tea.\"}", lineEnd: "\r\n", done: "event:done\r\ndata:{\"ok\":true}",
		version: "node-1.0.0", notFoundContent: "text/plain",
	},
	{
		program: "python3", file: "testdata/python/daemon.py", create: `{"name":"Eval"}`,
		question: "query", topK: "top_k", query: "query", hits: "hits", nothing: "[]",
		delta: "event: answer_delta\ndata: {\"delta\": \"tea.\"}", lineEnd: "\n",
		done:    `data: {"answer": "She likes tea."`,
		version: "python-1.0.0", notFoundContent: "application/json",
	},
}

func TestSDKDaemons(t *testing.T) {
	for _, f := range sdkDaemons {
		t.Run(f.program, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			d := e.start(t, f.profile(t))
			if d.Version() != f.version {
				t.Errorf("version %q, want %q", d.Version(), f.version)
			}
			f.seed(t, d.URL()+"/v1/brains")
			f.check(t, d.URL()+"/v1/brains")
			if err := d.Stop(); err != nil {
				t.Error(err)
			}
			if d.Err() != nil {
				t.Error(d.Err())
			}
		})
	}
}

func (f sdkDaemon) profile(t *testing.T, more ...string) Profile {
	t.Helper()
	if _, err := exec.LookPath(f.program); err != nil {
		t.Skipf("%s is not installed", f.program)
	}
	return Profile{Command: append([]string{f.program, f.file, "serve", "--addr", "{addr}"}, more...)}
}

func (f sdkDaemon) seed(t *testing.T, brains string) {
	t.Helper()
	text := "# Ada\n\nAda lives in London. She likes tea.\n"
	call(t, "POST", brains, f.create, 201)
	call(t, "POST", brains, f.create, 409)
	if got := call(t, "GET", brains, "", 200); !strings.Contains(got, `"eval"`) {
		t.Errorf("brains: %s", got)
	}
	call(t, "PUT", brains+"/eval/documents?path=raw/documents/ada.md", text, 204)
	awaittest.Until(t, "indexing", func() bool { return len(f.search(t, brains, "tea")) == 1 })
}

func (f sdkDaemon) check(t *testing.T, brains string) {
	t.Helper()
	hit := f.search(t, brains, "tea")[0]
	if hit["path"] != "raw/documents/ada.md" || hit["title"] != "Ada" {
		t.Errorf("hit: %v", hit)
	}
	if got := call(t, "POST", brains+"/eval/search", `{"`+f.query+`":"zebra"}`,
		200); !strings.Contains(strings.ReplaceAll(got, " ", ""), `"`+f.hits+`":`+f.nothing) {
		t.Errorf("nothing found: %s", got)
	}
	stream := call(t, "POST", brains+"/eval/ask", `{"`+f.question+`":"Who likes tea?","`+f.topK+`":1}`, 200)
	for _, part := range []string{"retrieve", f.delta, "citation", f.done} {
		if !strings.Contains(stream, part) {
			t.Errorf("the ask stream does not contain %q:\n%s", part, stream)
		}
	}
	if !strings.HasSuffix(stream, f.lineEnd+f.lineEnd) || (f.lineEnd == "\n") != !strings.Contains(stream, "\r") {
		t.Errorf("line endings of %q", stream)
	}
	resp, err := client.Get(brains + "/nobody")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 404 || resp.Header.Get("Content-Type") != f.notFoundContent {
		t.Errorf("unknown brain: %d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
}

func (f sdkDaemon) search(t *testing.T, brains, query string) []map[string]any {
	t.Helper()
	var answer map[string]json.RawMessage
	var hits []map[string]any
	data := call(t, "POST", brains+"/eval/search", `{"`+f.query+`":"`+query+`"}`, 200)
	if err := json.Unmarshal([]byte(data), &answer); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(answer[f.hits], &hits); err != nil {
		t.Fatal(err)
	}
	return hits
}

func TestSDKDaemonDieAfter(t *testing.T) {
	for _, f := range sdkDaemons {
		t.Run(f.program, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			d := e.start(t, f.profile(t, "--die-after", "2"))
			call(t, "POST", d.URL()+"/v1/brains", f.create, 201)
			ask := `{"` + f.question + `":"Who?"}`
			for range 2 {
				if got := call(t, "POST", d.URL()+"/v1/brains/eval/ask", ask, 200); !strings.Contains(got, "done") {
					t.Errorf("stream without an end: %s", got)
				}
			}
			awaittest.Receive(t, "d.Done", d.Done())
			wantError(t, d.Err(), "exit status 1")
		})
	}
}

func TestSDKDaemonAuth(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	d := e.start(t, sdkDaemons[1].profile(t, "--auth", "s3cret"))
	for header, want := range map[string]int{"": 401, "Bearer wrong": 403, "Bearer s3cret": 200} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+"/v1/brains", nil)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			req.Header.Set("Authorization", header)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%q: status %d, want %d", header, resp.StatusCode, want)
		}
	}
}

// client keeps no idle connections, which goleak would report.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func call(t *testing.T, method, url, body string, status int) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		t.Fatalf("%s %s: status %d, want %d: %s %v", method, url, resp.StatusCode, status, data, err)
	}
	return string(data)
}
