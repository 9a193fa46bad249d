// Package decimal parses the numbers in texts of others. It accepts the notations of people and
// JSON, such as -1.5e3, and none that only programming languages have: no NaN, infinity,
// hexadecimal number or underscore. It also refuses a number that is too large to be summed up.
package decimal

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"evalctl/internal/printable"
)

// Most is the largest size of a number. Sums of millions of such numbers are finite.
const Most = 1e15

// ErrRange is the error of a number that is too large.
var ErrRange = errors.New("is beyond")

// shown is how much of a text an error quotes, in characters.
const shown = 40

// Parse returns the number in text, with 0 for -0. The error quotes the beginning of text.
func Parse(text string) (float64, error) {
	if text == "" || strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, fmt.Errorf("%q is not a number", printable.Line(text, shown))
	}
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case n > Most || n < -Most: // also an infinity, which comes with an error
		return 0, fmt.Errorf("%q %w %g", printable.Line(text, shown), ErrRange, Most)
	case err != nil:
		return 0, fmt.Errorf("%q is not a number", printable.Line(text, shown))
	case n == 0:
		return 0, nil // -0 is 0
	}
	return n, nil
}

// Exact returns the number that v was written as: the decimal fraction with the fewest digits that
// is v. Sums of these are exact, while 0.1 and 0.2 added as float64 are not. v is finite.
func Exact(v float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(v, 'g', -1, 64))
	if !ok {
		panic("decimal: not a finite number")
	}
	return r
}
