package ingest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"evalctl/harness/daemontest"
	"evalctl/harness/mapping"
	"evalctl/internal/filetest"
	"evalctl/replay/source"
)

// notebook is a memory over HTTP that gives ids to its brains and texts, and finds all texts of a
// brain. It keeps a brain called "one" for services with one store.
type notebook struct {
	*httptest.Server

	mu      sync.Mutex
	texts   map[string]map[string]string // by brain and id
	writes  int
	broken  bool   // it answers no writes
	refuses bool   // it refuses writes
	busy    int    // the searches that are refused first
	status  int    // of searches, 0 for OK
	stuck   string // a brain that cannot be removed
}

func openNotebook(tb testing.TB) *notebook {
	tb.Helper()
	n := &notebook{texts: map[string]map[string]string{"one": {}}}
	n.Server = httptest.NewServer(n)
	tb.Cleanup(n.Close)
	return n
}

func (n *notebook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	brain, id, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.Method == http.MethodGet && n.busy > 0:
		n.busy--
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.Method == http.MethodGet && n.status != 0:
		w.WriteHeader(n.status)
	case r.Method == http.MethodPut:
		brain = fmt.Sprintf("brain-%d", len(n.texts))
		n.texts[brain] = map[string]string{}
		_ = json.NewEncoder(w).Encode(map[string]any{"id": brain})
	case n.texts[brain] == nil:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete && brain == n.stuck:
		w.WriteHeader(http.StatusInternalServerError)
	case r.Method == http.MethodDelete && id != "":
		delete(n.texts[brain], id)
	case r.Method == http.MethodDelete:
		clear(n.texts[brain])
	case r.Method == http.MethodPost && n.broken:
		w.WriteHeader(http.StatusInternalServerError)
	case r.Method == http.MethodPost && n.refuses:
		w.WriteHeader(http.StatusUnprocessableEntity)
	case r.Method == http.MethodPost:
		var body struct{ Text string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		n.writes++
		id := fmt.Sprintf("n%d", n.writes)
		n.texts[brain][id] = body.Text
		_ = json.NewEncoder(w).Encode(map[string]any{"id": id})
	default:
		found := []map[string]any{}
		for id, text := range n.texts[brain] {
			found = append(found, map[string]any{"id": id, "text": text})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"found": found})
	}
}

// wrote returns the number of texts written since the last call.
func (n *notebook) wrote() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer func() { n.writes = 0 }()
	return n.writes
}

// kept returns the number of texts in the brain of a service with one store.
func (n *notebook) kept() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.texts["one"])
}

const notebookSearch = `
search: {method: GET, path: "/{brain}", query: {q: "{query}"}, reply: {items: "$.found[*]", text: $.text, id: $.id}}
`

// The mappings of a notebook, by how they keep brains apart.
const (
	byArgument = `name: notebook
transport: http
brains: argument
create: {method: PUT, path: /, body: {name: "{brain}"}, reply: {id: $.id}}
remember: {path: "/{brain}", body: {text: "{text}"}, reply: {id: $.id}}
` + notebookSearch
	byReset = `name: notebook
transport: http
brains: reset
reset: {method: DELETE, path: /one}
remember: {path: /one, body: {text: "{text}"}, reply: {id: $.id}}
search: {method: GET, path: /one, query: {q: "{query}"}, reply: {items: "$.found[*]", text: $.text, id: $.id}}
`
)

// byArgumentReset is byArgument with a call that empties a brain, and byArgumentDelete with one
// that deletes a text.
const (
	byArgumentReset  = byArgument + "reset: {method: DELETE, path: \"/{brain}\"}\n"
	byArgumentDelete = byArgument + "delete: {method: DELETE, path: \"/{brain}/{id}\"}\n"
)

// oneStore is byReset without a reset.
var oneStore = strings.NewReplacer("brains: reset", "brains: one", "reset: {method: DELETE, path: /one}\n", "").Replace(byReset)

// processes counts those that use a service.
var processes int

// mappedConfig returns the configuration of a process that fills a service with a mapping. build is
// the version that the service reports.
func mappedConfig(tb testing.TB, n *notebook, text, dir, build string) Config {
	tb.Helper()
	m, err := mapping.Parse("m.yaml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	processes++
	s, err := mapping.Open(tb.Context(), mapping.Config{Mapping: m, URL: n.URL, Namespace: fmt.Sprintf("evalctl-%d-", processes)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	record := filepath.Join(dir, "brains.json")
	return Config{Service: s, Mode: Bulk, Concurrency: 1, Daemon: Daemon{Build: build}, Record: record, Notes: NotesBeside(record)}
}

// TestReusedIDs checks that a brain that an earlier process filled is asked by the id that the
// service gave it, and that its texts are recognized by theirs: when it is reused, and when a replay
// is resumed at a service that reports no version. Without notes, it is filled again.
func TestReusedIDs(t *testing.T) {
	b := bench(t, instances)
	q := b.Questions[0].Dataset()
	for _, c := range []struct {
		build         string
		seeded, notes bool
		reused        int
	}{
		{"1", false, true, 2}, {"", true, true, 0}, {"1", false, false, 0}, {"", true, false, 0},
	} {
		n, dir := openNotebook(t), t.TempDir()
		fill(t, mappedConfig(t, n, byArgument, dir, c.build), b, all(b)...)
		wrote := n.wrote()
		cfg := mappedConfig(t, n, byArgument, dir, c.build)
		if !c.notes {
			if err := os.RemoveAll(cfg.Notes); err != nil {
				t.Fatal(err)
			}
		}
		if c.seeded {
			cfg.Seeded = func(string) bool { return true }
		}
		f := fill(t, cfg, b, all(b)...)
		again := n.wrote()
		if f.Report.Reused != c.reused || c.notes != (again == 0) || !c.notes && again != wrote {
			t.Errorf("%+v: %d brains reused, %d texts written after %d", c, f.Report.Reused, again, wrote)
		}
		chunks, err := cfg.Service.Store("").Search(t.Context(), f.Brains[q.Brain], q.Question, 20)
		if err != nil || len(chunks) != 3 {
			t.Fatalf("%+v: found %d chunks, %v", c, len(chunks), err)
		}
		for _, chunk := range chunks {
			if chunk.Path == "" || chunk.Path == chunk.ChunkID {
				t.Errorf("%+v: the document of %+v is unknown", c, chunk)
			}
		}
	}
}

// TestLostBrain checks that a brain that a service has lost is filled again, but not if it is
// unknown whether it has.
func TestLostBrain(t *testing.T) {
	b := bench(t, instances)
	for name, c := range map[string]struct {
		lose  func(*notebook, *Config)
		wrote int
		fails string
	}{
		"kept":    {func(*notebook, *Config) {}, 0, ""},
		"empty":   {func(n *notebook, _ *Config) { clear(n.texts["brain-1"]) }, 3, ""},
		"missing": {func(n *notebook, _ *Config) { delete(n.texts, "brain-1") }, 3, ""},
		"busy":    {func(n *notebook, _ *Config) { n.busy = 2 }, 0, ""},
		"broken":  {func(n *notebook, _ *Config) { n.status = http.StatusInternalServerError }, 0, "delete "},
		"in a process of its own": {func(n *notebook, c *Config) {
			clear(n.texts["brain-1"])
			c.OwnProcesses = true
		}, 0, ""},
	} {
		n, dir := openNotebook(t), t.TempDir()
		fill(t, mappedConfig(t, n, byArgument, dir, "1"), b, "q1")
		n.wrote()
		cfg := mappedConfig(t, n, byArgument, dir, "1")
		c.lose(n, &cfg)
		_, err := Fill(t.Context(), cfg, b, []string{"q1"})
		if got := n.wrote(); got != c.wrote || (c.fails != "") != (err != nil) || err != nil && !strings.Contains(err.Error(), c.fails+cfg.Notes) {
			t.Errorf("%s: wrote %d texts, want %d: %v", name, got, c.wrote, err)
		}
	}
}

// TestNeverFound checks that a brain in which no search has ever found anything is not filled
// again.
func TestNeverFound(t *testing.T) {
	b, n, dir := bench(t, instances), openNotebook(t), t.TempDir()
	fill(t, mappedConfig(t, n, byArgument, dir, "1"), b, "q1")
	record := filepath.Join(dir, "brains.json")
	text := filetest.Read(t, record)
	filetest.Write(t, record, strings.Replace(string(text), `"missing": 0`, `"missing": 3`, 1))
	clear(n.texts["brain-1"]) // as a search sees it
	if f := fill(t, mappedConfig(t, n, byArgument, dir, "1"), b, "q1"); f.Report.Reused != 1 {
		t.Errorf("filled again, with the record %s", text)
	}
}

// TestRecordWithoutNotes checks that a brain from before there were notes is used if it needs
// none.
func TestRecordWithoutNotes(t *testing.T) {
	withoutIDs := strings.NewReplacer(", reply: {id: $.id}}", "}", ", id: $.id}", "}").Replace(oneStore)
	for _, c := range []struct {
		text string
		used bool
	}{{withoutIDs, true}, {byReset, false}} {
		b, n, dir := bench(t, instances), openNotebook(t), t.TempDir()
		cfg := mappedConfig(t, n, c.text, dir, "1")
		fill(t, cfg, b, "q1")
		if err := os.RemoveAll(cfg.Notes); err != nil {
			t.Fatal(err)
		}
		if f := fill(t, mappedConfig(t, n, c.text, dir, "1"), b, "q1"); (f.Report.Reused == 1) != c.used || n.kept() != 3 {
			t.Errorf("%d brains reused, %d texts kept", f.Report.Reused, n.kept())
		}
	}
}

// TestResumedLeave checks that a resumed replay removes what the process before it has written,
// with either call.
func TestResumedLeave(t *testing.T) {
	b := bench(t, instances)
	for _, text := range []string{byArgumentReset, byArgumentDelete} {
		n, dir := openNotebook(t), t.TempDir()
		fill(t, mappedConfig(t, n, text, dir, ""), b, all(b)...)
		cfg := mappedConfig(t, n, text, dir, "")
		cfg.Seeded = func(string) bool { return true }
		n.wrote()
		f := fill(t, cfg, b, all(b)...)
		if err := f.Leave(t.Context()); err != nil || n.wrote() > 0 {
			t.Error(err)
		}
		for brain, texts := range n.texts {
			if len(texts) > 0 {
				t.Errorf("brain %s has %v", brain, texts)
			}
		}
	}
}

// TestLeaveTheOthers has a brain that cannot be removed. The other is, the error has the
// service's name of the one, and only its notes remain.
func TestLeaveTheOthers(t *testing.T) {
	b, n, dir := bench(t, instances), openNotebook(t), t.TempDir()
	cfg := mappedConfig(t, n, byArgumentReset, dir, "")
	f := fill(t, cfg, b, all(b)...)
	n.stuck = "brain-1"
	err := f.Leave(t.Context())
	if err == nil || !strings.Contains(err.Error(), `the service calls it "brain-1"`) || len(n.texts["brain-1"]) == 0 || len(n.texts["brain-2"]) > 0 {
		t.Errorf("left %v: %v", n.texts, err)
	}
	if files, err := os.ReadDir(cfg.Notes); err != nil || len(files) != 1 {
		t.Errorf("notes %v, %v", files, err)
	}
}

// TestKilledFill checks that a brain is removed that a killed process has begun to fill under a
// name that this process does not choose.
func TestKilledFill(t *testing.T) {
	b, n, dir := bench(t, instances), openNotebook(t), t.TempDir()
	n.broken, n.stuck = true, "brain-1" // as if the process had no time to remove it
	if _, err := Fill(t.Context(), mappedConfig(t, n, byArgumentReset, dir, "1"), b, []string{"q1"}); err == nil {
		t.Fatal("filled a broken service")
	}
	n.broken, n.stuck = false, ""
	n.texts["brain-1"]["n0"] = "My cat"
	fill(t, mappedConfig(t, n, byArgumentReset, dir, "1"), b, "q1")
	if len(n.texts["brain-1"]) > 0 || len(n.texts["brain-2"]) != 3 {
		t.Errorf("left %v", n.texts)
	}
	files, err := filepath.Glob(filepath.Join(dir, "brains-notes", "*"))
	if err != nil || len(files) != 1 || filepath.Ext(files[0]) != ".json" {
		t.Errorf("notes %v, %v", files, err)
	}
}

// TestOthersNotes checks that a replay of a service that reports no version does not use the brains
// of another one, which removes them at its end.
func TestOthersNotes(t *testing.T) {
	b, n, dir := bench(t, instances), openNotebook(t), t.TempDir()
	resume := func(owner string, wrote int) *FilledBrains {
		t.Helper()
		cfg := mappedConfig(t, n, byArgument, dir, "")
		cfg.Owner, cfg.Seeded = owner, func(string) bool { return true }
		f := fill(t, cfg, b, "q1")
		if got := n.wrote(); got != wrote {
			t.Errorf("%s: wrote %d texts, want %d", owner, got, wrote)
		}
		return f
	}
	one := resume("one", 3)
	resume("other", 3)
	if err := one.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	resume("other", 0)
	resume("one", 3)
}

// otherBench is a benchmark with other texts.
func otherBench(t *testing.T) *source.Benchmark {
	return bench(t, strings.NewReplacer("tomatoes", "potatoes", "Biscuit", "Waffle", "Elba", "Corfu").Replace(instances))
}

// TestReplacedStore checks that a brain is filled again once the only store of a service has had
// another one, for later replays and for one that is resumed.
func TestReplacedStore(t *testing.T) {
	one, other := bench(t, instances), otherBench(t)
	for _, build := range []string{"1", ""} {
		for _, notes := range []bool{true, false} {
			n, dir := openNotebook(t), t.TempDir()
			step := func(b *source.Benchmark, reused, wrote int) {
				t.Helper()
				cfg := mappedConfig(t, n, byReset, dir, build)
				if build == "" { // a replay that is resumed
					cfg.Seeded = func(string) bool { return true }
				}
				if !notes {
					cfg.Notes = ""
				}
				f := fill(t, cfg, b, "q1")
				if got := n.wrote(); f.Report.Reused != reused || got != wrote || n.kept() != 3 {
					t.Errorf("build %q, notes %v: %d reused, %d texts written, %d kept; want %d, %d and 3",
						build, notes, f.Report.Reused, got, n.kept(), reused, wrote)
				}
			}
			step(one, 0, 3)
			step(other, 0, 3)
			step(one, 0, 3)
			if notes && build != "" {
				step(one, 1, 0)
			}
		}
	}
}

// TestStoreInUse checks that the only store of a service, which cannot be emptied, is refused if it
// has or may have other texts, and that the error says what to do.
func TestStoreInUse(t *testing.T) {
	one, other := bench(t, instances), otherBench(t)
	refuses := func(cfg Config, b *source.Benchmark, n *notebook, want ...string) {
		t.Helper()
		before := n.kept()
		_, err := Fill(t.Context(), cfg, b, []string{"q1"})
		for _, part := range append(want, n.URL, "empty it") {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("want %q, got %v", part, err)
			}
		}
		if n.kept() != before {
			t.Errorf("%d texts became %d", before, n.kept())
		}
	}
	t.Run("texts of others", func(t *testing.T) {
		n := openNotebook(t)
		n.texts["one"]["x"] = "I keep bees."
		cfg := mappedConfig(t, n, oneStore, t.TempDir(), "1")
		refuses(cfg, one, n, "at least 1 text")
		clear(n.texts["one"])
		fill(t, cfg, one, "q1")
	})
	t.Run("texts of others while the service is busy", func(t *testing.T) {
		n := openNotebook(t)
		n.texts["one"]["x"] = "I keep bees."
		n.busy = 2
		refuses(mappedConfig(t, n, oneStore, t.TempDir(), "1"), one, n, "at least 1 text")
	})
	t.Run("what a new home has", func(t *testing.T) {
		n := openNotebook(t)
		n.texts["one"]["x"] = "Welcome to your notebook."
		cfg := mappedConfig(t, n, oneStore, t.TempDir(), "1")
		cfg.NewHome = true
		fill(t, cfg, one, "q1")
	})
	t.Run("another replay", func(t *testing.T) {
		n, dir := openNotebook(t), t.TempDir()
		fill(t, mappedConfig(t, n, oneStore, dir, "1"), one, "q1")
		cfg := mappedConfig(t, n, oneStore, dir, "1")
		refuses(cfg, other, n, cfg.Notes, cfg.Record)
		if f := fill(t, cfg, one, "q1"); f.Report.Reused != 1 || n.wrote() != 3 {
			t.Errorf("%d brains reused", f.Report.Reused)
		}
	})
	t.Run("an interrupted replay", func(t *testing.T) {
		n, dir := openNotebook(t), t.TempDir()
		n.broken = true
		cfg := mappedConfig(t, n, oneStore, dir, "")
		cfg.Owner = "one"
		if _, err := Fill(t.Context(), cfg, one, []string{"q1"}); err == nil {
			t.Error("filled a broken service")
		}
		n.broken = false
		files, err := os.ReadDir(cfg.Notes)
		if err != nil || len(files) != 1 {
			t.Fatalf("notes %v, %v", files, err)
		}
		name, _, _ := strings.Cut(files[0].Name(), ".")
		cfg = mappedConfig(t, n, oneStore, dir, "")
		cfg.Owner = "other"
		refuses(cfg, one, n, cfg.Notes, fmt.Sprintf("the brain %q", name))
	})
	t.Run("a replay that cleaned up", func(t *testing.T) {
		n, dir := openNotebook(t), t.TempDir()
		n.refuses = true
		deletes := oneStore + "delete: {method: DELETE, path: \"/one/{id}\"}\n"
		if _, err := Fill(t.Context(), mappedConfig(t, n, deletes, dir, "1"), one, []string{"q1"}); err == nil {
			t.Error("filled a service that refuses texts")
		}
		n.refuses = false
		fill(t, mappedConfig(t, n, deletes, dir, "1"), one, "q1")
	})
}

// TestStoreThatCannotBeSearched checks that the only store of a service does not count as empty
// while the service is too busy to say what is in it.
func TestStoreThatCannotBeSearched(t *testing.T) {
	b := bench(t, instances)
	synctest.Test(t, func(t *testing.T) {
		n := &notebook{texts: map[string]map[string]string{"one": {}}, status: http.StatusServiceUnavailable}
		n.Server = &httptest.Server{URL: "http://memory"}
		daemontest.InMemory(t, n.ServeHTTP)
		_, err := Fill(t.Context(), mappedConfig(t, n, oneStore, t.TempDir(), "1"), b, []string{"q1"})
		if err == nil || !strings.Contains(err.Error(), "may have texts of others") || n.wrote() > 0 {
			t.Errorf("got %v", err)
		}
	})
}

// TestDamagedNotes checks that the error names the file.
func TestDamagedNotes(t *testing.T) {
	b, n, dir := bench(t, instances), openNotebook(t), t.TempDir()
	cfg := mappedConfig(t, n, byArgument, dir, "1")
	f := fill(t, cfg, b, "q1")
	path := filepath.Join(cfg.Notes, f.Brains[b.Questions[0].Brain]+".json")
	filetest.Write(t, path, "{")
	if _, err := Fill(t.Context(), cfg, b, []string{"q1"}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}
