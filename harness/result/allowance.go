package result

import (
	"errors"
	"strconv"
	"strings"

	"evalctl/internal/decimal"
)

// Allowance limits how many questions may end without a score: a number, or a share of all
// questions. The zero value allows none.
type Allowance struct {
	text    string // as it was given
	count   int
	percent float64
	share   bool
}

// ParseAllowance parses a number of questions such as "3", or a percentage from 0 to 100 such as
// "10%".
func ParseAllowance(s string) (Allowance, error) {
	bad := errors.New("must be a number of questions, or a share such as 10%")
	if p, ok := strings.CutSuffix(s, "%"); ok {
		f, err := decimal.Parse(p)
		if err != nil || !(f >= 0 && f <= 100) {
			return Allowance{}, bad
		}
		return Allowance{text: s, percent: f, share: true}, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return Allowance{}, bad
	}
	return Allowance{text: s, count: n}, nil
}

// Of returns how many of total questions may end without a score. A share is rounded down, except
// that a value less than 1e-9 below an integer counts as that integer.
func (a Allowance) Of(total int) int {
	if a.share {
		return int(a.percent*float64(total)/100 + 1e-9)
	}
	return a.count
}

// String returns the parsed text.
func (a Allowance) String() string {
	if a.text == "" {
		return "0"
	}
	return a.text
}

// Equal reports whether a and b were parsed from the same text.
func (a Allowance) Equal(b Allowance) bool { return a.String() == b.String() }

// MarshalText implements encoding.TextMarshaler.
func (a Allowance) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with ParseAllowance.
func (a *Allowance) UnmarshalText(text []byte) error {
	parsed, err := ParseAllowance(string(text))
	if err == nil {
		*a = parsed
	}
	return err
}

// ParseRate parses a rate from 0 to 1.
func ParseRate(s string) (float64, error) {
	f, err := decimal.Parse(s)
	if err != nil || !(f >= 0 && f <= 1) {
		return 0, errors.New("must be a rate from 0 to 1, such as 0.90")
	}
	return f, nil
}
