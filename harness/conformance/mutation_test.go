package conformance

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// heavy are checks that move megabytes. Only mutants that aim at them meet them.
var heavyChecks = []string{"limits-put-*", "limits-append-*", "limits-batch-8mib-*", "limits-listing-*", "limits-gzip-counted-unpacked", "listing-many*", "records-content-above-limit"}

// sampled is which part of the other checks a mutant meets in a normal run.
const sampleEvery = 60

func matchesAny(globs []string, id string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		ok, err := path.Match(g, id)
		return ok && err == nil
	})
}

// TestMutants: each broken promise is caught by the checks that name it, and
// nothing fails that has nothing to do with it.
func TestMutants(t *testing.T) {
	all, err := Checks(nil)
	if err != nil {
		t.Fatal(err)
	}
	for n, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			var only []string
			for i, c := range all {
				due := (*full || i%sampleEvery == n%sampleEvery && !matchesAny(m.alsoFails, c.ID)) && !matchesAny(heavyChecks, c.ID)
				if slices.Contains(m.caughtBy, c.ID) || due {
					only = append(only, c.ID)
				}
			}
			o := authOptions(serve(t, "", keys(t), m.wrap))
			o.Only, o.Parallel, o.Timeout = only, 2, m.timeout()
			checkMutant(t, m, run(t, o))
		})
	}
}

// silent are the mutants that make a check wait in vain.
var slowToFail = []string{
	"ready-lost", "search-stale", "search-path-lost", "search-no-text-documents", "search-no-json-documents", "search-known-folders",
	"search-no-folding-document", "search-no-folding-query", "search-no-composition", "search-no-stemming",
}

// patience is how long a check of the mutant may take.
func (m mutant) timeout() time.Duration {
	if slices.Contains(slowToFail, m.name) {
		return time.Second
	}
	return time.Minute
}

func checkMutant(t *testing.T, m mutant, r Report) {
	t.Helper()
	var failed []string
	for _, res := range r.Results {
		if res.Status != Fail {
			continue
		}
		failed = append(failed, res.ID)
		if !slices.Contains(m.caughtBy, res.ID) && !matchesAny(m.alsoFails, res.ID) {
			t.Errorf("%s failed too: %s [%s]", res.ID, res.Detail, res.Request)
		}
		if res.Detail == "" || strings.Contains(res.Detail, "%!") {
			t.Errorf("%s: detail %q", res.ID, res.Detail)
		}
	}
	for _, id := range m.caughtBy {
		if !slices.Contains(failed, id) {
			t.Errorf("%s did not fail", id)
		}
	}
	if len(m.caughtBy) == 0 {
		t.Error("no check names this mutant")
	}
}

func mutantNamed(t *testing.T, name string) mutant {
	t.Helper()
	i := slices.IndexFunc(mutants(), func(m mutant) bool { return m.name == name })
	if i < 0 {
		t.Fatalf("no mutant %s", name)
	}
	return mutants()[i]
}

// docs is the page that lists checks and mutants between two markers.
const docs = "../../docs/conformance.md"

// TestDocs: the lists in docs/conformance.md are those of the code.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile(filepath.FromSlash(docs))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for name, list := range map[string]string{"checks": checkTable(t), "mutants": mutantTable()} {
		begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->"
		before, rest, ok := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s lacks the markers of %s", docs, name)
		}
		text = before + begin + list + end + after
	}
	if *update {
		if err := os.WriteFile(filepath.FromSlash(docs), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text != string(data) {
		t.Errorf("%s is not up to date: run the test with -update", docs)
	}
}

func checkTable(t *testing.T) string {
	t.Helper()
	checks, err := Checks(nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	group := ""
	for _, c := range checks {
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(&b, "\n### %s\n\n| check | level | spec | promise |\n|---|---|---|---|\n", group)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.ID, c.Level, c.Section, escapeCell(c.Sentence))
	}
	return b.String() + "\n"
}

func mutantTable() string {
	var b strings.Builder
	b.WriteString("\n| mutant | what is broken | caught by |\n|---|---|---|\n")
	for _, m := range mutants() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", m.name, escapeCell(m.defect), strings.Join(m.caughtBy, ", "))
	}
	return b.String() + "\n"
}
