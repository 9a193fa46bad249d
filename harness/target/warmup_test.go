package target

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

// TestWarmUp checks that the first questions are asked and one of every brain, and that failures
// are ignored.
func TestWarmUp(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		http.Error(w, "no", http.StatusBadRequest)
	})
	var lines strings.Builder
	for i := range 30 {
		brain := ""
		if i >= 25 && i != 27 {
			brain = `,"brain":"late"`
		}
		fmt.Fprintf(&lines, `{"id":"q%d","question":"question %d"%s}`+"\n", i+1, i+1, brain)
	}
	path := filetest.Write(t, filepath.Join(t.TempDir(), "questions.jsonl"), lines.String())
	accept := func(dataset.Question) error { return nil }
	d, err := dataset.Open(path, dataset.Options{Naming: dataset.BrainNaming{Default: "eval"}, Check: accept})
	if err != nil {
		t.Fatal(err)
	}
	target := targetOf(t, s)
	target.Scenario = result.SearchOnly
	target.Brains = map[string]string{"eval": "eval", "late": "late"}
	asked, err := target.WarmUp(t.Context(), d, time.Minute)
	calls := s.Calls()
	if err != nil || asked != 21 || len(calls) != 21 ||
		calls[20].Path != "/v1/brains/late/search" || calls[20].Body["query"] != "question 26" {
		t.Errorf("asked %d in %d calls, %v", asked, len(calls), err)
	}
}
