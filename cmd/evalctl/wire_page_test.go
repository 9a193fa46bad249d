package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"evalctl/internal/filetest"
)

const wirePage = "../../docs/wire.md"

// exchange is a request of docs/wire.md with its response.
type exchange struct {
	request  *http.Request
	sent     []byte // the body of the request
	response string // status line, header and body
	seen     bool
}

// is reports whether a request has the method and the path.
func (x *exchange) is(r *http.Request) bool {
	return x.request.Method == r.Method && x.request.URL.Path == r.URL.Path
}

// exchangesOf returns the exchanges of the page's blocks that are marked as http.
func exchangesOf(t *testing.T) []*exchange {
	t.Helper()
	page := filetest.Read(t, wirePage)
	var out []*exchange
	for i, part := range strings.Split(string(page), "```") {
		block, ok := strings.CutPrefix(part, "http\n")
		if !ok || i%2 == 0 {
			continue
		}
		request, response, ok := strings.Cut(block, "\nHTTP/1.1 ")
		if !ok {
			t.Fatalf("%s: a block has no response:\n%s", wirePage, block)
		}
		head, body, _ := strings.Cut(request, "\n\n")
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + "\n\n")))
		if err != nil {
			t.Fatalf("%s: %v:\n%s", wirePage, err, block)
		}
		out = append(out, &exchange{
			request: r, sent: []byte(strings.TrimSpace(body)),
			response: "HTTP/1.1 " + response + "\n", // ends the header or the last event
		})
	}
	return out
}

// pageDaemon answers as docs/wire.md shows, and compares what it is sent with the page.
type pageDaemon struct {
	t         *testing.T
	exists    bool // the lists have the brain
	noBatches bool
	broken    bool // searches fail
	others    bool // answers have the other names that the page accepts
	mu        sync.Mutex
	exchanges []*exchange
	written   []byte // the body of the last request that writes or deletes documents
}

// set calls change while no request is answered.
func (d *pageDaemon) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *pageDaemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		d.t.Error(err)
	}
	if strings.HasSuffix(r.URL.Path, "/batch-ops") && d.noBatches {
		http.NotFound(w, r)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/search") && d.broken {
		http.Error(w, "the index is lost", http.StatusInternalServerError)
		return
	}
	isList := r.URL.Path == "/v1/brains" || strings.HasSuffix(r.URL.Path, "/documents")
	if r.Method == http.MethodGet && isList && !d.exists {
		_, _ = io.WriteString(w, `{"items": []}`)
		return
	}
	r.URL.Path = canaryBrain.ReplaceAllString(r.URL.Path, "/eval")
	x := d.find(r, body)
	if x == nil {
		d.t.Errorf("evalctl sends %s %s with %s, which %s does not have", r.Method, r.URL, body, wirePage)
		http.NotFound(w, r)
		return
	}
	for key := range x.request.Header {
		if got, want := r.Header.Get(key), x.request.Header.Get(key); got != want {
			d.t.Errorf("%s %s has %s: %s, and %q on the page", r.Method, r.URL, key, got, want)
		}
	}
	response := x.response
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/v1/brains":
		response = strings.Replace(response, "eval", nameOf(body), 1)
	case r.Method == http.MethodPut || r.Method == http.MethodDelete || strings.HasSuffix(r.URL.Path, "/batch-ops"):
		d.written = body
	case strings.HasSuffix(r.URL.Path, "/search"):
		response = d.withWritten(response, body)
	}
	d.answer(w, x, response)
}

// canaryBrain matches the brain of a canary, which is asked like that of the page.
var canaryBrain = regexp.MustCompile(`/evalctl-canary-[^/]*`)

// nameOf returns the name in the request for a brain.
func nameOf(body []byte) string {
	var brain struct{ Name string }
	_ = json.Unmarshal(body, &brain)
	return brain.Name
}

// withWritten adds what the search is for to the passage's text if the last write has it.
func (d *pageDaemon) withWritten(response string, body []byte) string {
	var search struct{ Query string }
	if json.Unmarshal(body, &search) != nil || !bytes.Contains(d.written, []byte(search.Query)) {
		return response
	}
	return strings.Replace(response, "stove.", search.Query, 1)
}

// find returns the exchange with the same request. One with other values, such as the search that
// waits for a document, is answered like one with the same keys.
func (d *pageDaemon) find(r *http.Request, body []byte) *exchange {
	var like *exchange
	for _, x := range d.exchanges {
		if !x.is(r) {
			continue
		}
		if x.request.URL.RawQuery == r.URL.RawQuery && sameBody(x.sent, body) {
			x.seen = true
			return x
		}
		if like == nil || hasKeys(x.sent, body) {
			like = x
		}
	}
	if like != nil && !hasKeys(like.sent, body) {
		return nil
	}
	return like
}

func (d *pageDaemon) answer(w http.ResponseWriter, x *exchange, response string) {
	if d.others {
		response = otherNames.Replace(response)
		if strings.HasSuffix(x.request.URL.Path, "/search") {
			response = strings.ReplaceAll(response, `"chunks"`, `"hits"`)
		}
	}
	res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(response)), x.request)
	if err != nil {
		d.t.Errorf("%s: %v:\n%s", wirePage, err, response)
		return
	}
	defer res.Body.Close()
	for key, values := range res.Header {
		w.Header()[key] = values
	}
	w.WriteHeader(res.StatusCode)
	if _, err := io.Copy(w, res.Body); err != nil {
		d.t.Error(err)
	}
}

// otherNames replaces names in responses by others that the page accepts.
var otherNames = strings.NewReplacer(
	`"id"`, `"brainId"`, `"effective_mode"`, `"effectiveMode"`, `"chunk_id"`, `"chunkId"`,
	`"path": "raw/documents/kettle.md", "`, `"documentId": "wiki/kettle.md", "`, `"text"`, `"content"`,
	"event: answer_delta", "event: token", `"delta"`, `"text"`,
	`"input_tokens"`, `"prompt_tokens"`, `"output_tokens"`, `"completion_tokens"`,
)

// sameBody reports whether two bodies have the same JSON value, or the same bytes.
func sameBody(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return bytes.Equal(a, b)
	}
	return reflect.DeepEqual(x, y)
}

// hasKeys reports whether the keys of the object b are among those of a. Bytes that are no object
// have none.
func hasKeys(a, b []byte) bool {
	var x, y map[string]any
	_, _ = json.Unmarshal(a, &x), json.Unmarshal(b, &y)
	for key := range y {
		if _, ok := x[key]; !ok {
			return false
		}
	}
	return true
}

// TestWirePage lets evalctl evaluate a daemon that answers as docs/wire.md shows. Each request of
// the page must be sent as it is shown.
func TestWirePage(t *testing.T) {
	t.Parallel()
	d := &pageDaemon{t: t, exchanges: exchangesOf(t)}
	s := httptest.NewServer(d)
	defer s.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"q.jsonl": `{"id":"q-001","question":"What colour is the kettle?","question_date":"2026-11-22",` +
			`"expected_substrings":["green"],"expected_paths":["kettle.md"]}` + "\n",
		"q.corpus/kettle.md": "The kettle is green and stands on the stove.",
		"q.corpus/parrot.md": "The parrot likes nuts.",
	} {
		file := filepath.Join(dir, name)
		filetest.Write(t, file, text)
	}
	run := func(code int, more ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "evalctl", append([]string{
			"run", "--target", "mine=" + s.URL, "--dataset", "q.jsonl", "--scorer", "exact", "--json",
		}, more...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "SVC_TOKEN=")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("evalctl run %q: exit code %d, %v\n%s", more, got, err, &stderr)
		}
		if strings.Contains(stderr.String(), "SUSPECT") {
			t.Errorf("evalctl run %q suspects the daemon of the page:\n%s", more, &stderr)
		}
		return out
	}
	asked := run(0)
	d.set(func() { d.noBatches = true })
	run(0, "--scenario", "search-retrieve-only", "--mode", "hybrid", "--candidate-k", "100",
		"--rerank-top-n", "20", "--max-per-document", "2")
	d.set(func() { d.exists = true })
	run(0, "--corpus", "none")
	d.set(func() { d.exists, d.broken = false, true })
	run(4)
	d.set(func() {
		for _, x := range d.exchanges {
			if !x.seen {
				t.Errorf("%s has %s %s with %s, which evalctl has not sent", wirePage, x.request.Method, x.request.URL, x.sent)
			}
		}
	})
	checkAnswer(t, dir, asked, `"raw/documents/kettle.md"`)
	d.set(func() { d.broken, d.others = false, true })
	checkAnswer(t, dir, run(0), `"wiki/kettle.md"`)
}

// checkAnswer checks that all parts of the page's answer are in the result, and the document.
func checkAnswer(t *testing.T, dir string, summary []byte, document string) {
	t.Helper()
	var named struct{ Result string }
	if err := json.Unmarshal(summary, &named); err != nil {
		t.Fatal(err)
	}
	data := filetest.Read(t, filepath.Join(dir, named.Result))
	for _, want := range []string{
		`"The kettle is green."`, `"my-model"`, `"input_tokens": 212`, `"output_tokens": 5`, `"bm25"`, document,
	} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("the result has no %s:\n%s", want, data)
		}
	}
}
