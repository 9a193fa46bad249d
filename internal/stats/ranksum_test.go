package stats

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

func TestMannWhitneyExact(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	nan := math.NaN()
	for _, c := range []struct {
		x, y []float64
		u, p float64
	}{
		{[]float64{-1, -1, -1}, []float64{1, 1, 1}, 0, .1},
		{[]float64{-1, -1, -1, -1}, []float64{1, 1, 1, 1}, 0, .028571},
		{[]float64{1, -1, -1, -1}, []float64{-1, 1, 1, 1}, 4, .485714},
		{[]float64{1, 2, 3, 4, 5}, []float64{4, 5, 6, 7, 8}, 2, .039683},
		{[]float64{5, 5, 5}, []float64{5, 5}, 3, 1},
		{[]float64{2}, []float64{1}, 1, 1},
		{nil, []float64{1}, nan, nan}, {[]float64{1}, nil, nan, nan}, {[]float64{nan}, []float64{1}, nan, nan},
		{make([]float64, 100), make([]float64, 21), 1050, nan},
	} {
		u, p := MannWhitneyExact(c.x, c.y)
		expect(t, fmt.Sprintf("%v, %v: U", c.x, c.y), u, c.u, 0)
		expect(t, fmt.Sprintf("%v, %v: p", c.x, c.y), p, c.p, 5.1e-7)
	}
	if _, p := MannWhitneyExact(upTo(60), upTo(60)); p != 1 {
		t.Errorf("p of the largest samples, which are equal, is %v", p)
	}
}

func TestMannWhitneyExactVectors(t *testing.T) {
	for _, v := range shared[struct {
		X, Y []float64
		U    float64
		P    float64 `json:"p_perm_exact"`
	}](t, "mann_whitney_exact") {
		u, p := MannWhitneyExact(v.X, v.Y)
		expect(t, fmt.Sprintf("%v, %v: U", v.X, v.Y), u, v.U, 0)
		expect(t, fmt.Sprintf("%v, %v: p", v.X, v.Y), p, v.P, 1e-14)
	}
}

// U counts pairs, and p the assignments that are as extreme, of all there are.
func TestMannWhitneyExactEnumerates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 4), func(n int) float64 { return float64(n) }), 1, 5)
		x, y := few.Draw(t, "x"), few.Draw(t, "y")
		pairs := func(x, y []float64) float64 {
			u := 0.0
			for _, a := range x {
				for _, b := range y {
					switch {
					case a > b:
						u++
					case a == b:
						u += .5
					}
				}
			}
			return u
		}
		all := append(append([]float64{}, x...), y...)
		mean := float64(len(x)*len(y)) / 2
		want, far, count := pairs(x, y), 0.0, 0.0
		for s := range uint(1) << len(all) {
			if bits.OnesCount(s) != len(x) {
				continue
			}
			var first, second []float64
			for i, v := range all {
				if s>>i&1 == 1 {
					first = append(first, v)
				} else {
					second = append(second, v)
				}
			}
			count++
			if math.Abs(pairs(first, second)-mean) >= math.Abs(want-mean) {
				far++
			}
		}
		u, p := MannWhitneyExact(x, y)
		if u != want || !near(p, far/count, 1e-12) {
			t.Fatalf("%v, %v: U %v, p %v; by enumeration %v, %v", x, y, u, p, want, far/count)
		}
		if u2, p2 := MannWhitneyExact(y, x); u2 != 2*mean-u || !near(p2, p, 1e-12) {
			t.Fatalf("the other way round: U %v, p %v", u2, p2)
		}
	})
}
