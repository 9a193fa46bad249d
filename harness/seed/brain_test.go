package seed

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// TestCreate checks that creation is repeated for a busy daemon, but not if the brain may have been
// created, and that an answer without an id is accepted.
func TestCreate(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []reply
		id, err string
	}{
		{"busy", []reply{{status: 503}, {status: 429}, {status: 201, body: `{"id":"b7"}`}},
			"b7", ""},
		{"broken gateway", []reply{{status: 502}}, "", "502"},
		{"no body", []reply{{status: 201, body: " "}}, "eval", ""},
		{"no id", []reply{{status: 201, body: `{}`}}, "eval", ""},
		{"a page", []reply{{status: 200, body: `<html>log in`}}, "",
			"did not answer with a JSON object"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &sequence{answer: func(n int) reply { return c.answers[n-1] }}
			b := NewBrain(inMemory(t, m.serve), result.Auto, "eval")
			err := b.Create(t.Context())
			if b.id != c.id || (err == nil) != (c.err == "") ||
				err != nil && !strings.Contains(err.Error(), c.err) || m.n != len(c.answers) {
				t.Errorf("%s: got %q, %v after %d requests", c.name, b.id, err, m.n)
			}
		})
	}
}

// TestFind checks which brains can be evaluated as they are.
func TestFind(t *testing.T) {
	found, nothing := answer(200, `{"chunks":[{"path":"x"}]}`), answer(200, `{"chunks":[]}`)
	list := func(items string) func(http.ResponseWriter) {
		return answer(200, `{"items":`+items+`}`)
	}
	listed := list(`[{"id":"eval"}]`)
	const brains, search, docs = "/v1/brains", "/search", "/documents"
	type answers map[string]func(http.ResponseWriter)
	for _, c := range []struct {
		name    string
		answers answers
		id      string
		is      error
		want    string
	}{
		{"by id", answers{brains: list(`[{"id":"x"},{"id":"eval"}]`), search: found},
			"eval", nil, ""},
		{"by name", answers{brains: list(`[{"id":"u-1","name":"eval"}]`), search: found},
			"u-1", nil, ""},
		{"by slug", answers{brains: list(`[{"brain_id":"u-2","slug":"eval"}]`), search: found},
			"u-2", nil, ""},
		{"camelCase id", answers{brains: list(`[{"brainId":"eval"}]`), search: found},
			"eval", nil, ""},
		{"id before the name of another",
			answers{brains: list(`[{"id":"a1","name":"eval"},{"id":"eval","name":"E"}]`), search: found},
			"eval", nil, ""},
		{"slug before the name of another",
			answers{brains: list(`[{"id":"a1","name":"eval"},{"id":"a2","slug":"eval"}]`), search: found},
			"a2", nil, ""},
		{"name of two",
			answers{brains: list(`[{"id":"a1","name":"eval"},{"id":"a2","name":"eval"}]`), search: found},
			"", nil, `give an id: "a1", "a2"`},
		{"name without an id", answers{brains: list(`[{"name":"eval"}]`), search: found},
			"eval", nil, ""},
		{"no list of brains", answers{brains: answer(404, ""), search: found}, "eval", nil, ""},
		{"list of brains not allowed", answers{brains: answer(405, ""), search: found},
			"eval", nil, ""},
		{"not listed", answers{brains: list(`[{"id":"other"}]`)}, "", ErrMissing, "--corpus"},
		{"no brains", answers{brains: list(`[]`)}, "", ErrMissing, "--corpus"},
		{"no list, and search does not find it",
			answers{brains: answer(404, ""), search: answer(404, "")}, "", ErrMissing, "--corpus"},
		{"nothing found, documents listed",
			answers{brains: listed, search: nothing, docs: list(`[{"path":"a"}]`)},
			"eval", nil, ""},
		{"more documents than a list may contain",
			answers{brains: listed, search: nothing, docs: answer(413, "")}, "eval", nil, ""},
		{"empty", answers{brains: listed, search: nothing, docs: list(`[]`)},
			"", ErrEmpty, "give its documents with --corpus"},
		{"nothing found, no list of documents",
			answers{brains: listed, search: nothing, docs: answer(404, "")}, "eval", nil, ""},
		{"search without chunks",
			answers{brains: listed, search: answer(200, `{"results":[{"text":"x"}]}`)}, "", nil,
			`has the keys "results", and neither "chunks" nor "hits"`},
		{"list of documents fails",
			answers{brains: listed, search: nothing, docs: answer(500, "boom")},
			"", nil, `list the documents of brain "eval": GET`},
		{"list of brains fails", answers{brains: answer(500, "boom")},
			"", nil, "list brains: GET /v1/brains: 500"},
		{"search fails", answers{brains: listed, search: answer(500, "boom")},
			"", nil, `search brain "eval": POST`},
		{"no token", answers{brains: answer(401, "")}, "", nil, "--token or SVC_TOKEN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &oneBrain{answers: c.answers}
			id, err := findEval(t.Context(), endpointAt(t, daemontest.New(t, o.serve).URL, ""))
			if id != c.id || (err == nil) != (c.id != "") || c.is != nil && !errors.Is(err, c.is) ||
				err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, %v", id, err)
			}
			if c.is == nil && (errors.Is(err, ErrEmpty) || errors.Is(err, ErrMissing)) {
				t.Errorf("a failing daemon was taken for a missing brain: %v", err)
			}
		})
	}
}

// TestEveryUnusableBrainIsNamed checks the error for several brains that should exist.
func TestEveryUnusableBrainIsNamed(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
		switch {
		case r.URL.Path == "/v1/brains":
			_, _ = io.WriteString(w, `{"items":[{"id":"full"},{"id":"empty"}]}`)
		case strings.HasSuffix(r.URL.Path, "/full/search"):
			_, _ = io.WriteString(w, `{"chunks":[{"path":"x"}]}`)
		default:
			_, _ = io.WriteString(w, `{"chunks":[],"items":[]}`)
		}
	})
	brains := []dataset.Brain{{Name: "full"}, {Name: "empty"}, {Name: "gone"}, {Name: "lost"}}
	_, err := Brains(t.Context(), endpointAt(t, s.URL, ""), result.Auto, brains, nil, nil)
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], `brain "empty" at`) ||
		!strings.HasPrefix(lines[1], `brain "gone" at`) ||
		!strings.HasPrefix(lines[2], `brain "lost" at`) {
		t.Errorf("got %v", err)
	}
}
