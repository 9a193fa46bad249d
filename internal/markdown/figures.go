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

// Share formats a part of a whole as a rate, None if the whole is 0.
func Share(part, whole int) string {
	if whole == 0 {
		return None
	}
	return Rate(new(float64(part) / float64(whole)))
}

// Interval formats an interval of a rate.
func Interval(low, high float64) string { return fmt.Sprintf("%.3f–%.3f", low, high) }

// Probability formats a p value.
func Probability(p float64) string { return figure.Probability(p) }

// Milliseconds formats a latency. It is None for nil.
func Milliseconds(f *float64) string {
	switch {
	case f == nil:
		return None
	case *f < 10:
		return fmt.Sprintf("%.1f ms", *f)
	case *f < 10_000:
		return fmt.Sprintf("%.0f ms", *f)
	}
	return fmt.Sprintf("%.1f s", *f/1000)
}

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

// Grouped formats a number with a comma before every three digits.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count returns n and the name of a thing, with an s unless n is 1.
func Count(n int, thing string) string { return figure.Count(n, thing) }
