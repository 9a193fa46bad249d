package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"evalctl/daemon"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// instances is a benchmark of two haystacks, in which the session "same" occurs twice.
const instances = `[
 {"question_id": "q1", "question_type": "single-session-user", "question": "What is my cat called?",
  "question_date": "2023/05/30 (Tue) 23:40", "answer": "Biscuit", "answer_session_ids": ["answer_1"],
  "haystack_dates": ["2023/05/21 (Sun) 10:00", "2023/05/20 (Sat) 02:21", "2023/05/22 (Mon) 23:59"],
  "haystack_session_ids": ["other_1", "same", "answer_1"],
  "haystack_sessions": [
   [{"role": "user", "content": "The tomatoes on my balcony are ripe at last."},
    {"role": "assistant", "content": "Pick them in the morning, when they are cool."}],
   [{"role": "user", "content": "I take the ferry to Elba every summer."},
    {"role": "assistant", "content": "Book the ferry early, in March at the latest."}],
   [{"role": "user", "content": "Thanks."}, {"role": "assistant", "content": "You are welcome."},
    {"role": "user", "content": "I adopted a grey cat and called it Biscuit on Monday."}]]},
 {"question_id": "q2", "question_type": "multi-session", "question": "When do I book the ferry?",
  "question_date": "2023/06/01 (Thu) 08:00", "answer": "in March", "answer_session_ids": ["same"],
  "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/25 (Thu) 12:00"],
  "haystack_session_ids": ["same", "other_2"],
  "haystack_sessions": [
   [{"role": "user", "content": "I take the ferry to Elba every summer."},
    {"role": "assistant", "content": "Book the ferry early, in March at the latest."}],
   [{"role": "user", "content": "My bicycle has 27 gears and a broken saddle."},
    {"role": "assistant", "content": "A new saddle costs about 40 euros."}]]}
]`

// bench opens a benchmark with this text.
func bench(tb testing.TB, text string) *source.Benchmark {
	tb.Helper()
	path := filetest.Write(tb, filepath.Join(tb.TempDir(), "bench.json"), text)
	return open(tb, path)
}

func open(tb testing.TB, path string) *source.Benchmark {
	tb.Helper()
	b, err := source.Open(tb.Context(), path, source.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = b.Close() })
	return b
}

// fill fills the brains of haystacks.
func fill(tb testing.TB, c Config, b *source.Benchmark, haystacks ...string) *FilledBrains {
	tb.Helper()
	f, err := Fill(tb.Context(), c, b, haystacks)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// all returns the ids of all haystacks.
func all(b *source.Benchmark) []string {
	var ids []string
	for _, info := range b.Infos() {
		ids = append(ids, info.ID)
	}
	return ids
}

// wrapper decides what happens to a request. It may answer it, or have the daemon do so.
type wrapper func(w http.ResponseWriter, r *http.Request, daemon http.Handler)

// reference runs the reference daemon in memory and counts its requests.
type reference struct {
	*httptest.Server
	posts, deletes, creates atomic.Int64
}

func serve(tb testing.TB, wrap wrapper) *reference {
	tb.Helper()
	var c daemon.Config
	c.Reader, c.ReaderModel, c.Version = llm.NewFake(), llm.FakeModel, "test"
	d, err := daemon.New(context.Background(), c)
	if err != nil {
		tb.Fatal(err)
	}
	ref := &reference{}
	ref.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/brains" && r.Method == http.MethodPost:
			ref.creates.Add(1)
		case r.Method == http.MethodDelete:
			ref.deletes.Add(1)
		case strings.Contains(r.URL.Path, "/messages"):
			ref.posts.Add(1)
		}
		if wrap == nil {
			d.Handler().ServeHTTP(w, r)
			return
		}
		wrap(w, r, d.Handler())
	}))
	tb.Cleanup(func() {
		ref.Close()
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return ref
}

func endpointAt(tb testing.TB, url string) *target.Endpoint {
	tb.Helper()
	e, err := target.NewEndpoint(url, "", "evalctl-test", 16)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

// endpointOf returns the daemon that is filled.
func endpointOf(c Config) *target.Endpoint { return c.Service.(*target.Endpoint) }

// config returns a configuration for a daemon of a known build.
func config(tb testing.TB, url string, m Mode) Config {
	tb.Helper()
	return Config{
		Service: endpointAt(tb, url), Dialect: result.Auto, Mode: m, Concurrency: 4,
		Daemon: Daemon{Build: "1"},
	}
}

// search returns the first chunks for a question.
func search(tb testing.TB, c Config, f *FilledBrains, q dataset.Question, topK int) []result.Chunk {
	tb.Helper()
	body := map[string]any{"query": q.Question, "top_k": topK}
	if q.QuestionDate != "" {
		body["question_date"] = q.QuestionDate
	}
	o, err := endpointOf(c).Object(tb.Context(), target.Request{
		Method: http.MethodPost, Path: target.BrainPath(f.Brains[q.Brain]) + "/search",
		ContentType: "application/json", Body: target.Encode(c.Dialect, body, nil),
	})
	if err != nil {
		tb.Fatal(err)
	}
	chunks, err := target.Chunks(o, "chunks")
	if err != nil {
		tb.Fatal(err)
	}
	return chunks
}

// retrieved returns the documents of the chunks for a question, each once.
func retrieved(tb testing.TB, c Config, f *FilledBrains, q dataset.Question, topK int) []string {
	tb.Helper()
	gold := q.Item().Gold
	var hits []scorer.Hit
	for _, chunk := range search(tb, c, f, q, topK) {
		for _, path := range f.Documents(q, chunk, gold) {
			hits = append(hits, scorer.Hit{Path: path, Score: chunk.Score})
		}
	}
	return scorer.Documents(hits)
}

// get reads an object of the daemon.
func get(tb testing.TB, c Config, path string) map[string]any {
	tb.Helper()
	o, err := endpointOf(c).Object(tb.Context(), target.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string]any{}
	for _, m := range o {
		var v any
		if err := json.Unmarshal(m.Value, &v); err != nil {
			tb.Fatal(err)
		}
		out[string(m.Key)] = v
	}
	return out
}

// brainsOf returns how many brains the daemon has.
func brainsOf(tb testing.TB, c Config) int {
	tb.Helper()
	items, ok := get(tb, c, "/v1/brains")["items"].([]any)
	if !ok {
		tb.Fatal("no list of brains")
	}
	return len(items)
}

func problem(w http.ResponseWriter, status int) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"title":%q}`, http.StatusText(status))
}
