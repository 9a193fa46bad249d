package plan

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/harness"
	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/mapping"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

const leaveMapping = `name: x
transport: http
brains: argument
health: {method: GET, path: /health}
remember: {path: '/{brain}/notes', body: {t: '{text}'}}
search: {path: '/{brain}/find', body: {q: '{query}'}, reply: {items: '$[*]', text: $}}
reset: {method: DELETE, path: '/{brain}'}
`

// TestLeaveTheOthers has brains that cannot be removed. The others are, and the error names the
// first few.
func TestLeaveTheOthers(t *testing.T) {
	var mu sync.Mutex
	var removed []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Method == http.MethodDelete && strings.HasPrefix(r.URL.Path, "/run-bad"):
			w.WriteHeader(http.StatusInternalServerError)
		case r.Method == http.MethodDelete:
			removed = append(removed, r.URL.Path)
		}
	}))
	defer web.Close()
	m, err := mapping.Parse("m.yaml", []byte(leaveMapping))
	if err != nil {
		t.Fatal(err)
	}
	session, err := harness.Open(t.Context(), harness.SessionConfig{
		Endpoint: web.URL, Described: &harness.Description{Mapping: m, Namespace: "run-"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	leave := func(names ...string) error {
		p, ids := &Plan{}, map[string]string{}
		removed = nil
		for _, name := range names {
			p.Brains, ids[name] = append(p.Brains, dataset.Brain{Name: name, Docs: []dataset.Doc{}}), name
		}
		return p.Leave(t.Context(), session, ids)
	}
	if err := leave("bad1", "a", "bad2", "b"); err == nil || !strings.Contains(err.Error(), `"run-bad1"`) || !strings.Contains(err.Error(), `"run-bad2"`) {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(removed, []string{"/run-a", "/run-b"}) {
		t.Errorf("removed %q", removed)
	}
	err = leave("bad1", "bad2", "bad3", "bad4", "bad5", "a")
	if err == nil || strings.Count(err.Error(), "\n") != 3 || strings.Contains(err.Error(), "bad4") || !strings.Contains(err.Error(), "and 2 more brains") {
		t.Errorf("got %v", err)
	}
	if err := leave("a"); err != nil {
		t.Error(err)
	}
}

// TestRemoveWhatWasCreated has a daemon whose answers cannot be read. The brain that the run
// created there is removed, and not an older one of the same name.
func TestRemoveWhatWasCreated(t *testing.T) {
	var removed []string
	web := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		switch {
		case c.Method == http.MethodDelete:
			removed = append(removed, c.Path)
		case c.Path == "/v1/brains" && c.Method == http.MethodPost:
			_, _ = io.WriteString(w, `{"id":"br_2"}`)
		case c.Path == "/v1/brains":
			_, _ = io.WriteString(w, `{"items":[{"id":"br_1","name":"eval"}]}`)
		default:
			_, _ = io.WriteString(w, `{"answer":"green","ok":true}`)
		}
	})
	session, err := harness.Open(t.Context(), harness.SessionConfig{Endpoint: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	p := &Plan{Spec: Spec{Timeout: time.Minute}}
	p.Brains = []dataset.Brain{{Name: "eval", Docs: []dataset.Doc{}}}
	j, err := journal.Create(t.TempDir(), result.Identity{SDK: "go", Dataset: result.DatasetID{Selected: 1}}, time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	id, err := session.Service().Store(result.Auto).Create(t.Context(), "eval")
	if err != nil {
		t.Fatal(err)
	}
	e := &Evaluation{Journal: j, run: &Run{Plan: p}, session: session, asked: &target.Target{
		Service: session.Service(), Brains: map[string]string{"eval": id}, Scenario: result.AskBasic,
	}}
	if err := e.check(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(removed, []string{"/v1/brains/br_2"}) {
		t.Errorf("removed %q", removed)
	}
}
