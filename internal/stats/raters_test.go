package stats

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestFleiss(t *testing.T) {
	for _, c := range []struct {
		name   string
		counts [][]int
		want   float64
	}{
		// Two raters of three items who agree on two: P 2/3, Pe 1/2.
		{"by hand", [][]int{{2, 0}, {0, 2}, {1, 1}}, 1. / 3},
		{"full agreement", [][]int{{3, 0}, {0, 3}}, 1},
		{"no agreement", [][]int{{1, 1}, {1, 1}}, -1},
		{"one category", [][]int{{2, 0}, {2, 0}}, math.NaN()},
		{"one rater", [][]int{{1, 0}, {0, 1}}, math.NaN()},
		{"different numbers of raters", [][]int{{2, 0}, {0, 3}}, math.NaN()},
		{"different numbers of categories", [][]int{{2, 0}, {0, 2, 0}}, math.NaN()},
		{"a negative count", [][]int{{3, -1}, {1, 1}}, math.NaN()},
		{"none", nil, math.NaN()},
	} {
		expect(t, c.name, Fleiss(c.counts), c.want, 1e-14)
	}
}

func TestFleissVectors(t *testing.T) {
	for _, v := range shared[struct {
		M    [][]int
		Want [3]float64 `json:"kappa_P_Pe"`
	}](t, "fleiss_wikipedia") {
		expect(t, "kappa", Fleiss(v.M), v.Want[0], 1e-14)
		expect(t, "kappa from P and Pe", Fleiss(v.M), (v.Want[1]-v.Want[2])/(1-v.Want[2]), 1e-14)
	}
}

func TestKrippendorff(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name     string
		units    [][]float64
		interval bool
		want     float64
	}{
		{"always apart", [][]float64{{0, 1}, {0, 1}, {1, 0}, {1, 0}}, false, -3. / 4},
		{"one rater apart once", [][]float64{{1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {0, 0, 1}}, false, 24. / 35},
		{"a rating is missing", [][]float64{{1, 1, 0}, {0, 0}}, false, 1. / 3},
		{"a rating is NaN", [][]float64{{1, nan, 1, 0}, {0, 0, nan}, {1, nan}, nil}, false, 1. / 3},
		{"interval", [][]float64{{1, 2}, {3, 4}, {1, 1}}, true, 19. / 24},
		{"full agreement", [][]float64{{1, 1}, {0, 0}}, false, 1},
		{"all the same", [][]float64{{1, 1}, {1, 1}}, false, nan},
		{"all the same, interval", [][]float64{{1, 1}, {1, 1}}, true, nan},
		{"no pair", [][]float64{{1}, {0}}, false, nan},
		{"none", nil, true, nan},
	} {
		expect(t, c.name, Krippendorff(c.units, c.interval), c.want, 1e-14)
	}
}

func TestKrippendorffVectors(t *testing.T) {
	for _, v := range shared[struct {
		Units [][]float64
		Level string
		Alpha float64 `json:"alpha_f"`
	}](t, "krippendorff") {
		expect(t, fmt.Sprintf("%v, %s", v.Units, v.Level), Krippendorff(v.Units, v.Level == "interval"), v.Alpha, 1e-14)
	}
}

func TestKrippendorffCanonicalData(t *testing.T) {
	for _, v := range shared[struct {
		Data              [][]*float64 // by rater
		Nominal, Interval float64
	}](t, "krippendorff_canonical_2011") {
		units := make([][]float64, len(v.Data[0]))
		for _, rater := range v.Data {
			for i, r := range rater {
				if r == nil {
					units[i] = append(units[i], math.NaN())
				} else {
					units[i] = append(units[i], *r)
				}
			}
		}
		expect(t, "nominal", Krippendorff(units, false), v.Nominal, 1e-14)
		expect(t, "interval", Krippendorff(units, true), v.Interval, 1e-14)
	}
}

// Alpha is at most 1, whatever the order of raters and the scale; of two raters with the same
// number of ratings each, it is near kappa's relatives: two categories make both levels equal.
func TestKrippendorffProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1, math.NaN()}), 0, 5), 1, 12).Draw(t, "units")
		reversed := make([][]float64, len(units))
		for i, unit := range units {
			for _, r := range unit {
				reversed[i] = append([]float64{7 - 3*r}, reversed[i]...)
			}
		}
		for _, interval := range []bool{false, true} {
			alpha := Krippendorff(units, interval)
			if alpha > 1 || !same(alpha, Krippendorff(reversed, interval), 1e-9) || !same(alpha, Krippendorff(units, !interval), 1e-9) {
				t.Fatalf("alpha %v, reversed %v, other level %v", alpha, Krippendorff(reversed, interval), Krippendorff(units, !interval))
			}
		}
	})
}
