package stats

import (
	"math"
	"math/rand/v2"
)

// signFlipExact is the largest number of differences other than 0 for which SignFlip tries all
// signs.
const signFlipExact = 20

// SignFlip returns the two-sided p-value of the randomisation test that paired differences d are as
// often positive as negative: the share of all assignments of signs whose sum is at least as far
// from 0 as the sum of d (Fisher 1935). It assumes no distribution. exact reports that all
// assignments count: with up to 20 differences other than 0, and with any number of them if all
// have the same magnitude, where the test is McNemarExact. Otherwise p is (r+1)/(resamples+1) for
// the r random assignments that are as far from 0. It depends only on the arguments, not on the
// number of processors. p is 1 if all differences are 0 or there are none, and NaN if one is NaN or
// infinite, or if resamples are needed and below 1.
func SignFlip(d []float64, resamples int, seed uint64) (p float64, exact bool) {
	var moved []float64
	sum, size := 0.0, 0.0
	positive, negative, alike := 0, 0, true
	for _, v := range d {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return math.NaN(), false
		}
		if v == 0 {
			continue
		}
		if v > 0 {
			positive++
		} else {
			negative++
		}
		moved = append(moved, math.Abs(v))
		alike = alike && moved[0] == math.Abs(v)
		sum, size = sum+v, size+math.Abs(v)
	}
	// Sums that are equal on paper differ by rounding.
	far := math.Abs(sum) - 1e-12*size
	switch {
	case alike:
		return McNemarExact(positive, negative), true
	case len(moved) <= signFlipExact:
		return shareOfSigns(moved, far), true
	case resamples < 1:
		return math.NaN(), false
	}
	return float64(farFlips(moved, far, resamples, seed)+1) / float64(resamples+1), false
}

// shareOfSigns returns the share of all assignments of signs whose sum is at least far from 0.
func shareOfSigns(d []float64, far float64) float64 {
	// A sum is one of the first half and one of the second.
	first, second := signedSums(d[:len(d)/2]), signedSums(d[len(d)/2:])
	count := 0
	for _, a := range first {
		for _, b := range second {
			if math.Abs(a+b) >= far {
				count++
			}
		}
	}
	return float64(count) / float64(len(first)*len(second))
}

// signedSums returns the sums of d with all assignments of signs.
func signedSums(d []float64) []float64 {
	sums := []float64{0}
	for _, v := range d {
		next := make([]float64, 0, 2*len(sums))
		for _, s := range sums {
			next = append(next, s+v, s-v)
		}
		sums = next
	}
	return sums
}

// farFlips counts the random assignments of signs whose sum is at least far from 0.
func farFlips(d []float64, far float64, resamples int, seed uint64) int {
	groups := signedGroups(d)
	isFar := make([]bool, resamples)
	eachChunk(resamples, seed, func(random *rand.PCG, from, to int) {
		for i := from; i < to; i++ {
			isFar[i] = math.Abs(flip(groups, random)) >= far
		}
	})
	count := 0
	for _, b := range isFar {
		if b {
			count++
		}
	}
	return count
}

// signedGroups returns the sums of each four differences with all 16 assignments of signs. Looking
// up a sum is several times as fast as adding four numbers.
func signedGroups(d []float64) [][16]float64 {
	groups := make([][16]float64, 0, (len(d)+3)/4)
	for len(d) > 0 {
		var four [4]float64 // missing ones are 0
		d = d[copy(four[:], d):]
		groups = append(groups, [16]float64(signedSums(four[:])))
	}
	return groups
}

// flip returns the sum of all differences with random signs.
func flip(groups [][16]float64, random *rand.PCG) float64 {
	sum := 0.0
	for len(groups) > 0 {
		n := min(16, len(groups))
		bits := random.Uint64()
		for i := range groups[:n] {
			sum += groups[i][bits&15]
			bits >>= 4
		}
		groups = groups[n:]
	}
	return sum
}
