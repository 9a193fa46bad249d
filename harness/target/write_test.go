package target

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"evalctl/daemon/protocol"
	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// libraries is a daemon of many brains that takes batches of at most room
// bytes of body, unless it is told to refuse them with a status.
type libraries struct {
	mu      sync.Mutex
	brains  map[string]bool
	docs    map[string]string // by id and path
	order   []string          // documents as they came
	batches []int             // their sizes
	broken  string            // a brain that takes no document
	refuse  int
	room    int
	short   bool // it commits one op less than it got
}

func (l *libraries) serve(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.docs == nil {
		l.brains, l.docs = map[string]bool{}, map[string]string{}
	}
	if r.URL.Path == "/v1/brains" {
		l.list(w, c)
		return
	}
	id, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/brains/"), "/")
	switch {
	case c.Method == "DELETE":
		delete(l.brains, id)
		w.WriteHeader(http.StatusNoContent)
	case rest != "search" && id == "id-"+l.broken:
		http.Error(w, "no room", http.StatusInsufficientStorage)
	case rest == "documents":
		l.put(id, r.URL.Query().Get("path"), string(c.Raw))
		w.WriteHeader(http.StatusNoContent)
	case rest == "documents/batch-ops" && l.refuse != 0:
		w.WriteHeader(l.refuse)
	case rest == "documents/batch-ops" && l.room > 0 && len(c.Raw) > l.room:
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	case rest == "documents/batch-ops":
		l.batch(w, id, c.Raw)
	case rest == "search":
		chunks := []result.Chunk{}
		for k, text := range l.docs {
			if p, ok := strings.CutPrefix(k, id+" "); ok && strings.Contains(text, c.Body["query"].(string)) {
				chunks = append(chunks, result.Chunk{Path: p, Text: text})
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"chunks": chunks})
	default:
		http.NotFound(w, r)
	}
}

func (l *libraries) list(w http.ResponseWriter, c daemontest.Call) {
	if c.Method == "GET" {
		var items []map[string]string
		for id := range l.brains {
			items = append(items, map[string]string{"id": id, "name": strings.TrimPrefix(id, "id-")})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
		return
	}
	id := "id-" + c.Body["name"].(string)
	if l.brains[id] {
		w.WriteHeader(http.StatusConflict)
		return
	}
	l.brains[id] = true
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"id":%q}`, id)
}

func (l *libraries) put(id, path, text string) {
	l.docs[id+" "+path] = text
	l.order = append(l.order, path)
}

func (l *libraries) batch(w http.ResponseWriter, id string, raw []byte) {
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
		l.put(id, op.Path, string(op.Content))
	}
	l.batches = append(l.batches, len(b.Ops))
	committed := len(b.Ops)
	if l.short {
		committed--
	}
	_, _ = fmt.Fprintf(w, `{"committed":%d}`, committed)
}

func manyDocs(n int) dataset.Corpus {
	var paths []string
	for i := range n {
		paths = append(paths, fmt.Sprintf("d%04d.md", i))
	}
	return corpusOf(paths...)
}

// TestWritesAreBatched, the document that is waited for in one of its own; and
// one by one where the daemon serves no batches.
func TestWritesAreBatched(t *testing.T) {
	for _, c := range []struct {
		name    string
		l       *libraries
		batches []int
		posts   int
	}{
		{"batches", &libraries{}, []int{256, 256, 87, 1}, 4},
		{"not found", &libraries{refuse: 404}, nil, 1},
		{"not allowed", &libraries{refuse: 405}, nil, 1},
		{"a lower limit", &libraries{room: 12 << 10}, []int{64, 64, 64, 64, 64, 64, 64, 64, 87, 1}, 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			docs := manyDocs(600)
			s := daemontest.New(t, c.l.serve)
			if _, err := seedOne(t.Context(), endpointOf(t, s, ""), "eval", result.Auto, docs); err != nil {
				t.Fatal(err)
			}
			last, _ := probeOf(docs.Docs)
			if c.l.order[len(c.l.order)-1] != result.SeedRoot+docs.Docs[last].Path || len(c.l.order) != 600 || len(c.l.docs) != 600 {
				t.Errorf("%d writes, the last of %s", len(c.l.order), c.l.order[len(c.l.order)-1])
			}
			for _, d := range docs.Docs {
				if c.l.docs["id-eval "+result.SeedRoot+d.Path] != string(d.Data) {
					t.Fatalf("%s was not written as it is", d.Path)
				}
			}
			posts := 0
			for _, call := range s.Calls() {
				if strings.HasSuffix(call.Path, "batch-ops") {
					posts++
				}
			}
			slices.Sort(c.batches)
			slices.Sort(c.l.batches)
			if !slices.Equal(c.batches, c.l.batches) || c.name != "a lower limit" && posts != c.posts {
				t.Errorf("batches of %v in %d requests", c.l.batches, posts)
			}
		})
	}
}

// TestBatchesThatFail are no reason to write one by one.
func TestBatchesThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		l    *libraries
		want string
	}{
		"refused":  {&libraries{refuse: 400}, "write a batch of 4 documents from d0000.md on: POST /v1/brains/id-eval/documents/batch-ops: 400 Bad Request"},
		"cut":      {&libraries{short: true}, "the daemon says that it committed 3"},
		"too big":  {&libraries{refuse: 413}, "write a batch of 1 documents from d0000.md on: POST"},
		"no brain": {&libraries{broken: "eval"}, "507"},
	} {
		s := daemontest.New(t, c.l.serve)
		_, err := seedOne(t.Context(), endpointOf(t, s, ""), "eval", result.Auto, manyDocs(5))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
		for _, call := range s.Calls() {
			if call.Method == "PUT" {
				t.Errorf("%s: %s was written on its own", name, call.Path)
			}
		}
	}
}

// TestBatchesKeepTheLimits of the specification, and all documents in order.
func TestBatchesKeepTheLimits(t *testing.T) {
	big := make([]byte, protocol.MaxBatchBytes)
	rapid.Check(t, func(rt *rapid.T) {
		var docs, again []dataset.Doc
		for i, n := range rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, 3<<20), rapid.Just(protocol.MaxBatchBytes)), 0, 600).Draw(rt, "sizes") {
			docs = append(docs, dataset.Doc{Path: fmt.Sprint(i), Data: big[:n]})
		}
		for _, chunk := range batches(docs) {
			size := 0
			for _, d := range chunk {
				size += len(d.Data)
			}
			if len(chunk) == 0 || len(chunk) > protocol.MaxBatchOps || len(chunk) > 1 && size > protocol.MaxBatchBytes {
				rt.Fatalf("a batch of %d documents and %d bytes", len(chunk), size)
			}
			again = append(again, chunk...)
		}
		if !slices.EqualFunc(docs, again, func(a, b dataset.Doc) bool { return a.Path == b.Path }) {
			rt.Fatal("documents are lost or moved")
		}
	})
}
