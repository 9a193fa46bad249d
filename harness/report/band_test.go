package report

import "testing"

func TestBand(t *testing.T) {
	scale := bands{0.5, 1}
	for _, c := range []struct {
		low, rate, high float64
		want            string
	}{
		{0.5, 0.5, 1, "●───────────────────────"},
		{0.5, 1, 1, "───────────────────────●"},
		{0.7, 0.75, 0.8, "·········───●──·········"},
		{0.5, 0.5, 0.5, "●·······················"},
		{0, 1, 2, "───────────────────────●"}, // outside the scale
	} {
		if got := scale.draw(c.low, c.rate, c.high); got != c.want {
			t.Errorf("%v: got %q, want %q", c, got, c.want)
		}
	}
	if got := (bands{1, 1}).draw(1, 1, 1); got != "●·······················" {
		t.Errorf("a scale without width: %q", got)
	}
}
