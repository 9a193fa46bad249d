package wording

import (
	"testing"

	"evalctl/harness/result"
)

func TestIntervalText(t *testing.T) {
	for _, tt := range []struct {
		of   *result.Interval
		want string
	}{
		{nil, "no interval"},
		{&result.Interval{Method: result.MethodWilson, Confidence: 0.95, Low: 0.8123, High: 0.968}, "95% CI 0.812–0.968 (Wilson)"},
		{&result.Interval{Method: result.MethodClustered, Confidence: 0.975, Low: 0, High: 1}, "97.5% CI 0.000–1.000 (clustered t)"},
		{&result.Interval{Method: "\x1b[31m", Confidence: 0.95, Low: 0, High: 1}, "95% CI 0.000–1.000 (another method)"},
	} {
		if got := Interval(tt.of); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
