package stats

import (
	"math"
	"testing"
)

// TestSlope has the example of Anscombe (1973), whose first set has the slope 0.5001 with a standard
// error of 0.1179, and 9 degrees of freedom.
func TestSlope(t *testing.T) {
	xs := []float64{10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5}
	ys := []float64{8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68}
	slope, low, high := Slope(xs, ys, 0.95)
	if math.Abs(slope-0.5001) > 5e-5 || math.Abs((high-low)/2-2.262157*0.1179) > 2e-4 || math.Abs((high+low)/2-slope) > 1e-12 {
		t.Errorf("%v in %v to %v", slope, low, high)
	}
	if slope, low, high = Slope([]float64{1, 3}, []float64{5, 9}, 0.95); slope != 2 || !math.IsNaN(low) || !math.IsNaN(high) {
		t.Errorf("two values: %v in %v to %v", slope, low, high)
	}
	if slope, _, _ = Slope([]float64{1, 1}, []float64{5, 9}, 0.95); !math.IsNaN(slope) && !math.IsInf(slope, 0) {
		t.Errorf("equal xs: %v", slope)
	}
}
