package report

import (
	"maps"
	"slices"

	"evalctl/harness/result"
)

// tagRow is a tag or a check as shown in all forms of a report.
type tagRow struct {
	Tag string
	result.TagFigures
	// Floor is nil for a tag without one.
	Floor *result.TagGate
}

// tagRows returns the tags shown in reports: first the tags that are no Duplicate or have a floor,
// in order, then tags with a floor that no question has.
func tagRows(r *result.Result) (rows []tagRow) {
	var gates []result.TagGate
	if r.Gate != nil {
		gates = r.Gate.Tags
	}
	floors := map[string]*result.TagGate{}
	for i := range gates {
		floors[gates[i].Tag] = &gates[i]
	}
	for _, tag := range slices.Sorted(maps.Keys(r.Tags)) {
		if f := r.Tags[tag]; f != nil && (floors[tag] != nil || !r.Duplicate(tag)) {
			rows = append(rows, tagRow{tag, *f, floors[tag]})
		}
	}
	for _, g := range gates {
		if r.Tags[g.Tag] == nil {
			rows = append(rows, tagRow{Tag: g.Tag, Floor: floors[g.Tag]})
		}
	}
	return rows
}

// checkRows returns the figures by check, in order of the labels.
func checkRows(r *result.Result) (rows []tagRow) {
	for _, label := range slices.Sorted(maps.Keys(r.Checks)) {
		if f := r.Checks[label]; f != nil {
			rows = append(rows, tagRow{Tag: label, TagFigures: *f})
		}
	}
	return rows
}
