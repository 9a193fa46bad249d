package spelling_test

import (
	"testing"

	"pgregory.net/rapid"

	"evalctl/internal/spelling"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"floor", "floor", 0}, {"florr", "floor", 1}, {"flor", "floor", 1},
		{"kitten", "sitting", 3}, {"dataset", "datsaet", 2}, {"ab", "ba", 2},
	} {
		if got := spelling.Distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestDistanceIsMetric checks symmetry, the triangle inequality, and that only equal texts have the
// distance 0.
func TestDistanceIsMetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 0, 6, -1)
		a, b, c := text.Draw(t, "a"), text.Draw(t, "b"), text.Draw(t, "c")
		d := spelling.Distance(a, b)
		if d != spelling.Distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) {
			t.Errorf("%q and %q: got %d, and %d swapped", a, b, d, spelling.Distance(b, a))
		}
		if via := spelling.Distance(a, c) + spelling.Distance(c, b); via < d {
			t.Errorf("%q to %q: got %d, and %d by %q", a, b, d, via, c)
		}
	})
}
