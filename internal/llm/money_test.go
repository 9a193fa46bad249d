package llm

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSaturation(t *testing.T) {
	for _, tt := range []struct{ got, want USD }{
		{USD(7).Times(3), 21}, {USD(7).Times(0), 0}, {USD(math.MaxInt64).Times(1), math.MaxInt64},
		{USD(math.MaxInt64).Times(2), math.MaxInt64}, {USD(math.MaxInt64 / 2).Times(math.MaxInt), math.MaxInt64},
		{USD(math.MaxInt64).Plus(1), math.MaxInt64}, {USD(1).Plus(math.MaxInt64 - 1), math.MaxInt64},
	} {
		if tt.got != tt.want {
			t.Errorf("got %d, want %d", tt.got, tt.want)
		}
	}
}

func TestParseUSD(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want USD
		str  string
	}{
		{"2", 2 * Dollar, "$2.00"},
		{"0.50", Dollar / 2, "$0.50"},
		{"0.0041", 4_100_000, "$0.0041"},
		{"0.000000001", 1, "$0.000000001"},
		{"007.10", 7*Dollar + Dollar/10, "$7.10"},
		{"9223372036.854775807", math.MaxInt64, "$9,223,000,000"},
	} {
		got, err := ParseUSD(tt.in)
		if err != nil || got != tt.want || got.String() != tt.str {
			t.Errorf("ParseUSD(%q) = %d (%s), %v; want %d (%s)", tt.in, got, got, err, tt.want, tt.str)
		}
	}
	for _, in := range []string{"", ".", "-1", "+1", "1.", ".5", "1e3", "NaN", "Inf", "0x10", "1_000", "$2", " 2", "1.2.3",
		"0.0000000001", "9223372036.854775808", "٣"} {
		if got, err := ParseUSD(in); err == nil {
			t.Errorf("ParseUSD(%q) = %s, want an error", in, got)
		}
	}
}

func TestUSDStringNegative(t *testing.T) {
	if got := (-Dollar / 2).String(); got != "-$0.50" {
		t.Errorf("got %s", got)
	}
	if got := USD(math.MinInt64).String(); got != "-$9,223,000,000" {
		t.Errorf("got %s", got)
	}
}

func TestUSDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := USD(rapid.Int64Range(0, math.MaxInt64).Draw(t, "nanos"))
		got, err := ParseUSD(want.Exact())
		if err != nil || got != want {
			t.Fatalf("ParseUSD(%s) = %d, %v; want %d", want, got, err, want)
		}
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var back USD
		if err := json.Unmarshal(b, &back); err != nil || back != want {
			t.Fatalf("JSON %s parses as %d, %v; want %d", b, back, err, want)
		}
	})
}

func FuzzParseUSD(f *testing.F) {
	for _, s := range []string{"2", "0.50", "", ".", "1.", "-1", "9223372036.854775807", "0.0000000001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseUSD(s)
		if err != nil {
			return
		}
		again, err := ParseUSD(u.Exact())
		if u < 0 || err != nil || again != u {
			t.Errorf("%q: %d, then %d, %v", s, u, again, err)
		}
	})
}

// TestUSDExponents checks that an amount in the notation with an exponent, as other programs write
// small numbers, is the one in plain notation.
func TestUSDExponents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := USD(rapid.OneOf(rapid.Int64Range(0, 1_000_000), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "nanos"))
		n := rapid.IntRange(-30, 30).Draw(t, "exponent")
		digits := strconv.FormatInt(int64(want), 10)
		// The point is moved n places to the left of where nano-dollars have it, which the exponent
		// moves back.
		point := len(digits) - n
		if point < 1 {
			digits, point = strings.Repeat("0", 1-point)+digits, 1
		}
		digits += strings.Repeat("0", max(0, point+1-len(digits)))
		in := strings.TrimLeft(digits[:point-1], "0") + digits[point-1:point] + "." + digits[point:] +
			rapid.SampledFrom([]string{"e", "E"}).Draw(t, "e") + strconv.Itoa(n-usdDigits)
		var got USD
		if err := json.Unmarshal([]byte(in), &got); err != nil || got != want {
			t.Fatalf("%s is %d, %v; want %d", in, got, err, want)
		}
	})
	for in, want := range map[string]USD{
		"8.31e-05": 83_100, "1e-9": 1, "1.50E+1": 15 * Dollar, "0e999999999": 0, "0.0e-999999999": 0, "92e08": 9_200_000_000 * Dollar,
	} {
		var got USD
		if err := json.Unmarshal([]byte(in), &got); err != nil || got != want {
			t.Errorf("%s is %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{
		"1e-10", "8.31e-8", "-1e-3", "1e10", "9.3e9", "1e99999999999999999999", "1e-99999999999999999999", "1e2147483647", `"1e-3"`, "null",
	} {
		var got USD
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("%s is %d, want an error", in, got)
		}
	}
}

// FuzzUSDExponents compares amounts in any notation with exact fractions.
func FuzzUSDExponents(f *testing.F) {
	for _, s := range []string{"8.31e-05", "1E+2", "0e5", "1e-10", "2", "-1e1", "1e", "e1", "1.e1", "1e1e1", "1e1.5", "0.1", "1e__1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got USD
		if len(s) > 40 || got.UnmarshalJSON([]byte(s)) != nil {
			return
		}
		want, ok := new(big.Rat).SetString(s)
		if !ok && strings.Contains(s, "e") {
			return // an exponent too large for a fraction, of 0
		}
		if !ok || want.Mul(want, big.NewRat(int64(Dollar), 1)).Cmp(big.NewRat(int64(got), 1)) != 0 {
			t.Errorf("%q is %d nano-dollars", s, got)
		}
	})
}

func TestRound(t *testing.T) {
	for in, want := range map[string][2]string{
		"0":                    {"$0.00", "$0.00"},
		"0.000000001":          {"$0.000000001", "$0.000000001"},
		"0.01107116":           {"$0.01107", "$0.01108"},
		"0.0132371":            {"$0.01324", "$0.01324"},
		"0.013235":             {"$0.01324", "$0.01324"},
		"2.215":                {"$2.215", "$2.215"},
		"2.2150001":            {"$2.215", "$2.216"},
		"9.9995":               {"$10.00", "$10.00"},
		"12.34":                {"$12.34", "$12.34"},
		"0.000012341":          {"$0.00001234", "$0.00001235"},
		"20":                   {"$20.00", "$20.00"},
		"100":                  {"$100", "$100"},
		"123.41":               {"$123.4", "$123.5"},
		"999.96":               {"$1,000", "$1,000"},
		"1234.05":              {"$1,234", "$1,235"},
		"12345.678":            {"$12,350", "$12,350"},
		"12344.678":            {"$12,340", "$12,350"},
		"9223372036.854775807": {"$9,223,000,000", "$9,223,000,000"},
	} {
		u, err := ParseUSD(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.String(); got != want[0] {
			t.Errorf("%s: rounded %s, want %s", in, got, want[0])
		}
		if got := u.RoundUp().String(); got != want[1] {
			t.Errorf("%s: rounded up %s, want %s", in, got, want[1])
		}
	}
}
