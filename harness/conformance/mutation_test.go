package conformance

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/internal/longtest"
)

// heavyChecks move megabytes. They run only against mutants that they must catch.
var heavyChecks = []string{
	"limits-put-*", "limits-append-*", "limits-batch-8mib-*", "limits-listing-*", "limits-gzip-counted-unpacked",
	"listing-many*", "sessions-content-1000000",
}

// sampleEvery is the sampling interval of the checks that a mutant should pass in a normal run.
// Each check runs against several mutants all the same.
const sampleEvery = 240

func matchesAny(globs []string, id string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		ok, err := path.Match(g, id)
		return ok && err == nil
	})
}

// TestMutants runs checks against daemons with one defect each: the checks that name the defect
// must fail, and unrelated ones must pass.
func TestMutants(t *testing.T) {
	t.Parallel()
	all, err := Checks(Full, nil)
	if err != nil {
		t.Fatal(err)
	}
	every := longtest.Rounds(sampleEvery, 60)
	for n, m := range mutants() {
		if testing.Short() && n%10 != 0 {
			continue // with the race detector, a few show what is concurrent
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			var mayFail, others []string
			for i, c := range all {
				switch {
				case slices.Contains(m.caughtBy, c.ID), matchesAny(heavyChecks, c.ID):
				case matchesAny(m.alsoFails, c.ID), c.Group == "evaluable": // it is about what others are about too
					if *full {
						mayFail = append(mayFail, c.ID)
					}
				case *full || i%every == n%every:
					others = append(others, c.ID)
				}
			}
			caughtWithin := timeout
			if slices.Contains(slowToFail, m.name) {
				caughtWithin = 2 * time.Second
			}
			o := authOptions(serve(t, keys(t), m.wrap))
			o.Parallel = 2
			results := slices.Concat(
				runOnly(t, o, others, timeout, timeout),
				runOnly(t, o, mayFail, time.Second, time.Second), // a timeout is as good as another failure
				runOnly(t, o, m.caughtBy, caughtWithin, time.Second))
			checkMutant(t, m, results)
		})
	}
}

// runOnly runs some checks, or none if only is empty. The daemon has a timeout for each response,
// and a time for what it does in the background.
func runOnly(t *testing.T, o Options, only []string, timeout, within time.Duration) []Result {
	t.Helper()
	if len(only) == 0 {
		return nil
	}
	o.Only, o.Timeout, o.within = only, timeout, within
	return run(t, o).Results
}

// slowToFail are the mutants that let the checks that catch them wait until their timeout.
var slowToFail = []string{
	"ready-lost", "search-stale", "search-path-lost", "mcp-remember-forgets",
	"ingest-markdown-unread", "ingest-text-unread", "ingest-json-unread", "ingest-pdf-unread",
}

func checkMutant(t *testing.T, m mutant, results []Result) {
	t.Helper()
	var failed []string
	for _, res := range results {
		if res.Verdict != Broken {
			continue
		}
		failed = append(failed, res.ID)
		if !slices.Contains(m.caughtBy, res.ID) && !matchesAny(m.alsoFails, res.ID) && res.Group != "evaluable" {
			t.Errorf("unrelated check %s failed: %s [%s]", res.ID, res.Detail, res.Request)
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
		t.Error("no check must catch this mutant")
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
