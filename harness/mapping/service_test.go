package mapping

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/dataset"
	"evalctl/harness/launch"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/awaittest"
	"evalctl/internal/redact"
)

var corpus = []dataset.Doc{
	{Path: "a/ada.md", Data: []byte("---\ndate: 2025-01-02\n---\n\n# Ada\n\nAda moved to Lisbon.\n")},
	{Path: "bob.md", Data: []byte("Bob likes tea in Lisbon.")},
}

// TestStub checks writing, finding, deleting, brains of their own, and what is recorded.
func TestStub(t *testing.T) {
	s := mustOpenStub(t, "none", stubMapping)
	one, two := create(t, s, "one"), create(t, s, "two")
	if err := one.Write(t.Context(), "one", corpus, 1); err != nil {
		t.Fatal(err)
	}
	got, err := one.Search(t.Context(), "one", "lisbon", 5)
	want := []result.Chunk{
		{ChunkID: "a/ada.md", Path: "a/ada.md", Date: "2025-01-02", Score: 1, Text: "# Ada\n\nAda moved to Lisbon.\n"},
		{ChunkID: "bob.md", Path: "bob.md", Score: 0.5, Text: "Bob likes tea in Lisbon."},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err := two.Search(t.Context(), "two", "lisbon", 5); err != nil || len(got) != 0 {
		t.Errorf("the other brain has %v, %v", got, err)
	}
	if _, err := one.Create(t.Context(), "one"); !errors.Is(err, target.ErrExists) {
		t.Errorf("created twice: %v", err)
	}
	if _, err := one.Find(t.Context(), "three"); !errors.Is(err, target.ErrMissing) {
		t.Errorf("found: %v", err)
	}
	if err := one.Apply(t.Context(), "one", dataset.Operation{Op: dataset.OpDelete, Path: "a/ada.md"}); err != nil {
		t.Fatal(err)
	}
	if got, err := one.Search(t.Context(), "one", "lisbon", 5); err != nil || len(got) != 1 || got[0].Path != "bob.md" {
		t.Errorf("after deleting: %v, %v", got, err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := one.Search(t.Context(), "one", "tea", 1); err != nil || len(got) != 1 {
		t.Errorf("after a restart: %v, %v", got, err)
	}
	if err := one.Remove(t.Context(), "one", "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Find(t.Context(), "one"); !errors.Is(err, target.ErrMissing) {
		t.Errorf("removed, and found: %v", err)
	}
	m := s.Seen()
	if m.Server != "stub" || m.ServerVersion != "7" || m.Protocol != "2025-06-18" || m.Mapping != "stub" || len(m.SHA256) != 64 ||
		!cmp.Equal(m.Calls, map[string]int{"add": 2, "find": 4, "forget": 1}) {
		t.Errorf("seen %+v", m)
	}
	if keys := strings.Join(slices.Sorted(maps.Keys(m.NotMeasurable)), ", "); keys != "ask, modes, question_dates" {
		t.Errorf("not measurable: %s", keys)
	}
}

// TestReplies checks replies of other forms.
func TestReplies(t *testing.T) {
	t.Parallel()
	plain := strings.Replace(stubMapping,
		`reply: {items: "$.hits[*]", text: $.body, id: $.key, score: $.rank.score, date: $.day}`,
		`reply: {format: text, split: "\n", pattern: "^- (?P<text>.*)$"}`, 1)
	for _, c := range []struct {
		flaw, mapping string
		paths         []string
		ids           bool // are measurable
	}{
		{"structured", stubMapping, []string{"a/ada.md", "bob.md"}, true},
		{"own ids", stubMapping, []string{"a/ada.md", "bob.md"}, true},
		{"no ids", strings.Replace(stubMapping, ", id: $.key, score", ", score", 1), []string{"", ""}, false},
		{"plain text", plain, []string{"", ""}, false},
		{"slow", stubMapping, []string{"a/ada.md", "bob.md"}, true},
	} {
		t.Run(c.flaw, func(t *testing.T) {
			s := mustOpenStub(t, c.flaw, c.mapping)
			st := create(t, s, "b")
			docs := []dataset.Doc{corpus[0], corpus[1]}
			docs[0].Data = []byte("Ada moved to Lisbon.")
			if err := st.Write(t.Context(), "b", docs, 1); err != nil {
				t.Fatal(err)
			}
			got, err := st.Search(t.Context(), "b", "lisbon", 5)
			if err != nil || len(got) != 2 || got[0].Text != "Ada moved to Lisbon." {
				t.Fatalf("%v, %v", got, err)
			}
			if paths := []string{got[0].Path, got[1].Path}; !cmp.Equal(paths, c.paths) {
				t.Errorf("paths %q", paths)
			}
			if lacks := s.Lacks(target.IDs) != ""; lacks == c.ids {
				t.Errorf("ids: %q", s.Lacks(target.IDs))
			}
		})
	}
}

// TestBadServers checks that what is wrong with a server has a message of its own, and that no secret
// is in it.
func TestBadServers(t *testing.T) {
	t.Parallel()
	for flaw, want := range map[string][]string{
		"no server":     {"exited: exit status 3", "usage: stub [options]"},
		"broken schema": {"the tool find declares an input schema that is not an object schema"},
		"more required": {`the tool find requires the argument "project", which search does not give`},
		"no search":     {"search needs the tool find, and it has add"},
	} {
		_, err := openStub(t, flaw, stubMapping)
		if err == nil {
			t.Errorf("%s: no error", flaw)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v", flaw, err)
			}
		}
	}
	for flaw, want := range map[string]struct {
		kind result.Kind
		text string
	}{
		"fails": {result.KindDaemon, "find reports an error: the index is broken"},
		"dies":  {result.KindTransport, "find: "},
		"hangs": {result.KindTimeout, "no answer in time: 300ms passed"},
	} {
		t.Run(flaw, func(t *testing.T) {
			s := mustOpenStub(t, flaw, stubMapping)
			create(t, s, "b")
			asked := &target.Target{Service: s, Brains: map[string]string{"": "b"}, Scenario: result.SearchOnly, TopK: 3}
			timeout := 20 * time.Second
			if flaw == "hangs" {
				timeout = 300 * time.Millisecond
			}
			_, err := asked.Ask(t.Context(), dataset.Question{Question: "q"}, timeout)
			f, ok := target.AsFailure(err)
			if !ok || f.Kind != want.kind || !strings.Contains(f.Message, want.text) || strings.Contains(f.Message, "s3cret") {
				t.Errorf("got %v", err)
			}
			if flaw == "fails" && f.Retryable() {
				t.Error("a failure of the tool is tried again")
			}
			if flaw != "dies" {
				return
			}
			awaittest.Receive(t, "s.Ended", s.Ended())
			if why := s.Why().Error(); !strings.Contains(why, "exit status 9") || !strings.Contains(why, "out of memory") {
				t.Errorf("why: %s", why)
			}
			if _, err := s.Health(t.Context()); err == nil {
				t.Error("a dead server is healthy")
			}
		})
	}
}

// TestSilentServer checks that a server that answers nothing is ended, and that its end is not taken
// for the cause.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	for _, flaw := range []string{"silent", "mute"} { // the second exits once its input is closed
		dir := t.TempDir()
		_, err := Open(t.Context(), Config{
			Mapping: parsed(t, stubMapping), Profile: stubProfile(flaw),
			Launch: launch.Options{Watchdog: watchdog, Home: filepath.Join(dir, "home"), LogPath: filepath.Join(dir, "log"), HealthTimeout: 200 * time.Millisecond},
		})
		if err == nil || !strings.Contains(err.Error(), "no answer within 200ms: --start-timeout allows more than 200ms") {
			t.Errorf("%s: got %v", flaw, err)
		}
	}
}

// TestNoise checks that lines on standard output that are no messages do no harm and are recorded.
func TestNoise(t *testing.T) {
	s := mustOpenStub(t, "noisy", stubMapping)
	st := create(t, s, "b")
	if err := st.Write(t.Context(), "b", corpus, 1); err != nil {
		t.Fatal(err)
	}
	want := `the server wrote 4 lines to its standard output that are not MCP messages, the first: "Welcome to the stub! token=[token]"`
	if got := s.Seen().Noise; got != want {
		t.Errorf("got %s", got)
	}
}

// TestServerThatStays checks that a server that neither ends with its input nor at SIGTERM is killed.
func TestServerThatStays(t *testing.T) {
	t.Parallel()
	s := mustOpenStub(t, "stays", strings.Replace(stubMapping, "brains: process", "brains: one", 1))
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if err := s.Why(); err != nil {
		t.Errorf("it was stopped, and died: %v", err)
	}
}

// TestMapping that follows from the tools of a server.
func TestUnknownServer(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(t.Context(), Config{
		Profile: stubProfile("none"), Launch: launch.Options{Watchdog: watchdog, Home: filepath.Join(dir, "home"), LogPath: filepath.Join(dir, "log")},
	})
	if err == nil || !strings.Contains(err.Error(), `the MCP server "stub" has the tools find, forget, add, and no mapping is for it`) {
		t.Errorf("got %v", err)
	}
}

// TestPool checks that processes that are not in use are ended for others, and started again.
func TestPool(t *testing.T) {
	t.Parallel()
	s := mustOpenStub(t, "none", stubMapping)
	s.pool.most = 2
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		st := create(t, s, name)
		if err := st.Write(t.Context(), name, []dataset.Doc{{Path: name + ".md", Data: []byte("the note of " + name)}}, 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		got, err := s.Store("").Search(t.Context(), name, "note", 5)
		if err != nil || len(got) != 1 || got[0].Path != name+".md" {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	running := 0
	for _, one := range s.pool.of {
		if one.server != nil {
			running++
		}
	}
	if running > 2 {
		t.Errorf("%d processes run", running)
	}
}

// TestOneProcessPerHome checks that a brain's process is started again only when the one that
// was ended to make room has exited.
func TestOneProcessPerHome(t *testing.T) {
	t.Parallel()
	s := mustOpenStub(t, "exclusive", stubMapping)
	s.pool.most = 1
	create(t, s, "a")
	other := make(chan error, 1)
	go func() {
		_, release, err := s.pool.acquire(t.Context(), "b")
		if err == nil {
			release()
		}
		other <- err
	}()
	awaittest.Until(t, "the end of a to make room", func() bool {
		s.pool.mu.Lock()
		defer s.pool.mu.Unlock()
		return s.pool.of["a"].server == nil
	})
	_, release, err := s.pool.acquire(t.Context(), "a")
	if err != nil {
		t.Errorf("started again: %v", err)
	} else {
		release()
	}
	if err := awaittest.Receive(t, "b", other); err != nil {
		t.Error(err)
	}
}

// TestStartBeforeSearch checks that the start of a brain's process is neither part of a search's
// latency nor within the time limit of Store.Search.
func TestStartBeforeSearch(t *testing.T) {
	t.Parallel()
	s := mustOpenStub(t, "none", stubMapping)
	s.pool.most = 1
	for _, name := range []string{"a", "b"} {
		create(t, s, name)
	}
	starts, limited := 0, false
	var started time.Time
	open := s.pool.open
	s.pool.open = func(ctx context.Context, brain string) (*server, error) {
		_, limited = ctx.Deadline()
		one, err := open(ctx, brain)
		starts++
		started = time.Now()
		return one, err
	}
	if _, err := s.Store("").Search(t.Context(), "a", "q", 1); err != nil || limited || starts != 1 {
		t.Errorf("started %d times, within the time limit %v: %v", starts, limited, err)
	}
	asked := &target.Target{Service: s, Brains: map[string]string{"": "b"}, Scenario: result.SearchOnly, TopK: 1}
	a, err := s.Answer(t.Context(), asked, dataset.Question{Question: "q"})
	if after := time.Since(started); err != nil || starts != 2 || a.Latency == 0 || a.Latency > after {
		t.Errorf("a latency of %v, %v after the start of process %d: %v", a.Latency, after, starts, err)
	}
	for name, one := range s.pool.of {
		if one.users != 0 {
			t.Errorf("%s has %d users left", name, one.users)
		}
	}
}

// TestHealthWithoutAnAnswer checks that the health of a service is not waited for without end.
func TestHealthWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakeService(t, webMapping, nil)
		s.main, s.cfg.URL = muteCaller{}, "http://h"
		_, err := s.Health(t.Context())
		if err == nil || err.Error() != "the service at http://h did not say whether it is alive: no answer within 30s" {
			t.Errorf("got %v", err)
		}
	})
}

// TestSecretInURL checks that no error shows a secret in the URL of a server.
func TestSecretInURL(t *testing.T) {
	t.Parallel()
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	bad := httptest.NewServer(http.NotFoundHandler())
	defer bad.Close()
	for _, server := range []*httptest.Server{bad, down} {
		host := strings.TrimPrefix(server.URL, "http://")
		for _, url := range []string{
			"http://user:s3cret@" + host + "/mcp", "http://" + host + "/mcp?api_key=s3cret", "http://user:s3cret@" + host + "/mcp%zz",
			"http://s3cret@" + host + "/api.json", "http://" + host + "/api?api_key=s3cret&as=.json", "http://user:s3cret@" + host + "/%zz.json",
		} {
			_, opened := Open(t.Context(), Config{Mapping: parsed(t, stubMapping), URL: url})
			_, examined := Examine(t.Context(), Config{URL: url})
			for name, err := range map[string]error{"Open": opened, "Examine": examined} {
				if err == nil || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("%s %s: %v", name, url, err)
				}
			}
		}
	}
}

const webMapping = `name: web
transport: http
brains: argument
health: {method: GET, path: /up}
remember:
  path: /{brain}/notes
  headers: {Authorization: "Bearer {env:WEB_KEY}"}
  body: {id: "{id}", text: "{text}"}
search:
  method: GET
  path: /{brain}/notes
  query: {q: "{query}", k: "{top_k}"}
  headers: {Authorization: "Bearer {env:WEB_KEY}"}
  reply: {items: "$.found[*]", id: $.id, text: $.text}
`

// TestHTTP checks the requests over HTTP: paths and queries are escaped, secrets come from the
// environment and do not come back.
func TestHTTP(t *testing.T) {
	const hostile = `a"b}{{text}} {query} /..?x=1&y#%0a` + "\n"
	var body, query, path string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/up":
		case r.Header.Get("Authorization") != "Bearer s3cret-key":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte("not with " + r.Header.Get("Authorization")))
		case r.Method == http.MethodPost:
			data := make([]byte, r.ContentLength)
			_, _ = r.Body.Read(data)
			body, path = string(data), r.URL.EscapedPath()
		default:
			query = r.URL.Query().Get("q")
			_, _ = w.Write([]byte(`{"found":[{"id":"p.md","text":"the s3cret-key is here"}]}`))
		}
	}))
	defer web.Close()
	open := func(key string) (*Service, error) {
		m, env := parsed(t, webMapping), func(string) string { return key }
		return Open(t.Context(), Config{Mapping: m, URL: web.URL, Env: env, Secrets: m.Secrets(env)})
	}
	if _, err := open(""); err == nil || !strings.Contains(err.Error(), "needs the environment variable WEB_KEY, which is not set") {
		t.Errorf("got %v", err)
	}
	s, err := open("s3cret-key")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Health(t.Context()); err != nil {
		t.Error(err)
	}
	st := create(t, s, "my/brain")
	if err := st.Write(t.Context(), "my/brain", []dataset.Doc{{Path: "p.md", Data: []byte(hostile)}}, 1); err != nil {
		t.Fatal(err)
	}
	if want := `{"id":"p.md","text":` + quoted(t, hostile) + `}`; body != want || path != "/my%2Fbrain/notes" {
		t.Errorf("%s to %s", body, path)
	}
	got, err := st.Search(t.Context(), "my/brain", hostile, 3)
	if err != nil || query != hostile || len(got) != 1 || got[0].Text != "the [WEB_KEY] is here" || got[0].Path != "p.md" {
		t.Errorf("%v, %v for %q", got, err, query)
	}
	wrong, err := open("wr0ng-key")
	if err != nil {
		t.Fatal(err)
	}
	defer wrong.Close()
	_, err = wrong.Store("").Search(t.Context(), "b", "q", 1)
	if f, ok := target.AsFailure(err); !ok || f.Status != 401 || strings.Contains(f.Message, "wr0ng") {
		t.Errorf("got %v", err)
	}
}

// TestConnections checks that searches share one connection even if a reader takes long between
// them, and that a write never uses a connection that has been idle for long.
func TestConnections(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var closed []string // connections, by the client's address
	last := map[string]string{}
	opened := 0
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		last[r.Method] = r.RemoteAddr
		_, _ = w.Write([]byte(`{"found":[]}`))
	}))
	web.Config.ConnState = func(c net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		switch state {
		case http.StateNew:
			opened++
		case http.StateClosed:
			closed = append(closed, c.RemoteAddr().String())
		}
	}
	web.Start()
	defer web.Close()
	s, err := Open(t.Context(), Config{Mapping: parsed(t, webMapping), URL: web.URL, Env: func(string) string { return "s3cret-key" }})
	if err != nil {
		t.Fatal(err)
	}
	st := create(t, s, "b")
	search := func() string {
		if _, err := st.Search(t.Context(), "b", "q", 3); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		return last[http.MethodGet]
	}
	write := func() string {
		if err := st.Write(t.Context(), "b", corpus[:1], 1); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		return last[http.MethodPost]
	}
	searched, wrote := search(), write()
	awaittest.Until(t, "the end of the idle connection of a write", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Contains(closed, wrote)
	})
	if again := search(); again != searched {
		t.Errorf("the second search used the connection %s, the first one %s", again, searched)
	}
	if again := write(); again == wrote {
		t.Errorf("both writes used the connection %s", wrote)
	}
	s.Close()
	all, ended := 0, 0
	// The limit is shorter than the time after which a transport itself closes idle connections.
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		mu.Lock()
		all, ended = opened, len(closed)
		mu.Unlock()
		if ended == all {
			break
		}
	}
	if all != 3 || ended != all {
		t.Errorf("%d connections were opened, and %d closed with the service", all, ended)
	}
}

// TestClosedConnection checks that a search is repeated, and a write is not, when the server
// closes the connection of an earlier request instead of answering.
func TestClosedConnection(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	used := map[string]bool{} // connections, by the client's address
	requests := map[string]int{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		requests[r.URL.Path]++
		if _, sent := r.Header["X-Idempotency-Key"]; sent {
			t.Error("the key was sent")
		}
		if used[r.RemoteAddr] {
			panic(http.ErrAbortHandler)
		}
		used[r.RemoteAddr] = true
		_, _ = w.Write([]byte(`{"found":[]}`))
	}))
	defer web.Close()
	s, err := Open(t.Context(), Config{URL: web.URL, Mapping: parsed(t, `name: web
transport: http
brains: argument
remember: {path: "/{brain}/add", body: {id: "{id}", text: "{text}"}}
search: {path: "/{brain}/find", body: {q: "{query}"}, reply: {items: "$.found[*]", text: $.text}}
`)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	st := create(t, s, "b")
	var searched, wrote []error
	for range 2 {
		_, err := st.Search(t.Context(), "b", "q", 3)
		searched = append(searched, err)
	}
	for range 2 {
		wrote = append(wrote, st.Write(t.Context(), "b", corpus[1:], 1))
	}
	mu.Lock()
	defer mu.Unlock()
	if errors.Join(searched...) != nil || requests["/b/find"] != 3 {
		t.Errorf("%d requests of searches: %v", requests["/b/find"], searched)
	}
	if wrote[0] != nil || wrote[1] == nil || requests["/b/add"] != 2 {
		t.Errorf("%d requests of writes: %v", requests["/b/add"], wrote)
	}
}

// TestOneStore checks that a service with one store says that it has one.
func TestOneStore(t *testing.T) {
	s := mustOpenStub(t, "none", strings.Replace(stubMapping, "brains: process", "brains: one", 1))
	if err := target.Needs(s, target.Brains); !errors.Is(err, target.ErrLacks) || !strings.Contains(err.Error(), "it has one store") {
		t.Errorf("got %v", err)
	}
	st := create(t, s, "b")
	if err := st.Write(t.Context(), "b", corpus, 1); err != nil {
		t.Fatal(err)
	}
	if err := st.Remove(t.Context(), "b", "b"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(s.cfg.Launch.Home, "notes.json"))
	if err != nil || string(data) != "null" {
		t.Errorf("left: %s, %v", data, err)
	}
}

// TestEnvironment: a mapping passes variables on by name, and says which is not set. What the target
// sets itself wins.
func TestEnvironment(t *testing.T) {
	m := parsed(t, `name: env
env: {VENDOR_KEY: "{env:MY_KEY}", DIR: "{home}/x-{env:SUFFIX}", MODE: fast}
remember: {tool: a, arguments: {t: "{text}"}}
`)
	if got := m.Variables(); !slices.Equal(got, []string{"MY_KEY", "SUFFIX"}) {
		t.Errorf("variables %q", got)
	}
	set := map[string]string{"MY_KEY": "k", "SUFFIX": "s"}
	s := &Service{mapping: m, cfg: Config{Env: func(name string) string { return set[name] }}}
	got, err := s.Environment([]string{"MODE=slow"}, "/h")
	if want := []string{"DIR=/h/x-s", "VENDOR_KEY=k"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, want %q, %v", got, want, err)
	}
	set["MY_KEY"] = "long-enough"
	if got, want := m.Secrets(s.cfg.Env), []redact.Secret{{Name: "MY_KEY", Value: "long-enough"}}; !slices.Equal(got, want) {
		t.Errorf("secrets %v", got)
	}
	delete(set, "MY_KEY")
	if _, err := s.Environment(nil, "/h"); err == nil || !strings.Contains(err.Error(), "needs the environment variable MY_KEY, which is not set") {
		t.Errorf("got %v", err)
	}
}
