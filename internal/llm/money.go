package llm

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// USD is an amount of money in nano-dollars. It is an integer so that sums are exact and a cap is
// kept to the last digit.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1_000_000_000

const usdDigits = 9

// ParseUSD parses a plain decimal number of dollars such as "2" or "0.50", exactly. It rejects
// signs, exponents, more than nine decimals and amounts above 9.2 billion dollars.
func ParseUSD(s string) (USD, error) {
	whole, frac, hasPoint := strings.Cut(s, ".")
	if whole == "" || hasPoint && frac == "" || !allDigits(whole) || !allDigits(frac) {
		return 0, fmt.Errorf("%q is not an amount in dollars: write a plain number such as 2 or 0.50", s)
	}
	if len(frac) > usdDigits {
		return 0, fmt.Errorf("%q has more than %d decimals: amounts are counted in nano-dollars", s, usdDigits)
	}
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", usdDigits-len(frac)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q dollars is too large", s)
	}
	return USD(n), nil
}

// ParseCap parses a maximum cost, which is nil if the text is "off".
func ParseCap(text string) (*USD, error) {
	if text == "off" {
		return nil, nil
	}
	limit, err := ParseUSD(text)
	if err != nil {
		return nil, fmt.Errorf("%w, or off for no cap", err)
	}
	return &limit, nil
}

func allDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// Exact returns the amount as a plain number of dollars with at least two decimals, as flags and
// programs have it: "2.00", "0.0041".
func (u USD) Exact() string { return u.decimal() }

// String returns the amount as every output for people shows it, rounded half up to four significant
// digits: "$0.00001234", "$0.50", "$12.34", "$123.4", "$1,234".
func (u USD) String() string {
	d, negative := strings.CutPrefix(u.round().decimal(), "-")
	whole, frac, _ := strings.Cut(d, ".")
	if len(whole) > significantDigits-2 {
		frac = strings.TrimRight(frac, "0")
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if frac != "" {
		whole += "." + frac
	}
	if negative {
		return "-$" + whole
	}
	return "$" + whole
}

// significantDigits are those of rounded amounts.
const significantDigits = 4

// round returns the amount rounded half up to four significant digits.
func (u USD) round() USD {
	if u < 0 {
		return -(-max(u, -math.MaxInt64)).round()
	}
	step := u.lastDigit()
	if u%step < (step+1)/2 {
		return u / step * step
	}
	return u.RoundUp()
}

// RoundUp returns the amount rounded up to four significant digits, for forecasts.
func (u USD) RoundUp() USD {
	step := u.lastDigit()
	if u%step == 0 {
		return u
	}
	return (u / step * step).Plus(step)
}

// lastDigit returns the value of the last significant digit of an amount that is not negative.
func (u USD) lastDigit() USD {
	step, limit := USD(1), USD(math.Pow10(significantDigits))
	for u/step >= limit {
		step *= 10
	}
	return step
}

// MarshalJSON returns the exact amount as a JSON number of dollars.
func (u USD) MarshalJSON() ([]byte, error) {
	return []byte(u.decimal()), nil
}

// UnmarshalJSON parses what MarshalJSON returns, exactly, also in a notation with an exponent such
// as 8.31e-05, which other programs write. It rejects negative amounts.
func (u *USD) UnmarshalJSON(b []byte) error {
	v, err := ParseUSD(plainNotation(string(b)))
	if err != nil {
		return err
	}
	*u = v
	return nil
}

// plainNotation returns a number without its exponent. It returns s itself if that has none, or is
// no amount of whole nano-dollars that a USD can hold.
func plainNotation(s string) string {
	if !strings.ContainsAny(s, "eE") || !json.Valid([]byte(s)) {
		return s
	}
	amount, ok := new(big.Rat).SetString(s)
	if !ok || amount.Num().BitLen() > 64+bits.Len(uint(Dollar)) {
		return s
	}
	plain := amount.FloatString(usdDigits)
	if same, _ := new(big.Rat).SetString(plain); same.Cmp(amount) != 0 {
		return s
	}
	return plain
}

func (u USD) decimal() string {
	sign, n := "", uint64(u)
	if u < 0 {
		sign, n = "-", -n
	}
	frac := fmt.Sprintf("%0*d", usdDigits, n%uint64(Dollar))
	frac = frac[:2] + strings.TrimRight(frac[2:], "0")
	return fmt.Sprintf("%s%d.%s", sign, n/uint64(Dollar), frac)
}

// Plus adds two amounts that are not negative. A sum beyond USD's range is the largest USD.
func (u USD) Plus(v USD) USD {
	if v > math.MaxInt64-u {
		return math.MaxInt64
	}
	return u + v
}

// Times returns n times an amount, neither of which is negative. A product beyond USD's range is
// the largest USD.
func (u USD) Times(n int) USD {
	hi, lo := bits.Mul64(uint64(u), uint64(n))
	if hi > 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return USD(lo)
}
