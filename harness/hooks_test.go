package harness

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"evalctl/harness/daemontest"
	"evalctl/harness/result"
)

// TestHooks: questions take their turn in order, each is reported while it is asked, and what
// Complete and Finish add is in the file. A failed question that Complete leaves out does not
// count.
func TestHooks(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		question, _ := c.Body["question"].(string)
		if strings.Contains(question, "question 2") {
			http.Error(w, "no", http.StatusTeapot)
			return
		}
		daemontest.Stream(w, daemontest.AnswerTo(question))
	})
	cfg := setUp(t, s, openDataset(t, writeDataset(t, 4)), t.TempDir())
	var mu sync.Mutex
	var asked []string
	open := map[string]bool{}
	cfg.AskingFor = func(id string, begin bool) {
		mu.Lock()
		defer mu.Unlock()
		if open[id] == begin {
			t.Errorf("%s: begin %v twice", id, begin)
		}
		open[id] = begin
		if begin {
			asked = append(asked, id)
		}
	}
	cfg.Complete = func(r *result.Record) {
		r.JudgeVerdict = result.Correct
		if r.Outcome == result.Errored {
			r.Original = &result.Original{Verdict: result.VerdictError, Reason: r.Error.Message}
			r.Outcome, r.Error, r.ExpectedPaths, r.JudgeVerdict = result.NoGold, nil, nil, ""
		}
	}
	ended, err := Measure(t.Context(), cfg.config(), cfg.Journal)
	if err != nil {
		t.Fatal(err)
	}
	ended.Result.Replay = nil
	ended.Result.GoldMissed = 7
	path, err := ended.Write()
	if err != nil {
		t.Fatal(err)
	}
	res := ended.Result
	slices.Sort(asked)
	if !slices.Equal(asked, []string{"q1", "q2", "q3", "q4"}) {
		t.Errorf("asked %q", asked)
	}
	if res.Counts.Errors != 0 || res.Counts.NoGold != 1 || res.Total != 3 || res.Stopped != "" {
		t.Errorf("got %+v", res.Counts)
	}
	f := readResult(t, path)
	if f.GoldMissed != 7 || f.Questions[0].JudgeVerdict != result.Correct || f.Questions[1].Outcome != result.NoGold ||
		f.Questions[1].Original == nil {
		t.Errorf("got %+v", f.Questions[:2])
	}
}
