package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func counted(n int) (units []int) {
	for i := range n {
		units = append(units, i)
	}
	return units
}

// A family of one figure, however often it is repeated, has the p-value of its sign-flip test.
func TestFlipFamilyOfOneFigure(t *testing.T) {
	for _, d := range [][]float64{{.2, .1, -.1, .3, 0, .25, .4, .1}, {1, 1, 1, 1, 1, 1}, {-2, 1}, {0, 0, 0}} {
		f := Flips{d, counted(len(d))}
		want, _ := SignFlip(d, 0, 1)
		for _, p := range FlipFamily([]Flips{f, f, f}, 1<<16, 1) {
			if math.Abs(p-want) > 4*math.Sqrt(want*(1-want)/(1<<16))+1e-4 {
				t.Errorf("%v: p is %v, and %v on its own", d, p, want)
			}
		}
	}
}

// Independent figures are adjusted as much as Holm's step-down method with the exact product would,
// and the value of a clearer one is never above that of one that is less clear.
func TestFlipFamilyOfIndependentFigures(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	const n, figures = 12, 4
	var family []Flips
	own := make([]float64, figures)
	for k := range figures {
		d := make([]float64, n)
		units := make([]int, n)
		for i := range d {
			d[i], units[i] = random.NormFloat64()+0.35*float64(k), k*n+i
		}
		own[k], _ = SignFlip(d, 0, 1)
		family = append(family, Flips{d, units})
	}
	adjusted := FlipFamily(family, 1<<16, 3)
	for k, p := range adjusted {
		less := 0 // figures that are not clearer, itself included
		for _, q := range own {
			if q >= own[k] {
				less++
			}
		}
		lowest := 1 - math.Pow(1-own[k], float64(less)) // each has another number of ties
		if p < own[k]-0.005 || p > 1-math.Pow(1-own[k], figures)+0.05 || lowest > p+0.05 {
			t.Errorf("figure %d: p is %.4f, adjusted %.4f", k, own[k], p)
		}
		for j := range adjusted {
			if own[j] < own[k]-0.01 && adjusted[j] > p {
				t.Errorf("figure %d is clearer than %d and has %.4f, more than %.4f", j, k, adjusted[j], p)
			}
		}
	}
	if again := FlipFamily(family, 1<<16, 3); again[0] != adjusted[0] {
		t.Error("the same arguments have another result")
	}
}
