package target

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// TestSeedManyBrains: each gets its own documents; the one that fails takes all
// with it.
func TestSeedManyBrains(t *testing.T) {
	for _, broken := range []string{"", "b7"} {
		l := &libraries{broken: broken}
		s := daemontest.New(t, l.serve)
		var brains []dataset.Brain
		want := map[string]string{}
		for i := range 12 {
			name := fmt.Sprintf("b%d", i)
			b := dataset.Brain{Name: name, Questions: 1}
			for j := range 3 {
				p := fmt.Sprintf("%s/%d.md", name, j)
				b.Docs = append(b.Docs, dataset.Doc{Path: p, Data: []byte("text of " + p)})
				want["id-"+name+" raw/documents/"+p] = "text of " + p
			}
			brains = append(brains, b)
		}
		ids, err := Seed(t.Context(), endpointOf(t, s, ""), result.Auto, brains, nil, nil)
		if broken != "" {
			if err == nil || !strings.Contains(err.Error(), "no room") || ids != nil || len(l.brains) != 0 {
				t.Errorf("got %v, %v; %d brains are left", ids, err, len(l.brains))
			}
			continue
		}
		if err != nil || len(ids) != 12 || ids["b11"] != "id-b11" {
			t.Fatal(ids, err)
		}
		if diff := cmp.Diff(want, l.docs); diff != "" {
			t.Error(diff)
		}
	}
}

// TestSeedNamesEveryUnusableBrain of those that should be there.
func TestSeedNamesEveryUnusableBrain(t *testing.T) {
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
	_, err := Seed(t.Context(), endpointOf(t, s, ""), result.Auto, []dataset.Brain{{Name: "full"}, {Name: "empty"}, {Name: "gone"}, {Name: "lost"}}, nil, nil)
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], `brain "empty" at`) || !strings.HasPrefix(lines[1], `brain "gone" at`) || !strings.HasPrefix(lines[2], `brain "lost" at`) {
		t.Errorf("got %v", err)
	}
}

// TestSeedGoesOnWhereItWasStopped: brains that an interrupted run has seeded are taken as they are,
// others must not exist.
func TestSeedGoesOnWhereItWasStopped(t *testing.T) {
	l := &libraries{}
	e := endpointOf(t, daemontest.New(t, l.serve), "")
	a := dataset.Brain{Name: "a", Docs: corpusOf("a.md").Docs}
	b := dataset.Brain{Name: "b", Docs: corpusOf("b.md").Docs}
	seed := func(seeded map[string]bool, brains ...dataset.Brain) (map[string]string, error) {
		mark := func(brain string) error { seeded[brain] = true; return nil }
		return Seed(t.Context(), e, result.Auto, brains, func(brain string) bool { return seeded[brain] }, mark)
	}
	first := map[string]bool{}
	if _, err := seed(first, a); err != nil {
		t.Fatal(err)
	}
	again := maps.Clone(first)
	ids, err := seed(again, a, b)
	if err != nil || ids["a"] != "id-a" || ids["b"] != "id-b" || !again["b"] {
		t.Fatal(ids, err)
	}
	if _, err := seed(first, a, b); err == nil || !strings.Contains(err.Error(), `brain "b" at`) || len(l.brains) != 2 {
		t.Errorf("got %v, and %d brains are left", err, len(l.brains))
	}
	broken := errors.New("disk full")
	mark := func(string) error { return broken }
	if _, err := Seed(t.Context(), e, result.Auto, []dataset.Brain{{Name: "c", Docs: a.Docs}}, nil, mark); !errors.Is(err, broken) || len(l.brains) != 2 {
		t.Errorf("got %v, and %d brains are left", err, len(l.brains))
	}
}
