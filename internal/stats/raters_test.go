package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// repeatedItems returns each item n times.
func repeatedItems(items map[int][]int) Ratings {
	var r Ratings
	for n, item := range items {
		for range n {
			r = append(r, item)
		}
	}
	return r
}

// TestRaters compares coefficients with those of irrCAC 0.4, which are rounded to ten digits.
func TestRaters(t *testing.T) {
	three := repeatedItems(map[int][]int{30: {0, 3}, 12: {1, 2}, 8: {2, 1}, 20: {3, 0}, 3: {1, 2}})
	textbook := Ratings{
		{0, 0, 0, 0, 14}, {0, 2, 6, 4, 2}, {0, 0, 3, 5, 6}, {0, 3, 9, 2, 0}, {2, 2, 8, 1, 1},
		{7, 7, 0, 0, 0}, {3, 2, 6, 3, 0}, {2, 5, 3, 2, 2}, {6, 5, 2, 1, 0}, {0, 2, 2, 3, 7},
	}
	two, skewed := Pairs{40, 9, 6, 45}, Pairs{118, 5, 2, 0}
	for _, tt := range []struct {
		name      string
		got, want Coefficient
	}{
		{"two Fleiss", two.ratings().Fleiss(nil, 0.95), Coefficient{0.6992481203, 0.0719443694, 0.556494883, 0.8420013576}},
		{"two AC1", two.AC1Interval(nil, 0.95), Coefficient{0.7007481297, 0.0717112606, 0.5584574309, 0.8430388285}},
		{"two kappa", two.KappaInterval(nil, 0.95), Coefficient{0.6995192308, 0.0717532705, 0.5571451752, 0.8418932864}},
		{"skewed Fleiss", skewed.ratings().Fleiss(nil, 0.95), Coefficient{-0.0288065844, 0.0109271434, -0.050434462, -0.0071787067}},
		{"skewed AC1", skewed.AC1Interval(nil, 0.95), Coefficient{0.9407763376, 0.0230569643, 0.8951401466, 0.9864125286}},
		{"skewed kappa", skewed.KappaInterval(nil, 0.95), Coefficient{-0.0233918129, 0.0123362006, -0.0478086094, 0.0010249836}},
		{"three Fleiss", three.Fleiss(nil, 0.95), Coefficient{0.5675652473, 0.0757721837, 0.4165161598, 0.7186143347}},
		{"three AC1", three.AC1(nil, 0.95), Coefficient{0.5915669978, 0.0728862516, 0.4462709108, 0.7368630847}},
		{"textbook Fleiss", textbook.Fleiss(nil, 0.95), Coefficient{0.2099307044, 0.0923711116, 0.0009727327, 0.4188886762}},
		{"textbook AC1", textbook.AC1(nil, 0.95), Coefficient{0.2256141508, 0.0933240745, 0.0145004273, 0.4367278743}},
	} {
		for i, pair := range [][2]float64{
			{tt.got.Value, tt.want.Value}, {tt.got.SE, tt.want.SE}, {tt.got.Lo, tt.want.Lo}, {tt.got.Hi, tt.want.Hi},
		} {
			if !(math.Abs(pair[0]-pair[1]) < 1e-9) {
				t.Errorf("%s: value %d is %v, want %v", tt.name, i, pair[0], pair[1])
			}
		}
	}
}

// TestRatersUndefined has no item, one kind of item, and items that do not fit.
func TestRatersUndefined(t *testing.T) {
	nan := math.IsNaN
	for name, r := range map[string]Ratings{
		"none": {}, "one rater": {{1, 0}}, "different raters": {{1, 1}, {2, 1}}, "one category": {{2}, {2}}, "negative": {{3, -1}, {1, 1}},
	} {
		if f, a := r.Fleiss(nil, 0.95), r.AC1(nil, 0.95); !nan(f.Value) || !nan(a.Value) || !nan(a.Lo) {
			t.Errorf("%s: %v, %v", name, f, a)
		}
	}
	alike := Pairs{Both: 20}
	if a := alike.AC1Interval(nil, 0.95); a.Value != 1 || !nan(a.Lo) {
		t.Errorf("AC1 of one verdict is %v", a)
	}
	if k := alike.KappaInterval(nil, 0.95); !nan(k.Value) {
		t.Errorf("kappa of one verdict is %v", k)
	}
	if k := (Pairs{}).KappaInterval(nil, 0.95); !nan(k.Value) {
		t.Errorf("kappa of nothing is %v", k)
	}
}

// TestRatersAgree compares the coefficients of two raters with those of Pairs, and that the order
// of categories does not matter.
func TestRatersAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int { return rapid.IntRange(0, 40).Draw(t, name) }
		a := Pairs{n("both"), n("first"), n("second"), n("none")}
		near := func(what string, x, y float64) {
			if math.IsNaN(x) != math.IsNaN(y) || math.Abs(x-y) > 1e-9 {
				t.Fatalf("%s of %+v: %v and %v", what, a, x, y)
			}
		}
		if a.Both+a.First+a.Second+a.Neither == 0 {
			return
		}
		near("kappa", a.Kappa(), a.KappaInterval(nil, 0.95).Value)
		near("AC1", a.AC1(), a.AC1Interval(nil, 0.95).Value)
		other := Pairs{a.Neither, a.Second, a.First, a.Both}
		near("SE", a.KappaInterval(nil, 0.95).SE, other.KappaInterval(nil, 0.95).SE)
		near("Fleiss", a.ratings().Fleiss(nil, 0.95).Value, other.ratings().Fleiss(nil, 0.95).Value)
	})
}

// TestRatersCoverage draws items of a known agreement, and counts how often the interval has it.
func TestRatersCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("it is a simulation")
	}
	cells := []float64{0.5, 0.08, 0.12, 0.3} // both, first, second, none
	p, q := cells[0]+cells[1], cells[0]+cells[2]
	pe := p*q + (1-p)*(1-q)
	truth := (cells[0] + cells[3] - pe) / (1 - pe)
	const runs, n = 2000, 100
	hit, rng := 0, rand.New(rand.NewPCG(7, 7))
	for range runs {
		var counts [4]int
		for range n {
			u := rng.Float64()
			for i, c := range cells {
				if u -= c; u < 0 || i == len(cells)-1 {
					counts[i]++
					break
				}
			}
		}
		k := Pairs{counts[0], counts[1], counts[2], counts[3]}.KappaInterval(nil, 0.95)
		if k.Lo <= truth && truth <= k.Hi {
			hit++
		}
	}
	if rate := float64(hit) / runs; rate < 0.93 || rate > 0.97 {
		t.Errorf("the interval of kappa has it in %.3f of the simulations", rate)
	}
}
