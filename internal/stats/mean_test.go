package stats

import (
	"math"
	"testing"
)

func TestMeanCI(t *testing.T) {
	for _, c := range []struct {
		n                            int
		mean, variance, conf, lo, hi float64
	}{
		{10, 4.5, 55.0 / 6, 0.95, 2.334149410, 6.665850590}, // 0 to 9
		{2, 0, 2, 0.95, -12.706204736, 12.706204736},
		{11, 1, 11, 0.95, 1 - 2.228138852, 1 + 2.228138852},
		{31, 0, 31, 0.95, -2.042272456, 2.042272456},
		{5, 0.5, 0, 0.95, 0.5, 0.5},
	} {
		lo, hi := MeanCI(c.n, c.mean, c.variance, c.conf)
		if !near(lo, c.lo, 1e-8) || !near(hi, c.hi, 1e-8) {
			t.Errorf("MeanCI(%d, %v, %v, %v) = %v, %v; want %v, %v", c.n, c.mean, c.variance, c.conf, lo, hi, c.lo, c.hi)
		}
	}
	for _, c := range []struct {
		n              int
		variance, conf float64
	}{{0, 1, 0.95}, {1, 0, 0.95}, {5, -1, 0.95}, {5, math.NaN(), 0.95}, {5, 1, 0}, {5, 1, 1}} {
		if lo, hi := MeanCI(c.n, 0, c.variance, c.conf); !math.IsNaN(lo) || !math.IsNaN(hi) {
			t.Errorf("MeanCI(%d, 0, %v, %v) = %v, %v; want NaN", c.n, c.variance, c.conf, lo, hi)
		}
	}
}

func TestMeanCIVectors(t *testing.T) {
	for _, v := range vectors[struct {
		DF int     `json:"df"`
		T  float64 `json:"t"`
	}](t, "t_ppf_975") {
		if _, hi := MeanCI(v.DF+1, 0, float64(v.DF+1), 0.95); !near(hi, v.T, 1e-8*v.T) {
			t.Errorf("t of %d degrees of freedom is %v, want %v", v.DF, hi, v.T)
		}
	}
}
