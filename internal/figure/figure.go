// Package figure writes numbers as reports, pages and messages show them.
package figure

import (
	"fmt"
	"math"
	"strings"
)

// Count returns n and the name of a thing, with an s unless n is 1: "2 questions".
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// Points returns a difference of shares in percentage points, with its sign and one decimal:
// "-2.4". A difference that rounds to 0 is "+0.0".
func Points(difference float64) string {
	text := fmt.Sprintf("%+.1f", 100*difference)
	if text == "-0.0" {
		return "+0.0"
	}
	return text
}

// Probability returns a p-value with three decimals. Below 0.001 it is "<0.001", so that nothing is
// shown as 0. A value that rounds to 1 is "1".
func Probability(p float64) string {
	switch {
	case p < 0.001:
		return "<0.001"
	case p >= 0.9995:
		return "1"
	}
	return fmt.Sprintf("%.3f", p)
}

// Duration returns a time in milliseconds: "1.5 ms", "150 ms", and from a second on "1.50 s".
func Duration(ms float64) string {
	switch {
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	default:
		return fmt.Sprintf("%.2f s", ms/1000)
	}
}

// Bytes returns a number of bytes in decimal units: "1.5 MB".
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// Rate returns a share, or a mean between 0 and 1, and "–" for nil and NaN.
func Rate(f *float64) string {
	if f == nil || math.IsNaN(*f) {
		return "–"
	}
	return fmt.Sprintf("%.3f", *f)
}

// Coefficient returns a coefficient of agreement, "n/a" without one.
func Coefficient(x *float64) string {
	if x == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.3f", *x)
}

// List returns the names of the first items, at most so many, and how many more there are.
func List[T any](items []T, most int, name func(T) string) string {
	names := make([]string, min(len(items), most))
	for i := range names {
		names[i] = name(items[i])
	}
	list := strings.Join(names, ", ")
	if more := len(items) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
