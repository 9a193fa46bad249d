package seed_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
)

// daemon answers as a daemon does that gives each brain an id of its own and serves no batches.
func daemon(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/v1/brains":
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":"brain-7"}`)
	case r.Method == http.MethodPut || r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	case strings.HasSuffix(r.URL.Path, "/search"):
		_, _ = io.WriteString(w, `{"chunks":[{"path":"raw/documents/boats.md"}]}`)
	default:
		http.NotFound(w, r)
	}
}

func Example() {
	d := httptest.NewServer(http.HandlerFunc(daemon))
	defer d.Close()
	e, err := target.NewEndpoint(d.URL, "", "example", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	boats := dataset.Doc{Path: "boats.md", Data: []byte("The ferry leaves at nine.")}
	brains := []dataset.Brain{{Name: "notes", Docs: []dataset.Doc{boats}}}
	ids, err := seed.Brains(context.Background(), e, result.Auto, brains, nil, nil)
	fmt.Println(ids, err)
	// Output:
	// map[notes:brain-7] <nil>
}

// TestFailedMark checks that a brain whose seeding cannot be recorded is removed again.
func TestFailedMark(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
		daemon(w, r)
	})
	e, err := target.NewEndpoint(s.URL, "", "evalctl-test", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	full := errors.New("disk full")
	var marked []string
	mark := func(brain string) error { marked = append(marked, brain); return full }
	brains := []dataset.Brain{{Name: "notes", Docs: []dataset.Doc{{Path: "boats.md"}}}}
	ids, err := seed.Brains(t.Context(), e, result.Snake, brains, nil, mark)
	calls := s.Calls()
	last := calls[len(calls)-1]
	if ids != nil || !errors.Is(err, full) || !slices.Equal(marked, []string{"notes"}) ||
		last.Method != "DELETE" || last.Path != "/v1/brains/brain-7" {
		t.Errorf("got %v, %v; marked %v; the last call is %s %s",
			ids, err, marked, last.Method, last.Path)
	}
}
