package seed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

func TestOneBrain(t *testing.T) {
	o := &oneBrain{findsAfter: 2}
	s := daemontest.New(t, o.serve)
	c := corpusOf("a.md", "b/ü & c?.md", "z.md")
	id, err := seedAs(t.Context(), endpointAt(t, s.URL, ""), "My Brain", result.Auto, c)
	if err != nil || id != "brain-7" {
		t.Fatalf("got %q, %v", id, err)
	}
	want := map[string]string{
		"raw/documents/a.md":        "the words of a.md",
		"raw/documents/b/ü & c?.md": "the words of b/ü & c?.md",
		"raw/documents/z.md":        "the words of z.md",
	}
	if diff := cmp.Diff(want, o.docs); diff != "" {
		t.Error(diff)
	}
	created := map[string]any{
		"name": "My Brain", "brain_id": "My Brain", "brainId": "My Brain",
		"id": "My Brain", "slug": "My Brain",
	}
	if diff := cmp.Diff(created, o.created); diff != "" {
		t.Error(diff)
	}
	puts := 0
	for i, c := range s.Calls() {
		if c.Method != "PUT" {
			continue
		}
		puts++
		kind := c.Header.Get("Content-Type")
		if kind != "application/octet-stream" ||
			!strings.HasPrefix(c.Path, "/v1/brains/brain-7/documents?path=") {
			t.Errorf("PUT %s as %s", c.Path, kind)
		}
		last := strings.HasSuffix(c.Path, url.QueryEscape("raw/documents/b/ü & c?.md"))
		if last != (puts == 3) {
			t.Errorf("write %d is %s: the document that is searched for must be the last",
				i, c.Path)
		}
	}
	if o.searches != 3 {
		t.Errorf("searched %d times, want 3", o.searches)
	}
}

// TestManyDocuments checks that each document is written once.
func TestManyDocuments(t *testing.T) {
	o := &oneBrain{}
	docs := numbered(100)
	s := daemontest.New(t, o.serve)
	if _, err := seedOne(t.Context(), endpointAt(t, s.URL, ""), docs); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, d := range docs.Docs {
		want = append(want, result.SeedRoot+d.Path)
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(o.docs))); diff != "" {
		t.Error(diff)
	}
	puts := 0
	for _, c := range s.Calls() {
		if c.Method == "PUT" {
			puts++
		}
	}
	if puts != 100 {
		t.Errorf("%d writes for 100 documents", puts)
	}
}

// TestSingleLargeDocument checks that a document too large for PUT is sent in a batch.
func TestSingleLargeDocument(t *testing.T) {
	for size, want := range map[int]string{
		protocol.MaxWriteBytes: "PUT", protocol.MaxWriteBytes + 1: "POST",
	} {
		used := ""
		s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
			if strings.Contains(r.URL.Path, "/documents") {
				used = r.Method
				_, _ = io.WriteString(w, `{"committed":1}`)
				return
			}
			_, _ = io.WriteString(w, `{"id":"b","chunks":[{"path":"a.md"}]}`)
		})
		doc := dataset.Doc{Path: "a.md", Data: []byte(strings.Repeat("x", size))}
		c := dataset.Corpus{Docs: []dataset.Doc{doc}}
		_, err := seedOne(t.Context(), endpointAt(t, s.URL, ""), c)
		if err != nil || used != want {
			t.Errorf("%d bytes: written by %s, %v", size, used, err)
		}
	}
}

func answer(status int, body string) func(http.ResponseWriter) {
	return reply{status: status, body: body}.write
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name, suffix string
		answer       func(http.ResponseWriter)
		is           error
		want         string
		written      int
	}{
		{"brain exists", "/v1/brains", answer(409, `{"code":"conflict"}`), ErrExists,
			`brain "eval" at http`, 0},
		{"brain rejected", "/v1/brains", answer(400, `{"detail":"bad id"}`), nil,
			`create brain "eval": POST /v1/brains: 400 Bad Request: bad id`, 0},
		{"write rejected", "/documents", answer(422, `{"detail":"too big"}`), nil,
			"write document ", 0},
		{"search fails", "/search", answer(500, "boom"), nil,
			"search for the seeded document b.md: " +
				"POST /v1/brains/brain-7/search: 500 Internal Server Error: boom", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &oneBrain{answers: map[string]func(http.ResponseWriter){c.suffix: c.answer}}
			e := endpointAt(t, daemontest.New(t, o.serve).URL, "")
			_, err := seedOne(t.Context(), e, corpusOf("a.md", "b.md"))
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				c.is != nil && !errors.Is(err, c.is) || len(o.docs) != c.written {
				t.Errorf("got %v with %d documents written", err, len(o.docs))
			}
			created := o.created != nil
			if (len(o.removed) == 1) != created || created && o.removed[0] != "/v1/brains/brain-7" {
				t.Errorf("created: %v, removed: %v", created, o.removed)
			}
		})
	}
}

// TestBusyDaemon checks that statuses that will pass are waited out, even more of them than a
// question would be repeated after.
func TestBusyDaemon(t *testing.T) {
	busy := func(n int) reply {
		if n%2 == 0 {
			return reply{status: 429, header: []string{"Retry-After", "2"}}
		}
		return reply{status: 503, body: "loading"}
	}
	synctest.Test(t, func(t *testing.T) {
		m := &sequence{answer: func(n int) reply {
			if n == 1 || n == 8 || n == 14 { // the brain, the document, a search
				return reply{status: 200, body: `{"id":"b","chunks":[{"path":"a.md"}]}`}
			}
			return busy(n)
		}}
		id, err := seedOne(t.Context(), inMemory(t, m.serve), corpusOf("a.md"))
		if id != "b" || err != nil || m.n != 14 {
			t.Fatalf("got %q, %v after %d calls at %v", id, err, m.n, m.at)
		}
		if d := m.at[12].Sub(m.at[11]); d < 2*time.Second {
			t.Errorf("searched again %v after a Retry-After of 2 s", d)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := &sequence{lists: true, answer: func(n int) reply {
			if n > 9 {
				const both = `{"items":[{"id":"eval"}],"chunks":[{"path":"a.md"}]}`
				return reply{status: 200, body: both}
			}
			return busy(n)
		}}
		if id, err := findEval(t.Context(), inMemory(t, m.serve)); id != "eval" || err != nil {
			t.Errorf("got %q, %v after %d calls", id, err, m.n)
		}
	})
}

// TestPatienceEnds checks the time limits of each call and of the search.
func TestPatienceEnds(t *testing.T) {
	for _, c := range []struct {
		name  string
		free  int // calls that are answered before the daemon is busy
		after string
		want  string
	}{
		{"writes", 1, "",
			"write document a.md: PUT /v1/brains/b/documents: 503 Service Unavailable: busy"},
		{"writes, wait too long", 1, "31", "write document a.md: PUT"},
		{"searches", 2, "",
			"document a.md was written but could not be searched for within 30.025s: " +
				"POST /v1/brains/b/search: 503 Service Unavailable: busy"},
		{"searches, wait too long", 2, "31", "could not be searched for within 30.025s: POST"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &sequence{answer: func(n int) reply {
				if n <= c.free {
					return reply{status: 200, body: `{"id":"b"}`}
				}
				return reply{status: 503, body: "busy", header: []string{"Retry-After", c.after}}
			}}
			start := time.Now()
			_, err := seedOne(t.Context(), inMemory(t, m.serve), corpusOf("a.md"))
			took := time.Since(start)
			const left = `brain "b" may hold part of the corpus and must be removed before the next try`
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), left) {
				t.Errorf("%s: got %v", c.name, err)
			}
			if c.after == "" && (took < 25*time.Second || took > 36*time.Second) ||
				c.after != "" && took != 0 {
				t.Errorf("%s: took %v", c.name, took)
			}
		})
	}
}

// TestSilentDaemon checks that no call waits forever.
func TestSilentDaemon(t *testing.T) {
	corpus := dataset.Corpus{Docs: []dataset.Doc{{Path: "a.md", Data: []byte("a")}}}
	for name, do := range map[string]func(context.Context, *target.Endpoint) error{
		"seed": func(ctx context.Context, e *target.Endpoint) error {
			_, err := seedOne(ctx, e, corpus)
			return err
		},
		"put": func(ctx context.Context, e *target.Endpoint) error {
			return evalAt(e).Write(ctx, corpus.Docs, 1)
		},
		"find": func(ctx context.Context, e *target.Endpoint) error {
			_, err := findEval(ctx, e)
			return err
		},
		"search": func(ctx context.Context, e *target.Endpoint) error {
			_, err := evalAt(e).Search(ctx, "q", 1)
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
				if name == "seed" && r.Method == http.MethodGet {
					http.NotFound(w, r) // it has no lists
					return
				}
				<-r.Context().Done()
			})
			start := time.Now()
			err := do(t.Context(), e)
			if !errors.Is(err, target.ErrNoAnswer) || time.Since(start) != target.CallTimeout {
				t.Errorf("%s ended after %v with %v", name, time.Since(start), err)
			}
		})
	}
}

// TestInterruptedSeedRemovesItsBrain checks that the brain is removed after the context has been
// cancelled, also by a daemon that closes the connection with its answer.
func TestInterruptedSeedRemovesItsBrain(t *testing.T) {
	for _, suffix := range []string{"/documents", "/search", "/v1/brains"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped by the user")
		o := &oneBrain{answers: map[string]func(http.ResponseWriter){
			suffix: func(w http.ResponseWriter) {
				cancel(stopped)
				if suffix == "/v1/brains" {
					// The client should notice the end of its context before it has the answer.
					time.Sleep(10 * time.Millisecond)
					answer(201, `{"id":"brain-7"}`)(w)
					return
				}
				answer(503, "")(w)
			},
			"/brain-7": func(w http.ResponseWriter) {
				w.Header().Set("Connection", "close")
				w.WriteHeader(http.StatusNoContent)
			},
		}}
		s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
			if c.Method == http.MethodGet {
				http.NotFound(w, r) // it has no lists
				return
			}
			o.serve(w, r, c)
		})
		_, err := seedOne(ctx, endpointAt(t, s.URL, "secret"), corpusOf("a.md"))
		calls := s.Calls()
		last := calls[len(calls)-1]
		if !errors.Is(err, stopped) || strings.Contains(err.Error(), "removed") {
			t.Errorf("%s: got %v", suffix, err)
		}
		if last.Method != "DELETE" || last.Path != "/v1/brains/brain-7" ||
			last.Header.Get("X-Confirm-Delete") != "yes" ||
			last.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s: the last call is %+v", suffix, last)
		}
	}
}

func TestUnremovableBrainIsNamed(t *testing.T) {
	for _, c := range []struct {
		answer func(http.ResponseWriter)
		want   string
	}{
		{answer(404, ""), ""}, // it is gone already
		{answer(409, `{"detail":"in use"}`),
			"could not be removed now: DELETE /v1/brains/brain-7: 409 Conflict: in use"},
		{func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "could not be removed now: "},
	} {
		o := &oneBrain{answers: map[string]func(http.ResponseWriter){
			"/documents": answer(422, "too big"), "/brain-7": c.answer,
		}}
		e := endpointAt(t, daemontest.New(t, o.serve).URL, "")
		_, err := seedOne(t.Context(), e, corpusOf("a.md"))
		named := strings.Contains(fmt.Sprint(err), `brain "brain-7" may hold part`)
		if err == nil || !strings.Contains(err.Error(), "too big") ||
			!strings.Contains(err.Error(), c.want) || (c.want != "") != named {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestManyBrains checks that each brain gets its own documents, and that all are removed if one
// cannot be seeded.
func TestManyBrains(t *testing.T) {
	for _, broken := range []string{"", "b7"} {
		m := &manyBrains{broken: broken}
		e := endpointAt(t, daemontest.New(t, m.serve).URL, "")
		var brains []dataset.Brain
		want := map[string]string{}
		for i := range 12 {
			name := fmt.Sprintf("b%d", i)
			b := dataset.Brain{Name: name, Questions: 1}
			for j := range 3 {
				p := fmt.Sprintf("%s/%d.md", name, j)
				b.Docs = append(b.Docs, dataset.Doc{Path: p, Data: []byte("text of " + p)})
				want["id-"+name+" raw/documents/"+p] = "text of " + p
			}
			brains = append(brains, b)
		}
		ids, err := Brains(t.Context(), e, result.Auto, brains, nil, nil)
		if broken != "" {
			if err == nil || !strings.Contains(err.Error(), "no room") ||
				ids != nil || len(m.brains) != 0 {
				t.Errorf("got %v, %v; %d brains are left", ids, err, len(m.brains))
			}
			continue
		}
		if err != nil || len(ids) != 12 || ids["b11"] != "id-b11" {
			t.Fatal(ids, err)
		}
		if diff := cmp.Diff(want, m.docs); diff != "" {
			t.Error(diff)
		}
	}
}

// TestResumedSeed checks that brains that an interrupted run has seeded are used as they are, and
// that others must not exist.
func TestResumedSeed(t *testing.T) {
	m := &manyBrains{}
	e := endpointAt(t, daemontest.New(t, m.serve).URL, "")
	a := dataset.Brain{Name: "a", Docs: corpusOf("a.md").Docs}
	b := dataset.Brain{Name: "b", Docs: corpusOf("b.md").Docs}
	seed := func(seeded map[string]bool, brains ...dataset.Brain) (map[string]string, error) {
		mark := func(brain string) error { seeded[brain] = true; return nil }
		done := func(brain string) bool { return seeded[brain] }
		return Brains(t.Context(), e, result.Auto, brains, done, mark)
	}
	first := map[string]bool{}
	if _, err := seed(first, a); err != nil {
		t.Fatal(err)
	}
	resumed := maps.Clone(first)
	ids, err := seed(resumed, a, b)
	if err != nil || ids["a"] != "id-a" || ids["b"] != "id-b" || !resumed["b"] {
		t.Fatal(ids, err)
	}
	_, err = seed(first, a, b)
	if err == nil || !strings.Contains(err.Error(), `brain "b" at`) || len(m.brains) != 2 {
		t.Errorf("got %v, and %d brains are left", err, len(m.brains))
	}
	full := errors.New("disk full")
	mark := func(string) error { return full }
	c := []dataset.Brain{{Name: "c", Docs: a.Docs}}
	_, err = Brains(t.Context(), e, result.Auto, c, nil, mark)
	if !errors.Is(err, full) || len(m.brains) != 2 {
		t.Errorf("got %v, and %d brains are left", err, len(m.brains))
	}
}
