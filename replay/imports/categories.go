package imports

import (
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/replay/source"
)

// locomoType returns the question type for a LoCoMo category number, or the category unchanged.
func locomoType(category string) string {
	if name := source.LoCoMoCategory(category); name != "" {
		return name
	}
	return category
}

// plainType normalizes the spelling of a type: temporal_reasoning becomes temporal.
func plainType(name string) string {
	name = strings.ToLower(strings.NewReplacer("_", "-", " ", "-").Replace(strings.TrimSpace(name)))
	return strings.TrimSuffix(name, "-reasoning")
}

// renamed returns the question types that the files call by another type of the benchmark. The
// benchmark's type comes from the dataset, or else from the answer's LoCoMo category number.
func (im *Import) renamed(known bool) (out []result.TypeRename) {
	counts, types := map[[2]string]int{}, map[string]bool{}
	for at, a := range im.answers {
		is := locomoType(a.category)
		if known {
			is = im.matcher.questions[at.question].Type
		}
		types[plainType(is)] = true
		if a.kind != "" && is != "" {
			counts[[2]string{a.kind, is}]++
		}
	}
	for pair, n := range maps.All(counts) {
		if name := plainType(pair[0]); name != plainType(pair[1]) && types[name] {
			out = append(out, result.TypeRename{InFile: pair[0], Benchmark: pair[1], Answers: n})
		}
	}
	slices.SortFunc(out, func(a, b result.TypeRename) int {
		return strings.Compare(a.InFile+"\x00"+a.Benchmark, b.InFile+"\x00"+b.Benchmark)
	})
	return out
}
