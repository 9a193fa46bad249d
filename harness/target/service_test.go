package target

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// TestApply checks the request of each operation on a document.
func TestApply(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		w.WriteHeader(http.StatusNoContent)
	})
	store := endpointOf(t, s, "").Store(result.Snake)
	for _, c := range []struct {
		operation  dataset.Operation
		want, body string
	}{
		{dataset.Operation{Op: dataset.OpPut, Path: "a.md", Text: "x"}, "PUT /documents", "x\n"},
		{dataset.Operation{Op: dataset.OpAppend, Path: "a.md", Text: "y"}, "POST /documents/append", "y"},
		{dataset.Operation{Op: dataset.OpDelete, Path: "a.md"}, "DELETE /documents", ""},
		{
			dataset.Operation{Op: dataset.OpRename, Path: "a.md", To: "b.md"},
			"POST /documents/rename", `{"from":"raw/documents/a.md","to":"raw/documents/b.md"}`,
		},
	} {
		if err := store.Apply(t.Context(), "b-1", c.operation); err != nil {
			t.Fatal(err)
		}
		calls := s.Calls()
		last := calls[len(calls)-1]
		path, _, _ := strings.Cut(strings.TrimPrefix(last.Path, "/v1/brains/b-1"), "?")
		if got := last.Method + " " + path; got != c.want || string(last.Raw) != c.body {
			t.Errorf("%s: %s with %q", c.operation, got, last.Raw)
		}
	}
	before := len(s.Calls())
	if err := store.Apply(t.Context(), "b-1", dataset.Operation{Op: dataset.OpRestart}); !errors.Is(err, ErrLacks) || len(s.Calls()) != before {
		t.Errorf("got %v after %d requests", err, len(s.Calls())-before)
	}
}

// unable is a service that lacks abilities.
type unable struct {
	lacks map[Ability]string
}

func (u unable) Lacks(a Ability) string { return u.lacks[a] }

func TestNeeds(t *testing.T) {
	s := unable{lacks: map[Ability]string{Delete: "it has no tool for it"}}
	if err := Needs(s, Put, Search); err != nil {
		t.Error(err)
	}
	err := Needs(s, Put, Delete, Search)
	if !errors.Is(err, ErrLacks) || err.Error() != "the target cannot do that (delete): it has no tool for it" {
		t.Errorf("got %v", err)
	}
}
