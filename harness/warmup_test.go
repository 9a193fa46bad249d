package harness

import (
	"net/http"
	"testing"
	"time"

	"evalctl/harness/daemontest"
)

// TestWarmUp asks the first questions, and one of every brain; what fails there
// is no failure.
func TestWarmUp(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		http.Error(w, "no", http.StatusBadRequest)
	})
	var members []string
	for i := range 30 {
		brain := ""
		if i >= 25 && i != 27 {
			brain = `,"brain":"late"`
		}
		members = append(members, brain)
	}
	d, err := Survey(questionLines(t, members...), nil, Naming{Default: "eval"}, func(Question) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	target := targetOf(t, s)
	target.Scenario, target.Brains = SearchOnly, map[string]string{"eval": "eval", "late": "late"}
	asked, err := target.WarmUp(t.Context(), d, time.Minute)
	calls := s.Calls()
	if err != nil || asked != 21 || len(calls) != 21 || calls[20].Path != "/v1/brains/late/search" || calls[20].Body["query"] != "question 26" {
		t.Errorf("asked %d in %d calls, %v", asked, len(calls), err)
	}
}
