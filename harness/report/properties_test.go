package report

import (
	"slices"
	"testing"

	"evalctl/harness/result"
)

// TestDaemonProperties: a suite says what the daemon got, and what it did without its models.
func TestDaemonProperties(t *testing.T) {
	var run Run
	run.Result.Settings.DaemonEnv = &result.DaemonEnv{Withheld: []string{"A_TOKEN"}, Passed: []string{"B_TOKEN"}}
	silent := &result.ModelRequests{Silent: []result.GeneratedKind{result.Facts}}
	run.Result.Replay = &result.Replay{ModelRequests: silent}
	for _, want := range []property{
		{"daemon_env", "passed on B_TOKEN (no cap limits what the daemon pays with it); withheld A_TOKEN"},
		{"model_request_warnings", requestWarnings(silent)[0]},
	} {
		if got := properties(&run); !slices.Contains(got, want) {
			t.Errorf("%+v lacks %+v", got, want)
		}
	}
}
