package markdown

import (
	"fmt"
	"strconv"

	"evalctl/internal/figure"
)

// None is shown where there is no figure.
const None = "–"

// Rate formats a share, or a mean between 0 and 1. It is None for nil.
func Rate(f *float64) string {
	if f == nil {
		return None
	}
	return fmt.Sprintf("%.3f", *f)
}

// Interval formats an interval of a rate.
func Interval(low, high float64) string { return fmt.Sprintf("%.3f–%.3f", low, high) }

// Dollars formats an amount of dollars with four significant digits, or to the cent. Dollar signs
// are left out everywhere: GitHub takes what is between two of them for a formula.
func Dollars(f float64) string {
	if f >= 1 || f == 0 {
		return fmt.Sprintf("%.2f", f)
	}
	return strconv.FormatFloat(f, 'f', decimals(f), 64)
}

// decimals returns how many decimals show four significant digits of f, at most 9.
func decimals(f float64) int {
	n := 4
	for ; f > 0 && f < 0.1 && n < 9; n++ {
		f *= 10
	}
	return n
}

// Count returns n and the name of a thing, with an s unless n is 1.
func Count(n int, thing string) string { return figure.Count(n, thing) }
