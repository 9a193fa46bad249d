package conformance

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	ct "evalctl/harness/conformance/conformancetest"
)

// usersBrain is the reference daemon with the brain main, which has a document, behind a
// wrapper.
type usersBrain struct {
	next http.Handler

	mu      sync.Mutex
	changes []string // the requests since then that would change main
}

func (u *usersBrain) wrap(with ct.Wrapper) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		u.next = next
		u.send(http.MethodPost, "/v1/brains", `{"name":"main","id":"main"}`)
		u.send(http.MethodPut, "/v1/brains/main/documents?path=precious.md", "mine")
		return with(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			isMain := r.URL.Path == "/v1/brains/main" || strings.HasPrefix(r.URL.Path, "/v1/brains/main/")
			if isMain && r.Method != http.MethodGet {
				u.mu.Lock()
				u.changes = append(u.changes, r.Method+" "+r.URL.Path)
				u.mu.Unlock()
			}
			next.ServeHTTP(w, r)
		}))
	}
}

// send sends a request of the user's.
func (u *usersBrain) send(method, path, body string) *ct.Answer {
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodPut {
		r.Header.Set("Content-Type", "application/octet-stream")
	}
	return ct.Serve(u.next, r)
}

func isCreation(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == "/v1/brains"
}

func both(outer, inner ct.Wrapper) ct.Wrapper {
	return func(next http.Handler) http.Handler { return outer(inner(next)) }
}

// TestBrainsOfOthers checks that a daemon is not checked that returns a brain which it had
// before, or whose brains share their documents: a check would write to it and delete it.
func TestBrainsOfOthers(t *testing.T) {
	t.Parallel()
	isList := func(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.Path == "/v1/brains" }
	returnsMain := ct.Instead(isCreation, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		_, _ = io.WriteString(w, `{"id":"main","slug":"main","name":"Main"}`)
	})
	oneStore := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if rest, ok := strings.CutPrefix(r.URL.Path, "/v1/brains/"); ok {
				_, below, nested := strings.Cut(rest, "/")
				if r.URL.Path = "/v1/brains/main"; nested {
					r.URL.Path += "/" + below
				}
			}
			next.ServeHTTP(w, r)
		})
	}
	for name, c := range map[string]struct {
		wrap ct.Wrapper
		want string
	}{
		"always the same":          {returnsMain, `returned brain "main", which it had before: a check would`},
		"always the same, no list": {both(returnsMain, ct.FailingIf(isList, 404)), `it contains "precious.md"`},
		"one store":                {oneStore, "share their documents"},
		"one store, no creation":   {both(ct.FailingIf(isCreation, 404), oneStore), "share their documents"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := &usersBrain{}
			url := serve(t, nil, u.wrap(c.wrap))
			_, err := Run(t.Context(), Options{Endpoint: url, Only: []string{"documents", "evaluable"}, Timeout: timeout})
			if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			got := u.send(http.MethodGet, "/v1/brains/main/documents/read?path=precious.md", "")
			if len(u.changes) > 0 || got.Status != 200 {
				t.Errorf("main returns %d after %q", got.Status, u.changes)
			}
		})
	}
}

// TestEmptyBrainOfOthers checks that the only brain is not taken for a new one, even if it is
// empty and the daemon has no list of brains.
func TestEmptyBrainOfOthers(t *testing.T) {
	t.Parallel()
	var deleted []string
	url := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodDelete:
			deleted = append(deleted, r.URL.Path)
		case r.Method == http.MethodPost && r.URL.Path == "/v1/brains":
			_, _ = io.WriteString(w, `{"id":"main"}`)
		case r.URL.Path == "/v1/brains/main/documents" && r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"items":[]}`)
		default:
			http.NotFound(w, r)
		}
	}), func() {})
	_, err := Run(t.Context(), Options{Endpoint: url, Timeout: timeout})
	if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "as for another name") || len(deleted) > 0 {
		t.Errorf("got %v, deleted %q", err, deleted)
	}
}

// TestUnusableAdvice checks that a refusal before the checks says what to do.
func TestUnusableAdvice(t *testing.T) {
	t.Parallel()
	for want, answer := range map[string]func(http.ResponseWriter){
		"--token or SVC_TOKEN":          func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) },
		"redirects are not followed":    func(w http.ResponseWriter) { w.WriteHeader(http.StatusPermanentRedirect) },
		"an HTML page (a login page or": func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<!doctype html><title>My shop</title>") },
	} {
		url := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }), func() {})
		_, err := Run(t.Context(), Options{Endpoint: url, Timeout: timeout})
		if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestIDsAreNoSlugs checks that no check takes the id of a brain for a slug.
func TestIDsAreNoSlugs(t *testing.T) {
	t.Parallel()
	url := serve(t, nil, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.URL.Path = strings.Replace(r.URL.Path, "/brn_", "/", 1)
			a := ct.Serve(next, r)
			if isCreation(r) && a.Status == http.StatusCreated {
				a.SetText(strings.Replace(a.Body.String(), `"id":"`, `"id":"brn_`, 1))
			}
			a.Send(w, r)
		})
	})
	r := run(t, Options{Endpoint: url, Only: []string{"evaluable-create"}})
	if len(r.Results) != 1 || r.Results[0].Verdict != Kept {
		t.Errorf("got %+v", r.Results)
	}
}

// TestBrainsThatStay checks that the report names brains whose deletion the daemon only
// confirms.
func TestBrainsThatStay(t *testing.T) {
	t.Parallel()
	isDeletion := func(r *http.Request) bool { return ct.Route("DELETE ")(r) }
	for name, wrap := range map[string]ct.Wrapper{"stay": ct.FailingIf(isDeletion, 204), "deleted": ct.Correct()} {
		r := run(t, Options{Endpoint: serve(t, nil, wrap), Only: []string{"brains-health-200", "documents-put-204"}})
		if stay := name == "stay"; len(r.Results) == 0 || stay != (len(r.BrainsLeft) > 0) {
			t.Errorf("%s: %d results, left %q", name, len(r.Results), r.BrainsLeft)
		}
	}
}
