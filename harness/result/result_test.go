package result

import "testing"

func TestSummaryWithoutQuestions(t *testing.T) {
	const want = "ts: 0/0 pass_rate=n/a mean_score=n/a -> r.json"
	if got := (&Result{SDK: "ts"}).Summary("r.json"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
