package harness_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"evalctl/harness"
	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/filetest"
	"evalctl/scorer"
)

func ExampleDrive() {
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		daemontest.Stream(w, daemontest.AnswerTo("question 1"))
	}))
	defer daemon.Close()
	dir, err := os.MkdirTemp("", "drive")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "q.jsonl")
	line := `{"id":"q1","question":"question 1","expected_substrings":["answer 1"]}`
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	all := func(dataset.Question) error { return nil }
	d, err := dataset.Open(file, dataset.Options{Naming: dataset.BrainNaming{Default: "notes"}, Check: all})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := target.NewEndpoint(daemon.URL, "", "example", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	res, err := harness.Drive(context.Background(), harness.Config{
		Subject: harness.Subject{Timeout: 2 * time.Minute, Target: &target.Target{
			Service: e, Brains: map[string]string{"notes": "notes"},
			Scenario: result.AskBasic, Mode: "auto", TopK: 5, Dialect: result.Auto,
		}},
		TopK: 5, Dataset: d, Scorer: pipeline.Grader{Scorer: scorer.Exact{}}, Concurrency: 1, Observer: printer{},
	}, result.Identity{SDK: "go"})
	fmt.Println(res.Passed, "of", res.Total, err)
	// Output:
	// q1 answer 1 true
	// 1 of 1 <nil>
}

// printer is a pipeline.Observer that prints finished records.
type printer struct{}

func (printer) Asking(string, bool) {}

func (printer) Recorded(r result.Record) { fmt.Println(r.ID, r.Answer, r.Passed) }

// TestDriveStopped checks that answers that wait for a grade are counted when a scorer ends a run
// without a journal.
func TestDriveStopped(t *testing.T) {
	s := daemontest.Answering(t)
	file := filepath.Join(t.TempDir(), "q.jsonl")
	lines := `{"id":"q1","question":"question 1"}` + "\n" + `{"id":"q2","question":"question 2"}`
	filetest.Write(t, file, lines)
	all := func(dataset.Question) error { return nil }
	d, err := dataset.Open(file, dataset.Options{Check: all})
	if err != nil {
		t.Fatal(err)
	}
	e, err := target.NewEndpoint(s.URL, "", "example", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	boom := errors.New("boom")
	res, err := harness.Drive(t.Context(), harness.Config{
		Subject: harness.Subject{Timeout: 2 * time.Minute, Target: &target.Target{
			Service: e, Brains: map[string]string{"": "b"},
			Scenario: result.AskBasic, TopK: 5, Dialect: result.Auto,
		}},
		TopK: 5, Dataset: d, Scorer: pipeline.Grader{Scorer: failing{boom}}, Concurrency: 1,
	}, result.Identity{SDK: "go"})
	if !errors.Is(err, boom) || res.Stopped != result.StopScorer ||
		res.Counts.Unscored != 1 || res.Cost.SpentUSD != 9 {
		t.Errorf("got %+v, %v", res, err)
	}
}

// failing is a scorer that always fails, at a cost.
type failing struct{ err error }

func (failing) Name() string            { return "failing" }
func (failing) Check(scorer.Item) error { return nil }
func (f failing) Score(context.Context, scorer.Item) (scorer.Verdict, error) {
	return scorer.Verdict{Attempts: 1, Cost: 9}, f.err
}

func ExampleOpen() {
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"ok":true,"version":"1.4.0"}`)
	}))
	defer daemon.Close()
	session, err := harness.Open(context.Background(), harness.SessionConfig{
		Endpoint: daemon.URL, UserAgent: "example", Concurrency: 4,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := session.Watch(context.Background())
	version, err := session.Service().Health(ctx)
	fmt.Println(version, session.Started(), err)
	stop()
	fmt.Println(session.Close())
	// Output:
	// 1.4.0 false <nil>
	// <nil>
}
