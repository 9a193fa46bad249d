package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/dataset"
)

// ignored prints which keys of dataset and corpus have no meaning.
func (t *terminal) ignored(path string, unknown map[string]int) {
	if len(unknown) > 0 {
		t.field("warning", "%s: unknown fields are ignored: %s", printable(path, oneLine), keyCounts(unknown))
	}
}

// listedKeys is the maximum number of keys that keyCounts names.
const listedKeys = 8

// keyCounts returns the keys with the number of their lines.
func keyCounts(counts map[string]int) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		if len(out) == listedKeys {
			out = append(out, fmt.Sprintf("and %d more", len(counts)-listedKeys))
			break
		}
		out = append(out, fmt.Sprintf("%s (%s)", short(k, 40), count(counts[k], "line")))
	}
	return strings.Join(out, ", ")
}

// inputWarnings prints what run and validate say about the fields of the input.
func (t *terminal) inputWarnings(d dataset.Dataset, c *dataset.Corpus) {
	t.ignored(d.Path, d.Unknown)
	if c != nil {
		t.ignored(c.Path, c.Unknown)
	}
}
