package sample

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// allocate divides a sample of n among strata in proportion to their sizes, by largest remainder:
// each stratum gets its quota n·N_h/N rounded down, and the rest goes to the largest fractions
// (ties: to the larger stratum, then by name; statistics.md B.10). The parts add up to n, and none
// exceeds its stratum.
//
// Each stratum gets at least least, or all of its questions if it has fewer. Strata whose share is
// lower get exactly this minimum, and the others divide the rest in proportion.
//
// Only integer arithmetic is used, so that the result is the same on every platform. The part of a
// stratum may shrink by one when n grows. It returns an error if n is negative, above the
// total or too small for the minima, and if a size or least is negative.
func allocate(sizes map[string]int, n, least int) (map[string]int, error) {
	strata := make([]stratum, 0, len(sizes))
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		strata = append(strata, stratum{name, sizes[name], min(least, sizes[name])})
	}
	if err := feasible(strata, n, least); err != nil {
		return nil, err
	}
	parts := make(map[string]int, len(strata))
	for {
		divide(strata, n, parts)
		var enough []stratum
		for _, s := range strata {
			if parts[s.name] >= s.least {
				enough = append(enough, s)
				continue
			}
			parts[s.name] = s.least
			n -= s.least
		}
		if len(enough) == len(strata) {
			return parts, nil
		}
		strata = enough
	}
}

type stratum struct {
	name        string
	size, least int
}

func feasible(strata []stratum, n, least int) error {
	total, minima := 0, 0
	for _, s := range strata {
		if s.size < 0 {
			return fmt.Errorf("stratum %s has the negative size %d", quote(s.name), s.size)
		}
		total += s.size
		minima += s.least
	}
	switch {
	case least < 0:
		return fmt.Errorf("the minimum per stratum is %d; use 0 for none", least)
	case n < 0:
		return fmt.Errorf("the sample size is %d; it cannot be negative", n)
	case n > total:
		return fmt.Errorf("the sample size %d exceeds the %d questions available: use at most %[2]d",
			n, total)
	case n < minima:
		return fmt.Errorf("a sample of %d is too small for at least %d of each of %d strata (all of a "+
			"smaller one): use a size of at least %d, or a lower minimum", n, least, len(strata), minima)
	}
	return nil
}

// divide sets the parts of strata, which are sorted by name, by dividing n by largest remainder.
func divide(strata []stratum, n int, parts map[string]int) {
	total := 0
	for _, s := range strata {
		total += s.size
	}
	total = max(total, 1) // all are empty
	rest := n
	for _, s := range strata {
		parts[s.name] = n * s.size / total
		rest -= parts[s.name]
	}
	// All fractions have the denominator total, so it is enough to compare their numerators. The
	// rest is smaller than the number of fractions above 0, and a stratum with a fraction has room
	// for one more.
	order := slices.SortedStableFunc(slices.Values(strata), func(a, b stratum) int {
		return cmp.Or(cmp.Compare(n*b.size%total, n*a.size%total), cmp.Compare(b.size, a.size))
	})
	for _, s := range order[:rest] {
		parts[s.name]++
	}
}
