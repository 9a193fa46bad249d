package target

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
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
	path := filepath.Join(t.TempDir(), "questions.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
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
