package result

import (
	"testing"
)

func TestSummaryOfNothing(t *testing.T) {
	if got := (&Result{SDK: "ts"}).Summary("r.json"); got != "ts: 0/0 pass_rate=n/a mean_score=n/a -> r.json" {
		t.Errorf("got %s", got)
	}
}
