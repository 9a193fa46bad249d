package scorer

import "math"

// kendallTauB returns Kendall's rank correlation with the correction for ties (tau-b) of two lists
// of ranks of the same items: concordant minus discordant pairs, divided by the geometric mean of
// the numbers of pairs not tied in each list. It is NaN if all ranks of a list are equal or the
// lengths differ.
func kendallTauB(x, y []int) float64 {
	if len(x) != len(y) {
		return math.NaN()
	}
	order, apartX, apartY := 0, 0, 0
	for i := range x {
		for j := range i {
			dx, dy := sign(x[i]-x[j]), sign(y[i]-y[j])
			order += dx * dy
			apartX += dx * dx
			apartY += dy * dy
		}
	}
	if apartX == 0 || apartY == 0 {
		return math.NaN()
	}
	return float64(order) / math.Sqrt(float64(apartX)*float64(apartY))
}

func sign(n int) int {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}
