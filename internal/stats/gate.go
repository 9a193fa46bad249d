package stats

import "math"

// Required returns the fewest passes among n that reach floor, a rate in 0..1: ⌈floor·n⌉. A product
// less than 1e-9 above an integer counts as that integer, because 0.07·100 is 7.000000000000001 in
// floating point. A floor above 1 or NaN cannot be reached, and the result is n+1.
func Required(n int, floor float64) int {
	if !(floor <= 1) {
		return n + 1
	}
	return int(math.Ceil(max(0, floor)*float64(n) - 1e-9))
}
