package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"evalctl/harness/daemontest"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/internal/filetest"
	"evalctl/internal/postgres/postgrestest"
)

// The questions of TestComposition. Nothing that they are about is in the document of quietPut.
const (
	composedCorpus = `{"path": "pier.md", "date": "2025-01-10", "text": "The keeper of the pier is Tove Lind.", "brain": "a"}
{"path": "mill.md", "date": "2025-04-02", "text": "The mill grinds rye on every Monday.", "brain": "a"}
{"path": "pier.md", "date": "2025-01-10", "text": "The keeper of the pier is Tove Lind.", "brain": "b"}
{"path": "boat.md", "text": "The boat of Ragna is painted green.", "brain": "b"}
`
	composedQuestions = `{"id": "q1", "question": "Who is the keeper of the pier?", "brain": "a", "expected_paths": ["pier.md"], "checks": [{"before": "2025-03-01"}]}
{"id": "q2", "question": "Which corn does the mill grind?", "brain": "a", "expected_paths": ["mill.md"], "checks": [{"before": "2025-03-01"}]}
{"id": "q3", "question": "Who is the keeper of the pier?", "brain": "b", "expected_paths": ["pier.md", "boat.md"], "checks": [{"before": "2025-03-01"}]}
{"id": "q4", "question": "What colour has the boat of Ragna?", "brain": "b", "expected_paths": ["boat.md"], "checks": [{"before": "2025-03-01"}]%s}
`
	quietPut = `, "before": [{"op": "put", "path": "x.md", "text": "Nets dry slowly."}]`

	composedIDs = `name: shelf
transport: http
brains: argument
remember: {method: POST, path: /add, body: {user: "{brain}", id: "{id}", text: "{text}"}}
search:
  method: POST
  path: /find
  body: {user: "{brain}", q: "{query}", k: "{top_k}"}
  reply: {items: "$.results[*]", text: $.memory, id: $.id}
reset: {method: POST, path: /reset, body: {user: "{brain}"}}
`
)

// shelf is a memory service. It searches by words that are in a document, and speaks the protocol
// and a dialect of its own.
type shelf struct {
	mu     sync.Mutex
	brains map[string]map[string]string
	// hangs, if set, is called for a search with its query, before the reply.
	hangs func(query string)
}

// hang sets hangs.
func (s *shelf) hang(call func(query string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangs = call
}

// empty removes all brains.
func (s *shelf) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.brains = map[string]map[string]string{}
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
	text := func(key string) string { v, _ := c.Body[key].(string); return v }
	path, brain := r.URL.Path, text("user")
	if rest, ok := strings.CutPrefix(path, "/v1/brains/"); ok {
		brain, path, _ = strings.Cut(rest, "/")
	}
	query := cmp.Or(text("q"), text("query"))
	s.mu.Lock()
	hangs := s.hangs
	s.mu.Unlock()
	if query != "" && hangs != nil {
		hangs(query)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	docs, known := s.brains[brain]
	reply := func(status int, body any) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	switch at := r.Method + " " + path; {
	case at == "GET /healthz":
		reply(http.StatusOK, map[string]any{"status": "ok", "version": "1"})
	case at == "POST /v1/brains":
		if s.brains[text("name")] != nil {
			reply(http.StatusConflict, map[string]any{})
			return
		}
		s.brains[text("name")] = map[string]string{}
		reply(http.StatusCreated, map[string]any{"id": text("name")})
	case at == "POST /add":
		if docs == nil {
			docs = map[string]string{}
			s.brains[brain] = docs
		}
		docs[text("id")] = text("text")
		reply(http.StatusOK, map[string]any{"ok": true})
	case at == "POST /reset", r.Method == http.MethodDelete && path == "":
		delete(s.brains, brain)
		reply(http.StatusOK, map[string]any{})
	case path != "" && path[0] != '/' && !known:
		reply(http.StatusNotFound, map[string]any{})
	case at == "PUT documents":
		docs[strings.TrimPrefix(r.URL.Query().Get("path"), result.SeedRoot)] = string(c.Raw)
		w.WriteHeader(http.StatusNoContent)
	case at == "POST search":
		chunks := []map[string]any{}
		for i, path := range found(docs, query) {
			chunks = append(chunks, map[string]any{
				"chunk_id": path + "#0", "document_id": path, "path": result.SeedRoot + path, "score": 9 - i, "text": docs[path],
			})
		}
		reply(http.StatusOK, map[string]any{"chunks": chunks})
	case at == "POST /find":
		results := []map[string]any{}
		for _, path := range found(docs, query) {
			results = append(results, map[string]any{"id": path, "memory": docs[path]})
		}
		reply(http.StatusOK, map[string]any{"results": results})
	default:
		reply(http.StatusNotFound, map[string]any{})
	}
}

// found returns the documents that have a long word of a query, those with the most first.
func found(docs map[string]string, query string) []string {
	hits := map[string]int{}
	for _, word := range regexp.MustCompile(`[A-Za-z]{4,}`).FindAllString(strings.ToLower(query), -1) {
		for path, text := range docs {
			if strings.Contains(strings.ToLower(text), word) {
				hits[path]++
			}
		}
	}
	paths := []string{}
	for path := range hits {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Or(hits[b]-hits[a], cmp.Compare(a, b)) })
	return paths
}

// observation is what a command found out about one question, without times. Scores of passages
// depend on what else is in a brain.
type observation struct {
	Outcome   result.Outcome
	Passed    bool
	Reason    string
	Texts     []string
	Dates     []string
	Retrieval *result.QuestionRetrieval
}

// observations returns what the records of a question have, which must agree over repeats.
func observations(t *testing.T, records []result.Record) map[string]observation {
	t.Helper()
	out := map[string]observation{}
	for _, r := range records {
		o := observation{Outcome: r.Outcome, Passed: r.Passed, Reason: r.Reason, Retrieval: r.Retrieval}
		for _, c := range r.Retrieved {
			o.Texts, o.Dates = append(o.Texts, c.Text), append(o.Dates, cmp.Or(c.CorpusDate, c.Date))
		}
		if was, ok := out[r.ID]; ok {
			if diff := gocmp.Diff(was, o); diff != "" {
				t.Errorf("%s: its repeats differ: %s", r.ID, diff)
			}
		}
		out[r.ID] = o
	}
	return out
}

// retrieved returns what was retrieved for each question, and nothing else.
func retrieved(all map[string]observation) map[string]observation {
	out := map[string]observation{}
	for id, o := range all {
		out[id] = observation{Retrieval: o.Retrieval}
	}
	return out
}

// composition runs the commands of TestComposition on one target.
type composition struct {
	t           *testing.T
	target      []string // its flags
	name        string   // of its results
	dir         string
	plain, put  string // datasets
	shelf       *shelf
	queue       string // address of PostgreSQL
	queueRunner *queueRig
}

// run runs a command, and returns the records of the result in a folder, or why it was refused.
func (c *composition) run(out string, args ...string) (map[string]observation, string) {
	c.t.Helper()
	if code, text := c.exec(args...); code != 0 {
		return nil, fmt.Sprintf("exit code %d: %s", code, text)
	}
	return observations(c.t, c.read(out)), ""
}

func (c *composition) exec(args ...string) (int, string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "evalctl", args...)
	cmd.Env, cmd.Dir = append(os.Environ(), "SVC_LLM_PROVIDER=fake"), c.dir
	text, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(text)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return 0, string(text)
}

// read returns the records of the newest result of the target below a folder.
func (c *composition) read(out string) []result.Record {
	c.t.Helper()
	var files []string
	err := filepath.WalkDir(filepath.Join(c.dir, out), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == c.name+".json" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) != 1 {
		c.t.Fatalf("%s has the results %q, %v", out, files, err)
	}
	data, err := os.ReadFile(files[0])
	var res resulttest.File
	if err == nil {
		err = json.Unmarshal(data, &res)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return res.Questions
}

// runArgs are the arguments of a run of a dataset, with others.
func (c *composition) runArgs(out, dataset string, more ...string) []string {
	return slices.Concat([]string{"run", "--config=none", "--quiet", "--dataset=" + dataset, "--corpus=corpus.jsonl", "--scorer=checks",
		"--scenario=search-retrieve-only", "--floor=0", "--max-errors=100%", "--output=" + out}, c.target, more)
}

func (c *composition) replayArgs(out string, more ...string) []string {
	return slices.Concat([]string{"replay", "--config=none", "--quiet", "--dataset=" + c.plain, "--corpus=corpus.jsonl", "--scorer=checks",
		"--model=fake", "--top-k=5", "--cache=off", "--cache-dir=" + filepath.Join(out, "cache"), "--output=" + filepath.Join(out, c.name+".json")}, c.target, more)
}

// columns are the ways to ask the same questions. A way that a target cannot be asked in is refused
// with a reason.
func (c *composition) columns() map[string]func() (map[string]observation, string) {
	return map[string]func() (map[string]observation, string){
		"beside a put": func() (map[string]observation, string) { return c.run("put", c.runArgs("put", c.put)...) },
		"isolated": func() (map[string]observation, string) {
			return c.run("isolated", c.runArgs("isolated", c.plain, "--isolated")...)
		},
		"repeated": func() (map[string]observation, string) {
			return c.run("repeated", c.runArgs("repeated", c.plain, "--repeats=2")...)
		},
		"shuffled": func() (map[string]observation, string) {
			return c.run("shuffled", c.runArgs("shuffled", c.put, "--shuffle", "--seed=3")...)
		},
		"rescored": func() (map[string]observation, string) {
			if refused := c.only(c.run("base", c.runArgs("base", c.plain)...)); refused != "" {
				return nil, refused
			}
			files, _ := filepath.Glob(filepath.Join(c.dir, "base", "*", c.name+".json"))
			if code, text := c.exec("rescore", files[0], "--scorer=checks", "--quiet", "--floor=0"); code != 0 {
				return nil, text
			}
			rescored := *c
			rescored.name += ".rescored"
			return observations(c.t, rescored.read("base")), ""
		},
		"resumed": c.resumed,
		"swept": func() (map[string]observation, string) {
			args := slices.Concat([]string{"run", "sweep", "--config=none", "--dataset=" + c.plain, "--corpus=corpus.jsonl",
				"--mode=auto", "--top-k=5", "--output=swept"}, c.target)
			if code, text := c.exec(args...); code != 0 {
				return nil, text
			}
			files, _ := filepath.Glob(filepath.Join(c.dir, "swept", "*", c.name+".sweep.json"))
			var sweep result.Sweep
			data, err := os.ReadFile(files[0])
			if err == nil {
				err = json.Unmarshal(data, &sweep)
			}
			if err != nil {
				c.t.Fatal(err)
			}
			return observations(c.t, sweep.Cells[0].Questions), ""
		},
		"replayed": func() (map[string]observation, string) { return c.run("replayed", c.replayArgs("replayed")...) },
		"by a worker": func() (map[string]observation, string) {
			if !strings.Contains(c.target[0], "--mapping") { // else it is refused at once
				worker, stderr := c.queueRunner.worker(0)
				defer c.queueRunner.stop(worker, stderr)
			}
			return c.run("queued", c.replayArgs("queued", "--queue="+c.queue)...)
		},
	}
}

func (c *composition) only(_ map[string]observation, refused string) string { return refused }

// resumed kills a run while the last question is asked, and continues it.
func (c *composition) resumed() (map[string]observation, string) {
	c.t.Helper()
	if c.shelf == nil {
		return nil, "the daemon ends with the run"
	}
	ctx, kill := context.WithCancel(c.t.Context())
	defer kill()
	cmd := exec.CommandContext(ctx, "evalctl", c.runArgs("resumed", c.put, "--concurrency=1")...)
	cmd.Env, cmd.Dir = append(os.Environ(), "SVC_LLM_PROVIDER=fake"), c.dir
	killed := make(chan struct{})
	c.shelf.hang(func(query string) {
		if query == "What colour has the boat of Ragna?" {
			kill()
			<-killed // no answer before that, with which the run might end
		}
	})
	out, err := cmd.CombinedOutput()
	close(killed)
	c.shelf.hang(nil)
	if err == nil {
		c.t.Fatalf("the run was not killed: %s", out)
	}
	journals, _ := filepath.Glob(filepath.Join(c.dir, "resumed", "*", "*.journal"))
	if len(journals) != 1 {
		return nil, string(out)
	}
	return c.run("resumed", "run", "--config=none", "--quiet", "--resume="+journals[0])
}

// TestComposition asks the same questions of each kind of target in every way that there is. What is
// found out about a question is the same, or the command says why it cannot ask so.
func TestComposition(t *testing.T) {
	t.Parallel()
	queue := postgrestest.Database(t)
	// Refusals, by target and column.
	refused := map[string]map[string]string{
		"own":             {"resumed": "the daemon ends with the run"},
		"without dates":   {},
		"mapping":         {"by a worker": "cannot be measured by the workers of a queue"},
		"mapping, no ids": {"by a worker": "cannot be measured by the workers of a queue"},
	}
	for name := range refused {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &composition{t: t, dir: t.TempDir(), plain: "plain.jsonl", put: "put.jsonl", name: "shelf", queue: queue}
			c.queueRunner = &queueRig{t: t, url: queue, files: c.dir, env: []string{"SVC_LLM_PROVIDER=fake"}}
			for file, text := range map[string]string{
				"corpus.jsonl": composedCorpus, "plain.jsonl": fmt.Sprintf(composedQuestions, ""), "put.jsonl": fmt.Sprintf(composedQuestions, quietPut),
				"ids.yaml": composedIDs, "no-ids.yaml": strings.Replace(composedIDs, ", id: $.id", "", 1),
			} {
				filetest.Write(t, filepath.Join(c.dir, file), text)
			}
			if name == "own" {
				c.target, c.name = []string{"--sdk=go"}, "go"
			} else {
				c.shelf = &shelf{brains: map[string]map[string]string{}}
				url := daemontest.New(t, c.shelf.ServeHTTP).URL
				c.target = []string{"--target=shelf=" + url}
				switch name {
				case "mapping":
					c.target[0] += " --mapping ids.yaml"
				case "mapping, no ids":
					c.target[0] += " --mapping no-ids.yaml"
				}
			}
			want, why := c.run("first", c.runArgs("first", c.plain)...)
			if why != "" {
				t.Fatal(why)
			}
			if o := want["q1"]; !o.Passed || o.Retrieval.Recall != 1 {
				t.Errorf("q1 is not found, or has no date: %+v", o)
			}
			if o := want["q4"]; o.Passed {
				t.Errorf("q4 has no date and passes: %+v", o)
			}
			for column, ask := range c.columns() {
				if c.shelf != nil {
					c.shelf.empty()
				}
				got, why := ask()
				switch expected := refused[name][column]; {
				case why != "" && (expected == "" || !strings.Contains(why, expected)):
					t.Errorf("%s: %s", column, why)
				case why == "" && expected != "":
					t.Errorf("%s: not refused", column)
				case why == "":
					want := want
					if column == "swept" { // whose records have no texts, and are scored by retrieval
						want, got = retrieved(want), retrieved(got)
					}
					if diff := gocmp.Diff(want, got); diff != "" {
						t.Errorf("%s: %s", column, diff)
					}
				}
			}
		})
	}
}
