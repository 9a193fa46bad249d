package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/internal/terminal"
)

// printIgnored prints which keys of dataset and corpus have no meaning.
func printIgnored(t *terminal.Terminal, path string, unknown map[string]int) {
	if len(unknown) > 0 {
		t.Field("warning", "%s: unknown fields are ignored: %s", terminal.Line(path), keyCounts(unknown))
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
		out = append(out, fmt.Sprintf("%s (%s)", terminal.Short(k, 40), count(counts[k], "line")))
	}
	return strings.Join(out, ", ")
}

// printInputWarnings prints what run and validate say about the fields of the input.
func printInputWarnings(t *terminal.Terminal, d dataset.Dataset, c *dataset.Corpus) {
	printIgnored(t, d.Path, d.Unknown)
	if c != nil {
		printIgnored(t, c.Path, c.Unknown)
	}
}
