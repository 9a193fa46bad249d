package labels

import (
	"cmp"
	"slices"
)

// leastShare is the least share of the answers in a stratum: 3 of 20 labels, the fewest that a plan
// says. With fewer labels in a stratum, whole numbers are far from its share. The estimate is then
// less exact than by a random draw, unless the strata differ much.
const leastShare = 0.15

// merge joins the two smallest strata until each has leastShare of the answers, or all are one. It
// returns the strata, and for each old one the index of the new one. The order of old ones does not
// matter, so that two results with the same questions are drawn alike.
func merge(strata []Stratum) (merged []Stratum, group []int) {
	type joined struct {
		Stratum
		members []int
	}
	bySize := func(a, b joined) int { return cmp.Or(a.Answers-b.Answers, cmp.Compare(a.Name, b.Name)) }
	var list []joined
	total := 0
	for i, s := range strata {
		list = append(list, joined{s, []int{i}})
		total += s.Answers
	}
	slices.SortFunc(list, bySize)
	for len(list) > 1 && float64(list[0].Answers) < leastShare*float64(total) {
		a, b := list[0], list[1]
		a.Answers += b.Answers
		a.members = append(a.members, b.members...)
		at, _ := slices.BinarySearchFunc(list[2:], a, bySize)
		list = slices.Insert(list[2:], at, a)
	}
	group = make([]int, len(strata))
	for i, l := range list {
		merged = append(merged, l.Stratum)
		for _, m := range l.members {
			group[m] = i
		}
	}
	return merged, group
}
