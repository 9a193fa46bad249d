package markdown

import (
	"fmt"
	"strconv"
)

// None is shown where there is no figure.
const None = "–"

// Dollars formats an amount of dollars with four significant digits, or to the cent. Dollar signs
// are left out everywhere: GitHub takes the text between two of them for a formula.
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
