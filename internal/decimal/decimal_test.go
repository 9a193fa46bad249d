package decimal_test

import (
	"math"
	"strings"
	"testing"

	"evalctl/internal/decimal"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "-0": 0, "-0.0e5": 0, "0.5": 0.5, ".5": 0.5, "1.": 1, "+2": 2, "-1.5e3": -1500, "1E2": 100, "1e15": 1e15, "1e-999": 0,
	} {
		got, err := decimal.Parse(text)
		if err != nil || got != want || math.Signbit(got) != (want < 0) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", " ", " 1", "NaN", "nan", "Inf", "-inf", "+Infinity", "0x1p-2", "0x10", "1_000", "1e", "e", "e1", "-", ".", "1,5", "1.2.3", "high", "\u0661",
	} {
		if got, err := decimal.Parse(text); err == nil || !strings.Contains(err.Error(), "is not a number") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"1e999", "-1e999", "1.1e15", "-2e15", strings.Repeat("9", 4000)} {
		if got, err := decimal.Parse(text); err == nil || !strings.Contains(err.Error(), "is beyond 1e+15") || len(err.Error()) > 200 {
			t.Errorf("%.20s: %v, %v", text, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("1e999")
	f.Add("NaN")
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := decimal.Parse(text); err == nil && !(math.Abs(n) <= decimal.Most) {
			t.Errorf("%q is %v", text, n)
		}
	})
}
