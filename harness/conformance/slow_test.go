package conformance

import (
	"net/http"
	"testing"
	"time"
)

// A check may take much longer than the time for one answer, if the daemon answers in that time.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	slow := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(100 * time.Millisecond)
			next.ServeHTTP(w, r)
		})
	}
	o := authOptions(serve(t, keys(t), slow))
	o.Only, o.Timeout = []string{"events-commit-order", "search-top-k"}, 2*time.Second
	r := run(t, o)
	for _, res := range r.Results {
		if res.Verdict != Kept || res.Alone {
			t.Errorf("%s is %s, alone %v: %s", res.ID, res.Verdict, res.Alone, res.Detail)
		}
	}
	if took := r.Results[0].DurationMS; took < 2000 {
		t.Errorf("%s took only %v ms: the test tests nothing", r.Results[0].ID, took)
	}
}
