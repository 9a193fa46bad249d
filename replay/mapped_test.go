package replay_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"evalctl/harness"
	"evalctl/harness/mapping"
	"evalctl/internal/llm"
	"evalctl/replay"
	"evalctl/replay/ingest"
)

// shelf is a memory over HTTP that goes on running and reports no version. A brain is made by its
// first text, and finds all texts.
type shelf struct {
	mu     sync.Mutex
	brains map[string][]map[string]string // texts by brain
	filled int                            // brains so far
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Method {
	case http.MethodDelete:
		delete(s.brains, r.URL.Path)
		return
	case http.MethodPost:
		if s.brains[r.URL.Path] == nil && !strings.Contains(r.URL.Path, "canary") {
			s.filled++
		}
		var text map[string]string
		_ = json.NewDecoder(r.Body).Decode(&text)
		s.brains[r.URL.Path] = append(s.brains[r.URL.Path], text)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"found": append([]map[string]string{}, s.brains[r.URL.Path]...)})
}

const shelfMapping = `name: shelf
transport: http
brains: argument
health: {method: GET, path: /up}
remember: {path: "/{brain}", body: {id: "{id}", text: "{text}"}}
search: {method: GET, path: "/{brain}", query: {q: "{query}"}, reply: {items: "$.found[*]", text: $.text, id: $.id}}
`

// openShelf returns a shelf, and the configuration of its replays with a mapping.
func openShelf(t *testing.T, text string, questions int) (*shelf, replay.Config) {
	t.Helper()
	m, err := mapping.Parse("shelf.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := &shelf{brains: map[string][]map[string]string{}}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	p, b := newProvider(t), benchmark(t, questions)
	c := p.config(t, b, llm.Dollar)
	c.Ingest, c.Cache.Dir = ingest.Bulk, t.TempDir()
	c.Arms = []replay.Arm{{Name: "shelf", Session: harness.SessionConfig{Endpoint: web.URL, Described: &harness.Description{Mapping: m}}}}
	return s, c
}

// replayShelf replays twice with a mapping, and returns what the service has then.
func replayShelf(t *testing.T, text string) *shelf {
	t.Helper()
	s, c := openShelf(t, text, 2)
	for range 2 {
		out, _, err := run(t, c, t.TempDir())
		if err != nil || len(out) != 1 || out[0].Err != nil {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	if s.filled != 4 {
		t.Errorf("%d brains were filled, not 2 by each replay", s.filled)
	}
	return s
}

// interrupting is an Observer that ends a replay at its first question, when all brains are
// filled.
type interrupting struct {
	unobserved
	stop context.CancelFunc
}

func (i interrupting) Asking(string, string, bool) { i.stop() }

// TestResumedElsewhere checks that a resumed replay uses the brains that it has filled, whatever
// its folder is called now.
func TestResumedElsewhere(t *testing.T) {
	const questions = 4
	s, c := openShelf(t, shelfMapping, questions)
	c.Concurrency = 1
	t.Chdir(t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if out, _, err := runUntil(ctx, t, c, "out", interrupting{stop: stop}); err == nil && replay.Finished(out) {
		t.Fatal("the replay was not interrupted")
	}
	if err := os.Rename("out", "moved"); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("moved")
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := run(t, c, dir)
	if err != nil || !replay.Finished(out) || s.filled != questions {
		t.Errorf("%d brains were filled: %+v, %v", s.filled, out, err)
	}
}

// TestSecondReplay checks that a replay does not write its sessions on top of the ones that an
// earlier replay has written to a service that goes on running and reports no version.
func TestSecondReplay(t *testing.T) {
	for brain, texts := range replayShelf(t, shelfMapping).brains {
		if !strings.HasPrefix(brain, "/evalctl-") {
			t.Errorf("a brain is called %q", brain)
		}
		if len(texts) != 2 && !strings.Contains(brain, "canary") {
			t.Errorf("brain %q has %d texts, not 2: %v", brain, len(texts), texts)
		}
	}
}

// TestNothingIsLeft checks that a service that reports no version keeps no brains, which no later
// replay would use.
func TestNothingIsLeft(t *testing.T) {
	s := replayShelf(t, shelfMapping+"reset: {method: DELETE, path: \"/{brain}\"}\n")
	if len(s.brains) > 0 {
		t.Errorf("left %v", s.brains)
	}
}
