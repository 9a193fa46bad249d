package seed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

func endpointAt(tb testing.TB, url, token string) *target.Endpoint {
	tb.Helper()
	e, err := target.NewEndpoint(url, token, "evalctl-test", 16)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

// inMemory returns the endpoint of a daemon without sockets, for tests in a bubble of their own
// time.
func inMemory(tb testing.TB, answer http.HandlerFunc) *target.Endpoint {
	tb.Helper()
	daemontest.InMemory(tb, func(w http.ResponseWriter, r *http.Request) {
		// The server notices the end of a connection only after it has read the body.
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, r)
	})
	return endpointAt(tb, "http://memory", "")
}

// reply is an answer. header has names and values in turn.
type reply struct {
	status int
	body   string
	header []string
}

func (r reply) write(w http.ResponseWriter) {
	for i := 0; i+1 < len(r.header); i += 2 {
		w.Header().Set(r.header[i], r.header[i+1])
	}
	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, r.body)
}

// sequence is a daemon that answers its requests, which must come one by one, in order. n is the
// number of requests so far, and at are the times of their arrival. Unless lists is set, it has
// no lists, and does not count the requests for them.
type sequence struct {
	answer func(n int) reply
	lists  bool
	n      int
	at     []time.Time
}

func (s *sequence) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && !s.lists {
		http.NotFound(w, r)
		return
	}
	s.n++
	s.at = append(s.at, time.Now())
	s.answer(s.n).write(w)
}

// oneBrain is a daemon with one brain, which takes single documents only.
type oneBrain struct {
	mu       sync.Mutex
	docs     map[string]string // by path
	created  map[string]any    // the body of the request that created the brain
	removed  []string          // the paths of the requests that removed brains
	searches int
	// findsAfter is the number of searches that find nothing yet.
	findsAfter int
	// answers has the answers to requests by the end of their path, which replace the usual ones.
	answers map[string]func(w http.ResponseWriter)
}

func (o *oneBrain) serve(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for suffix, answer := range o.answers {
		if strings.HasSuffix(r.URL.Path, suffix) {
			answer(w)
			return
		}
	}
	switch {
	case c.Path == "/v1/brains" && c.Method == "POST":
		o.created = c.Body
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":"brain-7"}`)
	case c.Method == "PUT":
		if o.docs == nil {
			o.docs = map[string]string{}
		}
		o.docs[r.URL.Query().Get("path")] = string(c.Raw)
		w.WriteHeader(http.StatusNoContent)
	case strings.HasSuffix(c.Path, "/search"):
		o.searches++
		chunks := []result.Chunk{}
		for p, text := range o.docs {
			if o.searches > o.findsAfter && strings.Contains(text, c.Body["query"].(string)) {
				chunks = append(chunks, result.Chunk{Path: p, Text: text})
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"chunks": chunks})
	case c.Method == "DELETE" && c.Header.Get("X-Confirm-Delete") == "yes":
		o.removed = append(o.removed, c.Path)
		w.WriteHeader(http.StatusNoContent)
	default:
		http.NotFound(w, r)
	}
}

// manyBrains is a daemon of many brains that takes batches.
type manyBrains struct {
	mu      sync.Mutex
	brains  map[string]bool
	docs    map[string]string // by the brain's id and the path, with a space between them
	order   []string          // the paths in the order of arrival
	batches []int             // their sizes
	broken  string            // a brain that takes no document
	rejects int               // the status of the answer to every batch, 0 to take them
	room    int               // the largest body of a batch, 0 for no limit
	short   bool              // it commits one operation less than a batch has
}

func (m *manyBrains) serve(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.docs == nil {
		m.brains, m.docs = map[string]bool{}, map[string]string{}
	}
	if r.URL.Path == "/v1/brains" {
		m.list(w, c)
		return
	}
	id, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/brains/"), "/")
	switch {
	case c.Method == "DELETE":
		delete(m.brains, id)
		w.WriteHeader(http.StatusNoContent)
	case rest != "search" && id == "id-"+m.broken:
		http.Error(w, "no room", http.StatusInsufficientStorage)
	case rest == "documents" && c.Method == "PUT":
		m.put(id, r.URL.Query().Get("path"), string(c.Raw))
		w.WriteHeader(http.StatusNoContent)
	case rest == "documents/batch-ops" && m.rejects != 0:
		w.WriteHeader(m.rejects)
	case rest == "documents/batch-ops" && m.room > 0 && len(c.Raw) > m.room:
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	case rest == "documents/batch-ops":
		m.batch(w, id, c.Raw)
	case rest == "search":
		chunks := []result.Chunk{}
		for k, text := range m.docs {
			p, ok := strings.CutPrefix(k, id+" ")
			if ok && strings.Contains(text, c.Body["query"].(string)) {
				chunks = append(chunks, result.Chunk{Path: p, Text: text})
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"chunks": chunks})
	default:
		http.NotFound(w, r)
	}
}

func (m *manyBrains) list(w http.ResponseWriter, c daemontest.Call) {
	if c.Method == "GET" {
		var items []map[string]string
		for id := range m.brains {
			name := strings.TrimPrefix(id, "id-")
			items = append(items, map[string]string{"id": id, "name": name})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
		return
	}
	id := "id-" + c.Body["name"].(string)
	if m.brains[id] {
		w.WriteHeader(http.StatusConflict)
		return
	}
	m.brains[id] = true
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"id":%q}`, id)
}

func (m *manyBrains) put(id, path, text string) {
	m.docs[id+" "+path] = text
	m.order = append(m.order, path)
}

func (m *manyBrains) batch(w http.ResponseWriter, id string, raw []byte) {
	var b protocol.Batch
	if json.Unmarshal(raw, &b) != nil || b.Reason == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, op := range b.Ops {
		if op.Type != protocol.OpWrite {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		m.put(id, op.Path, string(op.Content))
	}
	m.batches = append(m.batches, len(b.Ops))
	committed := len(b.Ops)
	if m.short {
		committed--
	}
	_, _ = fmt.Fprintf(w, `{"committed":%d}`, committed)
}

// corpusOf returns a corpus of documents, each with a word of its own.
func corpusOf(paths ...string) dataset.Corpus {
	c := dataset.Corpus{}
	for _, p := range paths {
		c.Docs = append(c.Docs, dataset.Doc{Path: p, Data: []byte("the words of " + p)})
	}
	return c
}

// numbered returns a corpus of n documents.
func numbered(n int) dataset.Corpus {
	var paths []string
	for i := range n {
		paths = append(paths, fmt.Sprintf("d%04d.md", i))
	}
	return corpusOf(paths...)
}

// seedOne seeds the brain "eval" and returns its id.
func seedOne(ctx context.Context, e *target.Endpoint, c dataset.Corpus) (string, error) {
	return seedAs(ctx, e, "eval", result.Auto, c)
}

func seedAs(
	ctx context.Context, e *target.Endpoint, brain string, d result.Dialect, c dataset.Corpus,
) (string, error) {
	brains := []dataset.Brain{{Name: brain, Docs: c.Docs, Questions: 1}}
	ids, err := Brains(ctx, e, d, brains, nil, nil)
	return ids[brain], err
}

// findEval finds the brain "eval" and returns its id.
func findEval(ctx context.Context, e *target.Endpoint) (string, error) {
	brains := []dataset.Brain{{Name: "eval"}}
	ids, err := Brains(ctx, e, result.Auto, brains, nil, nil)
	return ids["eval"], err
}

// evalAt returns the brain "eval" whose id is its name.
func evalAt(e *target.Endpoint) *Brain {
	return &Brain{store: e.Store(result.Auto), name: "eval", id: "eval"}
}
