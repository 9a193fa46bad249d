package actor

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/internal/sharedtest"
	"evalctl/replay/source"
	"evalctl/scorer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const questionTime = 10 * time.Second

// brains are the chunks of each brain, which a daemon of these tests searches.
type brains map[string][]result.Chunk

// search starts a daemon whose search returns the chunks that have most terms of the query, and
// whose ask answers with the first of them.
func search(tb testing.TB, b brains) *daemontest.Daemon {
	var mu sync.Mutex
	terms := map[string]map[string]bool{}
	termsOf := func(text string) map[string]bool {
		mu.Lock()
		defer mu.Unlock()
		if terms[text] == nil {
			terms[text] = llm.Terms(text)
		}
		return terms[text]
	}
	return daemontest.New(tb, func(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
		parts := strings.Split(r.URL.Path, "/") // /v1/brains/ID/search
		query, _ := c.Body["query"].(string)
		if parts[4] == "ask" {
			query, _ = c.Body["question"].(string)
		}
		wanted := llm.Terms(query)
		chunks := slices.Clone(b[parts[3]])
		for i, chunk := range chunks {
			have := termsOf(chunk.Text)
			for t := range wanted {
				if have[t] {
					chunks[i].Score++
				}
			}
		}
		slices.SortStableFunc(chunks, func(x, y result.Chunk) int { return cmp.Compare(y.Score, x.Score) })
		k, _ := c.Body["top_k"].(float64)
		found, _ := json.Marshal(chunks[:min(int(k), len(chunks))])
		if parts[4] == "search" {
			_, _ = w.Write([]byte(`{"effective_mode":"bm25","chunks":` + string(found) + `}`))
			return
		}
		daemontest.Stream(w, daemontest.Event("retrieve", `{"chunks":`+string(found)+`,"effective_mode":"bm25"}`)+
			daemontest.Event("answer_delta", `{"delta":"from the daemon"}`)+
			daemontest.Event("done", `{"ok":true,"model":"own","usage":{"input_tokens":3,"output_tokens":2}}`))
	})
}

// targetOf returns the daemon, whose brains have ids equal to their names.
func targetOf(tb testing.TB, url string, b brains) *target.Target {
	tb.Helper()
	e, err := target.NewEndpoint(url, "", "evalctl-test", 16)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	t := &target.Target{Service: e, Mode: "auto", Dialect: result.Snake, Brains: map[string]string{}}
	for name := range b {
		t.Brains[name] = name
	}
	return t
}

// byPath says that a chunk belongs to the document at its path.
func byPath(_ dataset.Question, c result.Chunk, _ scorer.Ranking) []string { return []string{c.Path} }

func newActor(tb testing.TB, c Config) *Actor {
	tb.Helper()
	a, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// open opens a benchmark.
func open(tb testing.TB, path string) *source.Benchmark {
	tb.Helper()
	b, err := source.Open(tb.Context(), path, source.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = b.Close() })
	return b
}

// shared opens a benchmark that is not part of the repository and may be missing.
func shared(tb testing.TB, name string) *source.Benchmark {
	tb.Helper()
	return open(tb, sharedtest.Path(tb, name))
}

// brainsOf returns the sessions of a benchmark, cut into chunks of some lines.
func brainsOf(tb testing.TB, b *source.Benchmark) brains {
	tb.Helper()
	all := brains{}
	for _, info := range b.Infos() {
		h, err := b.Haystack(info.ID)
		if err != nil {
			tb.Fatal(err)
		}
		for _, s := range h.Sessions {
			lines := slices.Collect(strings.Lines(s.Text()))
			for part := range slices.Chunk(lines, 12) {
				all[h.Brain] = append(all[h.Brain], result.Chunk{
					ChunkID: s.Path + "#" + strconv.Itoa(len(all[h.Brain])), Path: s.Path,
					Title: s.Title, Text: strings.Join(part, ""),
				})
			}
		}
	}
	return all
}

// daemonThat starts a daemon that answers every request with answer, which gets its body.
func daemonThat(
	tb testing.TB, answer func(w http.ResponseWriter, r *http.Request, body map[string]any),
) *daemontest.Daemon {
	return daemontest.New(tb, func(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
		answer(w, r, c.Body)
	})
}

// numbered returns the numbers and titles of notes.
func numbered(notes []note) []string {
	var out []string
	for _, n := range notes {
		out = append(out, strconv.Itoa(n.N)+" "+n.Title)
	}
	return out
}

// paths are the harness.Documents of byPath.
type paths struct{}

func (paths) Date(dataset.Question, result.Chunk) string { return "" }
func (paths) ByText() int                                { return 0 }

func (paths) Documents(q dataset.Question, c result.Chunk, gold scorer.Ranking) []string {
	return byPath(q, c, gold)
}
