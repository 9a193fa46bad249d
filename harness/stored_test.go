package harness

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/scorer"
)

// TestStored checks that answers which are scored again are recorded as they were, errors included.
func TestStored(t *testing.T) {
	d := openDataset(t, writeDataset(t, 12))
	cfg := setUp(t, mixed(t), d, t.TempDir())
	_, path, err := cfg.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	was := readResult(t, path)
	stored, err := OpenStored(path)
	if err != nil {
		t.Fatal(err)
	}
	id := was.Identity
	id.Rescored = &result.Rescored{SHA256: stored.SHA256, Scorer: id.Scorer}
	data, err := dataset.FromQuestions("q", id.Dataset.SHA256, stored.Questions())
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.CreateNamed(t.TempDir(), "go.rescored", id, started, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	_, path, err = Run(t.Context(), Config{
		Asker: stored, TopK: 5, Dataset: data, Brains: stored.Brains(), Scorer: scorer.Exact{},
		Concurrency: 3, Timeout: questionTime, Settings: was.Settings,
	}, j)
	if err != nil || !strings.HasSuffix(path, "go.rescored.json") {
		t.Fatal(path, err)
	}
	is := readResult(t, path)
	if was.Counts.Errors == 0 || was.Counts.Passed == 0 {
		t.Fatalf("%+v has not every outcome", was.Counts)
	}
	if diff := cmp.Diff(was.Questions, is.Questions); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(was.Latency, is.Latency); diff != "" || was.Counts != is.Counts {
		t.Errorf("%s%+v %+v", diff, was.Counts, is.Counts)
	}
}

// TestStoredRefuses checks that answers which are not all there are not scored again.
func TestStoredRefuses(t *testing.T) {
	golden, err := os.ReadFile("testdata/result.json")
	if err != nil {
		t.Fatal(err)
	}
	stopped := strings.Replace(string(golden), `"stopped": ""`, `"stopped": "interrupted"`, 2)
	path := t.TempDir() + "/go.json"
	if err := os.WriteFile(path, []byte(stopped), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStored(path); err == nil || !strings.Contains(err.Error(), "stopped (interrupted)") {
		t.Errorf("got %v", err)
	}
}
