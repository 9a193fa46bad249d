package result

import "testing"

func TestIntervalText(t *testing.T) {
	for _, tt := range []struct {
		of   *Interval
		want string
	}{
		{nil, "no interval"},
		{&Interval{Method: MethodWilson, Confidence: 0.95, Low: 0.8123, High: 0.968}, "95% CI 0.812–0.968 (Wilson)"},
		{&Interval{Method: MethodClustered, Confidence: 0.975, Low: 0, High: 1}, "97.5% CI 0.000–1.000 (clustered t)"},
		{&Interval{Method: "\x1b[31m", Confidence: 0.95, Low: 0, High: 1}, "95% CI 0.000–1.000"},
	} {
		if got := tt.of.Text(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
