package report

import (
	"slices"
	"testing"

	"evalctl/harness/result"
)

// TestTimings: only latencies of answered questions are shown.
func TestTimings(t *testing.T) {
	r := result.Result{Latency: result.Quantiles{N: 3}, Felt: &result.Quantiles{N: 3}}
	var got []string
	for _, row := range timings(&r) {
		got = append(got, row.Name)
		if of := row.Of(&result.Record{Reply: result.Reply{LatencyMS: 5}}); of == nil || *of != 5 {
			t.Errorf("%s of a question is %v, want 5", row.Name, of)
		}
	}
	if want := []string{"done", "done, with waits"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
