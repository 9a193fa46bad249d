package harness

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/filetest"
	"evalctl/scorer"
)

// TestStored checks that answers which are scored again are recorded as they were, errors included.
func TestStored(t *testing.T) {
	d := openDataset(t, writeDataset(t, 12))
	cfg := setUp(t, mixed(t), d, t.TempDir())
	path := cfg.finish(t)
	was := readResult(t, path)
	stored, err := OpenStored(path)
	if err != nil {
		t.Fatal(err)
	}
	id := was.Identity
	id.Rescored = &result.RescoreSource{SHA256: stored.SHA256, Scorer: id.Scorer}
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
		Subject: Subject{Records: stored}, TopK: 5, Dataset: data, Scorer: pipeline.Grader{Scorer: scorer.Exact{}},
		Concurrency: 3, Notes: Notes{Settings: was.Settings},
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
	golden := filetest.Read(t, "testdata/result.json")
	stopped := strings.Replace(string(golden), `"stopped": ""`, `"stopped": "interrupted"`, 2)
	path := filetest.Write(t, t.TempDir()+"/go.json", stopped)
	if _, err := OpenStored(path); err == nil || !strings.Contains(err.Error(), "stopped (interrupted)") {
		t.Errorf("got %v", err)
	}
}

// TestFelt checks that what a question waited for is recorded apart from the answering attempt, and
// that a stored answer keeps it.
func TestFelt(t *testing.T) {
	q := dataset.Question{ID: "a"}
	for _, c := range []struct {
		waited time.Duration
		want   *float64
	}{{0, nil}, {100 * time.Nanosecond, nil}, {3 * time.Second, new(3012.345)}} {
		a := target.Answer{Reply: result.Reply{Attempts: 2}, Latency: 12345 * time.Microsecond, Waited: c.waited}
		r := pipeline.NewRecord(q, a, nil)
		if diff := cmp.Diff(c.want, r.FeltMS); diff != "" || r.LatencyMS != 12.345 {
			t.Errorf("%v: latency %v, felt %s", c.waited, r.LatencyMS, diff)
		}
		s := &StoredAnswers{records: []result.Record{r}, byID: map[result.AskedID]int{{ID: "a"}: 0}}
		again, err := s.Ask(t.Context(), pipeline.Job{Question: q})
		if diff := cmp.Diff(r, again); diff != "" || err != nil {
			t.Errorf("%v: %v %s", c.waited, err, diff)
		}
	}
}
