package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestAgreement(t *testing.T) {
	for _, c := range []struct {
		a                    Pairs
		po, kappa, pabak, ac float64
	}{
		{Pairs{20, 5, 10, 15}, .7, 2. / 5, .4, .405941},
		{Pairs{45, 15, 25, 15}, .6, 3. / 23, .2, .266055},
		{Pairs{25, 35, 5, 35}, .6, 7. / 27, .2, .207921},
		{Pairs{118, 5, 2, 0}, .944, -4. / 171, .888, .940776}, // high agreement, kappa below 0
		{Pairs{10, 0, 0, 10}, 1, 1, 1, 1},
		{Pairs{0, 10, 10, 0}, 0, -1, -1, -1},
		{Pairs{7, 0, 0, 0}, 1, math.NaN(), 1, 1}, // one verdict for all
		{Pairs{0, 0, 0, 7}, 1, math.NaN(), 1, 1},
		{Pairs{0, 7, 0, 0}, 0, 0, -1, -1},
		{Pairs{}, math.NaN(), math.NaN(), math.NaN(), math.NaN()},
		{Pairs{-1, 5, 5, 5}, math.NaN(), math.NaN(), math.NaN(), math.NaN()},
	} {
		checkAgreement(t, c.a, c.po, c.kappa, c.pabak, c.ac, 5.1e-7)
	}
}

func TestAgreementVectors(t *testing.T) {
	for _, v := range shared[struct {
		A, B, C, D       int
		Po, Kappa, PABAK float64
		AC1              float64 `json:"gwet_ac1"`
	}](t, "cohen_kappa") {
		checkAgreement(t, Pairs{v.A, v.B, v.C, v.D}, v.Po, v.Kappa, v.PABAK, v.AC1, 1e-14)
	}
}

func checkAgreement(t *testing.T, a Pairs, po, kappa, pabak, ac, tolerance float64) {
	t.Helper()
	for _, m := range []struct {
		name      string
		got, want float64
	}{{"Observed", a.Observed(), po}, {"Kappa", a.Kappa(), kappa}, {"PABAK", a.PABAK(), pabak}, {"AC1", a.AC1(), ac}} {
		if !near(m.got, m.want, tolerance) && !(math.IsNaN(m.got) && math.IsNaN(m.want)) {
			t.Errorf("%+v: %s is %v, want %v", a, m.name, m.got, m.want)
		}
	}
}

// The coefficients do not depend on which rater is the first and which verdict is a pass.
func TestAgreementIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 1000)
		a := Pairs{count.Draw(t, "a"), count.Draw(t, "b"), count.Draw(t, "c"), 1 + count.Draw(t, "d")}
		for _, other := range []Pairs{
			{a.Both, a.Second, a.First, a.Neither},
			{a.Neither, a.First, a.Second, a.Both},
		} {
			same := func(x, y float64) bool { return near(x, y, 1e-12) || math.IsNaN(x) && math.IsNaN(y) }
			if !same(a.Kappa(), other.Kappa()) || !same(a.PABAK(), other.PABAK()) || !same(a.AC1(), other.AC1()) {
				t.Fatalf("%+v and %+v differ", a, other)
			}
		}
		if k := a.Kappa(); k > 1 || k < -1 || a.AC1() > 1 || a.AC1() < -1 {
			t.Fatalf("%+v: kappa %v, AC1 %v", a, k, a.AC1())
		}
	})
}
