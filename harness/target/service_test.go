package target

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
	"evalctl/harness/daemontest"
	"evalctl/harness/result"
)

// TestApply checks the request of each change, and that a daemon that commits nothing is an error.
func TestApply(t *testing.T) {
	committed := 1
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		_ = json.NewEncoder(w).Encode(protocol.BatchResult{Committed: committed})
	})
	store := endpointOf(t, s, "").Store(result.Auto)
	for _, c := range []struct {
		change Change
		want   protocol.BatchOp
	}{
		{Change{Do: Put, Path: "a.md", Text: []byte("x")}, protocol.BatchOp{Type: "write", Path: "raw/documents/a.md", Content: []byte("x")}},
		{Change{Do: Append, Path: "a.md", Text: []byte("y")}, protocol.BatchOp{Type: "append", Path: "raw/documents/a.md", Content: []byte("y")}},
		{Change{Do: Delete, Path: "a.md"}, protocol.BatchOp{Type: "delete", Path: "raw/documents/a.md"}},
		{Change{Do: Rename, Path: "a.md", To: "b.md"}, protocol.BatchOp{Type: "rename", Path: "raw/documents/a.md", To: "raw/documents/b.md"}},
	} {
		if err := store.Apply(t.Context(), "b-1", c.change); err != nil {
			t.Fatal(err)
		}
		calls := s.Calls()
		last := calls[len(calls)-1]
		var got protocol.Batch
		if err := json.Unmarshal(last.Raw, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]protocol.BatchOp{c.want}, got.Ops); diff != "" || last.Path != "/v1/brains/b-1/documents/batch-ops" {
			t.Errorf("%s to %s: %s", c.change.Do, last.Path, diff)
		}
	}
	committed = 0
	if err := store.Apply(t.Context(), "b-1", Change{Do: Delete, Path: "a.md"}); err == nil {
		t.Error("nothing was committed, and that is no error")
	}
	before := len(s.Calls())
	if err := store.Apply(t.Context(), "b-1", Change{Do: Asks}); !errors.Is(err, ErrLacks) || len(s.Calls()) != before {
		t.Errorf("got %v after %d requests", err, len(s.Calls())-before)
	}
}

// unable is a service that lacks abilities.
type unable struct {
	Service
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
