package target

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/census"
	"evalctl/harness/daemontest"
	"evalctl/harness/result"
)

// keeper is a daemon with the brain main, which has a document.
type keeper struct {
	brains   map[string][]string // the paths of their documents, by id
	listed   []string            // ids that GET /v1/brains returns, if not those of brains
	unlisted bool                // there is no GET /v1/brains
	opaque   bool                // nor a list of documents
	returns  string              // the id for every creation
	gets     bool                // a creation returns the brain with the name if there is one
	shared   bool                // all ids are of one store
	first    []string            // documents of a new brain
	busy     string              // the end of the paths of lists that are not served now
}

func (k *keeper) serve(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
	id, below, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/brains/"), "/")
	if k.shared {
		id = "main"
	}
	docs, exists := k.brains[id]
	switch {
	case c.Method == http.MethodGet && k.busy != "" && strings.HasSuffix(r.URL.Path, k.busy):
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	case c.Method == http.MethodPost:
		k.create(w, c.Body["name"].(string))
	case r.URL.Path == "/v1/brains" && !k.unlisted:
		items := []map[string]string{}
		listed := k.listed
		for id := range k.brains {
			if k.listed == nil {
				listed = append(listed, id)
			}
		}
		for _, id := range listed {
			items = append(items, map[string]string{"id": id})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
	case c.Method == http.MethodGet && below == "documents" && exists && !k.opaque:
		items := []map[string]string{}
		for _, path := range docs {
			items = append(items, map[string]string{"path": path})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
	case c.Method == http.MethodDelete:
		delete(k.brains, id)
		w.WriteHeader(http.StatusNoContent)
	default:
		http.NotFound(w, r)
	}
}

func (k *keeper) create(w http.ResponseWriter, name string) {
	id := name
	if k.returns != "" {
		id = k.returns
	}
	_, exists := k.brains[id]
	if exists && id == name && !k.gets {
		w.WriteHeader(http.StatusConflict)
		return
	}
	if !exists {
		k.brains[id] = k.first
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"id": id})
}

// TestCreateNewBrains checks that a brain that the daemon had before is not the caller's,
// whatever the daemon answers, and that no unusual daemon is refused.
func TestCreateNewBrains(t *testing.T) {
	for _, c := range []struct {
		daemon string
		keeper keeper
		name   string
		is     error // nil if the brain is new
		says   string
	}{
		{"usual", keeper{}, "new", nil, ""},
		{"exists", keeper{}, "main", ErrExists, `brain "main" at`},
		{"always the same", keeper{returns: "main"}, "new", census.ErrOld, `POST /v1/brains returned brain "main", which it had before:`},
		{"always the same, no list", keeper{returns: "main", unlisted: true}, "new", census.ErrOld, `it contains "precious.md"`},
		{"always the same, on another page", keeper{returns: "main", listed: []string{"a"}}, "new", census.ErrOld, `"precious.md"`},
		{"gets the existing", keeper{gets: true}, "main", ErrExists, "exists already"},
		{"gets the existing, no list", keeper{gets: true, unlisted: true}, "main", ErrExists, "exists already"},
		{"one store", keeper{shared: true}, "new", census.ErrShared, `also lists "precious.md"`},
		{"one store, no list", keeper{shared: true, unlisted: true}, "new", census.ErrShared, `also lists "precious.md"`},
		{"welcomes", keeper{first: []string{"welcome.md"}}, "new", nil, ""},
		{"generates files, no list", keeper{unlisted: true, first: []string{"_index.md", ".git/config", "raw/"}}, "new", nil, ""},
		{"other ids", keeper{returns: "7"}, "new", nil, ""},
		{"no lists", keeper{unlisted: true, opaque: true}, "new", nil, ""},
		{"short list", keeper{listed: []string{"a"}}, "new", nil, ""},
	} {
		t.Run(c.daemon, func(t *testing.T) {
			c.keeper.brains = map[string][]string{"main": {"precious.md"}}
			s := daemontest.New(t, c.keeper.serve)
			store := endpointOf(t, s, "").Store(result.Auto)
			id, err := store.Create(t.Context(), c.name)
			if (err == nil) != (c.is == nil) || !errors.Is(err, c.is) || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %q, %v", id, err)
			}
			if err == nil {
				err = store.Remove(t.Context(), id, c.name)
				if _, left := c.keeper.brains[id]; err != nil || left {
					t.Errorf("not removed: %v", err)
				}
			}
			if !slices.Equal(c.keeper.brains["main"], []string{"precious.md"}) {
				t.Errorf("main was changed: %v", s.Calls())
			}
		})
	}
}

// TestBusyLists checks that nothing is written while it is unknown whether a brain is new.
func TestBusyLists(t *testing.T) {
	for _, path := range []string{"/v1/brains", "/documents"} {
		k := &keeper{brains: map[string][]string{"main": {"precious.md"}}, returns: "main", busy: path, unlisted: true}
		store := endpointOf(t, daemontest.New(t, k.serve), "").Store(result.Auto)
		if _, err := store.Create(t.Context(), "new"); err == nil || !strings.Contains(err.Error(), "503") {
			t.Errorf("%s: %v", path, err)
		}
		k.busy = ""
		if _, err := store.Create(t.Context(), "new"); !errors.Is(err, census.ErrOld) {
			t.Errorf("%s, later: %v", path, err)
		}
	}
}

// TestCreateAgain checks that ids are unique among the brains that exist, and that a list may
// lag behind.
func TestCreateAgain(t *testing.T) {
	k := &keeper{brains: map[string][]string{}, returns: "7", listed: []string{}}
	store := endpointOf(t, daemontest.New(t, k.serve), "").Store(result.Auto)
	create := func(name string, ok bool) {
		t.Helper()
		if _, err := store.Create(t.Context(), name); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	create("a", true)
	create("b", false)
	k.listed = []string{"7"} // also after it was removed
	if err := store.Remove(t.Context(), "7", "a"); err != nil {
		t.Fatal(err)
	}
	create("b", true)
	create("b", false)
}

// TestRefill checks that a brain that an earlier process left is removed and created again.
func TestRefill(t *testing.T) {
	k := &keeper{brains: map[string][]string{"left": {"a.md"}}}
	store := endpointOf(t, daemontest.New(t, k.serve), "").Store(result.Auto)
	if _, err := store.Create(t.Context(), "left"); !errors.Is(err, ErrExists) {
		t.Fatal(err)
	}
	k.listed = []string{"left"} // also after it was removed
	if err := store.Remove(t.Context(), "", "left"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(t.Context(), "left"); err != nil {
		t.Error(err)
	}
}

// TestRemoveCreatedBrains checks that only brains that this process created are removed by their
// id.
func TestRemoveCreatedBrains(t *testing.T) {
	k := &keeper{brains: map[string][]string{"main": nil, "left": nil}}
	store := endpointOf(t, daemontest.New(t, k.serve), "").Store(result.Auto)
	if err := store.Remove(t.Context(), "main", "main"); err == nil || len(k.brains) != 2 {
		t.Errorf("main was removed: %v", err)
	}
	if err := store.Remove(t.Context(), "", "left"); err != nil || len(k.brains) != 1 {
		t.Errorf("a brain that an earlier process left was not removed: %v", err)
	}
}
