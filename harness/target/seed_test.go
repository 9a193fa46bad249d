package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// library is a daemon that keeps documents and finds them after some searches.
type library struct {
	mu       sync.Mutex
	docs     map[string]string
	created  map[string]any
	removed  []string
	searches int
	// findsAfter is how many searches see nothing yet.
	findsAfter int
	// answers replaces the answer to a path's suffix.
	answers map[string]func(w http.ResponseWriter)
}

func (l *library) serve(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for suffix, answer := range l.answers {
		if strings.HasSuffix(r.URL.Path, suffix) {
			answer(w)
			return
		}
	}
	switch {
	case c.Path == "/v1/brains" && c.Method == "POST":
		l.created = c.Body
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":"brain-7"}`)
	case c.Method == "PUT":
		if len(l.docs) == 0 && l.docs == nil {
			l.docs = map[string]string{}
		}
		l.docs[r.URL.Query().Get("path")] = string(c.Raw)
		w.WriteHeader(http.StatusNoContent)
	case strings.HasSuffix(c.Path, "/search"):
		l.searches++
		chunks := []result.Chunk{}
		for p, text := range l.docs {
			if l.searches > l.findsAfter && strings.Contains(text, c.Body["query"].(string)) {
				chunks = append(chunks, result.Chunk{Path: p, Text: text})
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"chunks": chunks})
	case c.Method == "DELETE" && c.Header.Get("X-Confirm-Delete") == "yes":
		l.removed = append(l.removed, c.Path)
		w.WriteHeader(http.StatusNoContent)
	default:
		http.NotFound(w, r)
	}
}

// seedOne fills one brain.
func seedOne(ctx context.Context, e *Endpoint, brain string, d result.Dialect, c dataset.Corpus) (string, error) {
	ids, err := Seed(ctx, e, d, []dataset.Brain{{Name: brain, Docs: c.Docs, Questions: 1}}, nil, nil)
	return ids[brain], err
}

// brainAt returns a brain that is there under its name.
func brainAt(e *Endpoint, name string) *remoteBrain {
	return &remoteBrain{endpoint: e, dialect: result.Auto, name: name, id: name}
}

// findBrain returns the id of a brain that is found.
func findBrain(ctx context.Context, e *Endpoint, name, query string) (string, error) {
	b := &remoteBrain{endpoint: e, dialect: result.Auto, name: name}
	if err := b.find(ctx, query); err != nil {
		return "", err
	}
	return b.id, nil
}

func corpusOf(paths ...string) dataset.Corpus {
	c := dataset.Corpus{}
	for _, p := range paths {
		c.Docs = append(c.Docs, dataset.Doc{Path: p, Data: []byte("the words of " + p)})
	}
	return c
}

func TestSeed(t *testing.T) {
	l := &library{findsAfter: 2}
	s := daemontest.New(t, l.serve)
	id, err := seedOne(t.Context(), endpointOf(t, s, ""), "My Brain", result.Auto, corpusOf("a.md", "b/ü & c?.md", "z.md"))
	if err != nil || id != "brain-7" {
		t.Fatalf("got %q, %v", id, err)
	}
	want := map[string]string{
		"raw/documents/a.md": "the words of a.md", "raw/documents/b/ü & c?.md": "the words of b/ü & c?.md", "raw/documents/z.md": "the words of z.md",
	}
	if diff := cmp.Diff(want, l.docs); diff != "" {
		t.Error(diff)
	}
	created := map[string]any{"name": "My Brain", "brain_id": "My Brain", "brainId": "My Brain", "id": "My Brain", "slug": "My Brain"}
	if diff := cmp.Diff(created, l.created); diff != "" {
		t.Error(diff)
	}
	calls := s.Calls()
	puts := 0
	for i, c := range calls {
		if c.Method != "PUT" {
			continue
		}
		puts++
		if c.Header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(c.Path, "/v1/brains/brain-7/documents?path=") {
			t.Errorf("PUT %s as %s", c.Path, c.Header.Get("Content-Type"))
		}
		if last := strings.HasSuffix(c.Path, url.QueryEscape("raw/documents/b/ü & c?.md")); last != (puts == 3) {
			t.Errorf("write %d is %s: the document that is waited for must be the last", i, c.Path)
		}
	}
	if l.searches != 3 {
		t.Errorf("searched %d times, want 3", l.searches)
	}
}

func TestSeedTellsDocumentsByID(t *testing.T) {
	l := &library{answers: map[string]func(http.ResponseWriter){
		"/search": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"chunks":[{"documentId":"raw/documents/a.md"}]}`)
		},
		"/v1/brains": func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"brainId":"b"}`) },
	}}
	if id, err := seedOne(t.Context(), endpointOf(t, daemontest.New(t, l.serve), ""), "eval", result.Snake, corpusOf("a.md")); err != nil || id != "b" {
		t.Errorf("got %q, %v", id, err)
	}
}

// TestSeedASingleLargeDocument: what one PUT may not carry, a batch may.
func TestSeedASingleLargeDocument(t *testing.T) {
	for size, wants := range map[int]string{protocol.MaxWriteBytes: "PUT", protocol.MaxWriteBytes + 1: "POST"} {
		used := ""
		s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
			switch {
			case strings.Contains(r.URL.Path, "/documents"):
				used = r.Method
				_, _ = io.WriteString(w, `{"committed":1}`)
			default:
				_, _ = io.WriteString(w, `{"id":"b","chunks":[{"path":"a.md"}]}`)
			}
		})
		c := dataset.Corpus{Docs: []dataset.Doc{{Path: "a.md", Data: []byte(strings.Repeat("x", size))}}}
		if _, err := seedOne(t.Context(), endpointOf(t, s, ""), "eval", result.Auto, c); err != nil || used != wants {
			t.Errorf("%d bytes: written by %s, %v", size, used, err)
		}
	}
}

// TestCreateBrainAgain: a daemon that is busy is asked again, one that may have
// made the brain is not, and one that says nothing of it is believed.
func TestCreateBrainAgain(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []*http.Response
		id, err string
	}{
		{"busy", []*http.Response{reply(503, ""), reply(429, ""), reply(201, `{"id":"b7"}`)}, "b7", ""},
		{"broken gateway", []*http.Response{reply(502, "")}, "", "502"},
		{"no body", []*http.Response{reply(201, " ")}, "eval", ""},
		{"no word of an id", []*http.Response{reply(201, `{}`)}, "eval", ""},
		{"a page", []*http.Response{reply(200, `<html>log in`)}, "", "did not answer with a JSON object"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &inMemory{reply: func(n int) *http.Response { return c.answers[n-1] }}
			e := &Endpoint{base: "http://memory", http: &http.Client{Transport: m}}
			b := &remoteBrain{endpoint: e, dialect: result.Auto, name: "eval"}
			err := b.create(t.Context())
			if id := b.id; id != c.id || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || m.n != len(c.answers) {
				t.Errorf("%s: got %q, %v after %d requests", c.name, b.id, err, m.n)
			}
		})
	}
}

func status(code int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func TestSeedFailures(t *testing.T) {
	for _, c := range []struct {
		name, suffix string
		answer       func(http.ResponseWriter)
		is           error
		want         string
		written      int
	}{
		{"brain exists", "/v1/brains", status(409, `{"code":"conflict"}`), ErrBrainExists, `brain "eval" at http`, 0},
		{"brain refused", "/v1/brains", status(400, `{"detail":"bad id"}`), nil, `create brain "eval": POST /v1/brains: 400 Bad Request: bad id`, 0},
		{"write refused", "/documents", status(413, `{"detail":"too big"}`), nil, "write document ", 0},
		{"search refused", "/search", status(500, "boom"), nil, "search for the seeded document b.md: POST /v1/brains/brain-7/search: 500 Internal Server Error: boom", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &library{answers: map[string]func(http.ResponseWriter){c.suffix: c.answer}}
			_, err := seedOne(t.Context(), endpointOf(t, daemontest.New(t, l.serve), ""), "eval", result.Auto, corpusOf("a.md", "b.md"))
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) || len(l.docs) != c.written {
				t.Errorf("got %v with %d documents written", err, len(l.docs))
			}
			if created := l.created != nil; (len(l.removed) == 1) != created || created && l.removed[0] != "/v1/brains/brain-7" {
				t.Errorf("created: %v, removed: %v", created, l.removed)
			}
		})
	}
}

// TestSeedWaitsForABusyDaemon: refusals that will pass are waited out, also
// more of them than a question would be sent again after.
func TestSeedWaitsForABusyDaemon(t *testing.T) {
	busy := func(n int) *http.Response {
		if n%2 == 0 {
			return reply(429, "", "Retry-After", "2")
		}
		return reply(503, "loading")
	}
	synctest.Test(t, func(t *testing.T) {
		m := &inMemory{reply: func(n int) *http.Response {
			if n == 1 || n == 8 || n == 14 { // the brain, the document, a search
				return reply(200, `{"id":"b","chunks":[{"path":"a.md"}]}`)
			}
			return busy(n)
		}}
		target := m.target()
		if id, err := seedOne(t.Context(), target.Endpoint, "eval", result.Auto, corpusOf("a.md")); id != "b" || err != nil || m.n != 14 {
			t.Fatalf("got %q, %v after %d calls at %v", id, err, m.n, m.at)
		}
		if d := m.at[12] - m.at[11]; d < 2*time.Second {
			t.Errorf("searched again %v after a Retry-After of 2 s", d)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := &inMemory{reply: func(n int) *http.Response {
			if n > 9 {
				return reply(200, `{"items":[{"id":"eval"}],"chunks":[{"path":"a.md"}]}`)
			}
			return busy(n)
		}}
		if id, err := findBrain(t.Context(), m.target().Endpoint, "eval", "q"); id != "eval" || err != nil {
			t.Errorf("got %q, %v after %d calls", id, err, m.n)
		}
	})
}

// TestSeedIsNotPatientForEver holds the bounds of each call and of the search.
func TestSeedIsNotPatientForEver(t *testing.T) {
	for _, c := range []struct {
		name  string
		free  int // calls that are answered before the daemon is busy
		after string
		want  string
	}{
		{"writes", 1, "", "write document a.md: PUT /v1/brains/b/documents: 503: busy"},
		{"writes, wait too long", 1, "31", "write document a.md: PUT"},
		{"searches", 2, "", "document a.md was written but could not be searched for within 30.025s: POST /v1/brains/b/search: 503: busy"},
		{"searches, wait too long", 2, "31", "could not be searched for within 30.025s: POST"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &inMemory{reply: func(n int) *http.Response {
				if n <= c.free {
					return reply(200, `{"id":"b"}`)
				}
				return reply(503, "busy", "Retry-After", c.after)
			}}
			target := m.target()
			_, err := seedOne(t.Context(), target.Endpoint, "eval", result.Auto, corpusOf("a.md"))
			took := time.Since(m.start)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `brain "b" may hold part of the corpus and must be removed before the next try`) {
				t.Errorf("%s: got %v", c.name, err)
			}
			if c.after == "" && (took < 25*time.Second || took > 35*time.Second) || c.after != "" && took != 0 {
				t.Errorf("%s: took %v", c.name, took)
			}
		})
	}
}

// TestInterruptedSeedRemovesItsBrain: the deletion outlives the cancelled
// context, and a daemon may close the connection with its answer.
func TestInterruptedSeedRemovesItsBrain(t *testing.T) {
	for _, suffix := range []string{"/documents", "/search", "/v1/brains"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped by the user")
		l := &library{answers: map[string]func(http.ResponseWriter){
			suffix: func(w http.ResponseWriter) {
				cancel(stopped)
				if suffix == "/v1/brains" {
					time.Sleep(10 * time.Millisecond) // so that the client knows before it has the answer
					status(201, `{"id":"brain-7"}`)(w)
					return
				}
				status(503, "")(w)
			},
			"/brain-7": func(w http.ResponseWriter) {
				w.Header().Set("Connection", "close")
				w.WriteHeader(http.StatusNoContent)
			},
		}}
		s := daemontest.New(t, l.serve)
		_, err := seedOne(ctx, endpointOf(t, s, "secret"), "eval", result.Auto, corpusOf("a.md"))
		calls := s.Calls()
		last := calls[len(calls)-1]
		if !errors.Is(err, stopped) || strings.Contains(err.Error(), "removed") {
			t.Errorf("%s: got %v", suffix, err)
		}
		if last.Method != "DELETE" || last.Path != "/v1/brains/brain-7" || last.Header.Get("X-Confirm-Delete") != "yes" || last.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s: the last call is %+v", suffix, last)
		}
	}
}

func TestUnremovableBrainIsNamed(t *testing.T) {
	for _, c := range []struct {
		answer func(http.ResponseWriter)
		want   string
	}{
		{status(404, ""), ""}, // gone already
		{status(409, `{"detail":"in use"}`), "could not be removed now: DELETE /v1/brains/brain-7: 409 Conflict: in use"},
		{func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "could not be removed now: "},
	} {
		l := &library{answers: map[string]func(http.ResponseWriter){"/documents": status(413, "too big"), "/brain-7": c.answer}}
		_, err := seedOne(t.Context(), endpointOf(t, daemontest.New(t, l.serve), ""), "eval", result.Auto, corpusOf("a.md"))
		if err == nil || !strings.Contains(err.Error(), "too big") || !strings.Contains(err.Error(), c.want) || (c.want != "") != strings.Contains(err.Error(), `brain "brain-7" may hold part`) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestFindBrain holds which brains can be evaluated as they are.
func TestFindBrain(t *testing.T) {
	found, nothing := status(200, `{"chunks":[{"path":"x"}]}`), status(200, `{"chunks":[]}`)
	list := func(items string) func(http.ResponseWriter) { return status(200, `{"items":`+items+`}`) }
	const brains, search, docs = "/v1/brains", "/search", "/documents"
	for _, c := range []struct {
		name    string
		answers map[string]func(http.ResponseWriter)
		id      string
		is      error
		want    string
	}{
		{"by id", map[string]func(http.ResponseWriter){brains: list(`[{"id":"x"},{"id":"eval"}]`), search: found}, "eval", nil, ""},
		{"by name", map[string]func(http.ResponseWriter){brains: list(`[{"id":"u-1","name":"eval"}]`), search: found}, "u-1", nil, ""},
		{"by slug", map[string]func(http.ResponseWriter){brains: list(`[{"brain_id":"u-2","slug":"eval"}]`), search: found}, "u-2", nil, ""},
		{"camelCase id", map[string]func(http.ResponseWriter){brains: list(`[{"brainId":"eval"}]`), search: found}, "eval", nil, ""},
		{"name without an id", map[string]func(http.ResponseWriter){brains: list(`[{"name":"eval"}]`), search: found}, "eval", nil, ""},
		{"cannot list", map[string]func(http.ResponseWriter){brains: status(404, ""), search: found}, "eval", nil, ""},
		{"must not list", map[string]func(http.ResponseWriter){brains: status(405, ""), search: found}, "eval", nil, ""},
		{"not listed", map[string]func(http.ResponseWriter){brains: list(`[{"id":"other"}]`)}, "", ErrBrainMissing, "--corpus"},
		{"no brains", map[string]func(http.ResponseWriter){brains: list(`[]`)}, "", ErrBrainMissing, "--corpus"},
		{"search does not know it", map[string]func(http.ResponseWriter){brains: status(404, ""), search: status(404, "")}, "", ErrBrainMissing, "--corpus"},
		{"nothing found, documents there", map[string]func(http.ResponseWriter){brains: list(`[{"id":"eval"}]`), search: nothing, docs: list(`[{"path":"a"}]`)}, "eval", nil, ""},
		{"more documents than a list holds", map[string]func(http.ResponseWriter){brains: list(`[{"id":"eval"}]`), search: nothing, docs: status(413, "")}, "eval", nil, ""},
		{"empty", map[string]func(http.ResponseWriter){brains: list(`[{"id":"eval"}]`), search: nothing, docs: list(`[]`)}, "", ErrBrainEmpty, "give its documents with --corpus"},
		{"nothing found, cannot list documents", map[string]func(http.ResponseWriter){brains: list(`[{"id":"eval"}]`), search: nothing, docs: status(404, "")}, "", ErrBrainEmpty, ""},
		{"listing breaks", map[string]func(http.ResponseWriter){brains: list(`[{"id":"eval"}]`), search: nothing, docs: status(500, "boom")}, "", nil, "list the documents of brain \"eval\": GET"},
		{"list of brains breaks", map[string]func(http.ResponseWriter){brains: status(500, "boom")}, "", nil, "list brains: GET /v1/brains: 500"},
		{"search breaks", map[string]func(http.ResponseWriter){brains: list(`[{"id":"eval"}]`), search: status(500, "boom")}, "", nil, `search brain "eval": POST`},
		{"no token", map[string]func(http.ResponseWriter){brains: status(401, "")}, "", nil, "--token or SVC_TOKEN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &library{answers: c.answers}
			id, err := findBrain(t.Context(), endpointOf(t, daemontest.New(t, l.serve), ""), "eval", "a question?")
			if id != c.id || (err == nil) != (c.id != "") || c.is != nil && !errors.Is(err, c.is) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, %v", id, err)
			}
			if c.is == nil && (errors.Is(err, ErrBrainEmpty) || errors.Is(err, ErrBrainMissing)) {
				t.Errorf("a failing daemon was taken for a missing brain: %v", err)
			}
		})
	}
}

// TestSeedManyDocuments writes each document once, several at a time.
func TestSeedManyDocuments(t *testing.T) {
	l := &library{}
	var paths []string
	for i := range 100 {
		paths = append(paths, fmt.Sprintf("d%03d.md", i))
	}
	s := daemontest.New(t, l.serve)
	if _, err := seedOne(t.Context(), endpointOf(t, s, ""), "eval", result.Auto, corpusOf(paths...)); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, p := range paths {
		want = append(want, result.SeedRoot+p)
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(l.docs))); diff != "" {
		t.Error(diff)
	}
	puts := 0
	for _, c := range s.Calls() {
		if c.Method == "PUT" {
			puts++
		}
	}
	if puts != len(paths) {
		t.Errorf("%d writes for %d documents", puts, len(paths))
	}
}
