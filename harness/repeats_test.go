package harness

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/harness/wording"
)

// failing returns a daemon that gives a wrong answer if wrong says so, for the n-th time, from 1,
// that a question is asked.
func failing(t *testing.T, wrong func(question string, n int) bool) *daemontest.Daemon {
	var mu sync.Mutex
	asked := map[string]int{}
	return daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		question := c.Body["question"].(string)
		mu.Lock()
		asked[question]++
		n := asked[question]
		mu.Unlock()
		if wrong(question, n) {
			question = "question 0" // the answer is to another question
		}
		daemontest.Stream(w, daemontest.AnswerTo(question))
	})
}

func openWith(t *testing.T, n int, o dataset.Options) dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(writeDataset(t, n), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestRepeatedRun: a run that asks each question three times is read back with all its repeats, in
// order of the passes, and a resume asks only what is missing.
func TestRepeatedRun(t *testing.T) {
	d := openWith(t, 5, dataset.Options{
		Repeats: 3, Selection: dataset.Selection{IDs: []string{"q2", "q4", "q5"}},
	})
	s := failing(t, func(q string, n int) bool {
		return strings.HasSuffix(q, "4") && n == 2 || strings.HasSuffix(q, "5")
	})
	cfg := setUp(t, s, d, t.TempDir())
	cfg.Concurrency = 1 // so that the second answer is the second repeat's
	cfg.MaxFailures = 2
	_, _, err := cfg.run(t.Context())
	if !errors.Is(err, ErrMaxFailures) {
		t.Fatalf("got %v", err)
	}
	first := len(s.Asked())
	cfg = reopened(t, s, cfg)
	cfg.Concurrency = 1
	path := cfg.finish(t)
	if n := len(s.Asked()); n != 9 || first >= 9 {
		t.Errorf("asked %d questions, then %d in all, want 9", first, n)
	}
	f := readResult(t, path)
	var got []string
	for _, q := range f.Questions {
		got = append(got, fmt.Sprintf("%s/%d", q.ID, q.Repeat))
	}
	if want := "q2/1 q4/1 q5/1 q2/2 q4/2 q5/2 q2/3 q4/3 q5/3"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if f.Planned != 9 || f.Total != 9 || f.Passed != 5 || f.Clustered == nil || f.Clustered.Clusters != 3 {
		t.Errorf("got %d planned, %d of %d passed, clusters %+v", f.Planned, f.Passed, f.Total, f.Clustered)
	}
	want := &result.Repeats{K: 3, Questions: 3, Stable: 1, Never: 1,
		Flaky: []result.FlakyQuestion{{ID: "q4", Passed: 2, Asked: 3}}}
	got2 := *f.Repeats
	got2.At, got2.Rates, got2.QuestionVariance, got2.RunVariance = nil, nil, nil, nil
	if diff := cmp.Diff(want, &got2); diff != "" {
		t.Error(diff)
	}
	if wording.Selection(f.Identity.Dataset) != "3 of 5 questions (3 ids)" {
		t.Error(wording.Selection(f.Identity.Dataset))
	}
	readRepeats(t, path)
}

// readRepeats reads a result file with repeats as programs do.
func readRepeats(t *testing.T, path string) {
	t.Helper()
	if _, questions, err := resultfile.ReadAll(path); err != nil || len(questions) != 9 {
		t.Errorf("read %d questions: %v", len(questions), err)
	}
	failed, err := dataset.Failed(path)
	if err != nil || !cmp.Equal(failed, []string{"q5", "q4"}) {
		t.Errorf("failed: %v, %v", failed, err)
	}
}

// TestMaxFailures: the questions that are being asked finish, no other is asked, and a resume with
// the same limit asks nothing.
func TestMaxFailures(t *testing.T) {
	const n, limit = 40, 3
	d := openDataset(t, writeDataset(t, n))
	s := failing(t, func(q string, _ int) bool { return strings.HasSuffix(q, "2") })
	cfg := setUp(t, s, d, t.TempDir())
	cfg.MaxFailures = limit
	res, path, err := cfg.run(t.Context())
	if !errors.Is(err, ErrMaxFailures) || res.Stopped != result.StopMaxFailures {
		t.Fatalf("stopped %q, %v", res.Stopped, err)
	}
	asked := len(s.Asked())
	if failed := res.Total - res.Passed; failed < limit || failed >= limit+cfg.Concurrency || asked >= n {
		t.Errorf("%d questions failed, %d were asked", failed, asked)
	}
	if res.Total != asked {
		t.Errorf("%d of %d asked questions finished", res.Total, asked)
	}
	readResult(t, path)
	if g := res.Gate; g.Verdict != result.Inconclusive || g.Reason != result.ReasonStopped {
		t.Errorf("37 of 40 may still pass, which reaches 0.9: %+v", g)
	}
	again := func(limit int) (result.Result, error) {
		cfg = reopened(t, s, cfg)
		cfg.MaxFailures = limit
		res, _, err := cfg.run(t.Context())
		return res, err
	}
	if res, err := again(limit); !errors.Is(err, ErrMaxFailures) || len(s.Asked()) != asked || res.Total != asked {
		t.Errorf("resumed with the same limit: %d asked, %d finished, %v", len(s.Asked()), res.Total, err)
	}
	if res, err := again(5); err != nil || res.Total != n || res.Stopped != "" {
		t.Errorf("resumed with a higher limit: %d of %d, %v", res.Total, n, err)
	}
}
