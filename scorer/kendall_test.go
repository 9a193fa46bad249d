package scorer

import (
	"math"
	"testing"
)

// TestKendallTauB has the example of SciPy's documentation of kendalltau, -0.4714045207910316, and
// values computed with SciPy 1.17.
func TestKendallTauB(t *testing.T) {
	for _, c := range []struct {
		x, y []int
		want float64
	}{
		{[]int{12, 2, 1, 12, 2}, []int{1, 4, 7, 1, 0}, -0.4714045207910316},
		{[]int{1, 2, 3, 4}, []int{1, 2, 3, 4}, 1},
		{[]int{1, 2, 3, 4}, []int{4, 3, 2, 1}, -1},
		{[]int{1, 2, 3, 5}, []int{1, 5, 2, 5}, 0.5477225575051661},
		{[]int{1, 1, 1}, []int{1, 2, 3}, math.NaN()},
		{[]int{1}, []int{1}, math.NaN()},
		{nil, nil, math.NaN()},
		{[]int{1, 2}, []int{1}, math.NaN()},
	} {
		if got := kendallTauB(c.x, c.y); math.Abs(got-c.want) > 1e-15 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("%v and %v: %v, want %v", c.x, c.y, got, c.want)
		}
	}
}
