package sample

import (
	"errors"
	"fmt"
	"strings"

	"evalctl/internal/figure"
)

const maxListed = 10 // ids that an error names

// check validates the ids of items and of c, and returns the excluded ones.
func check(items []Item, c Config) (excluded map[string]bool, err error) {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = item.ID
	}
	if twice := repeated(all); len(twice) > 0 {
		return nil, fmt.Errorf("the benchmark repeats ids, which must be unique %s", list(twice))
	}
	known := set(all)
	if unknown := without(c.Exclude, known); len(unknown) > 0 {
		return nil, fmt.Errorf("ids to exclude are not in the benchmark %s", list(unknown))
	}
	excluded = set(c.Exclude)
	if c.IDs == nil {
		return excluded, nil
	}
	return excluded, checkIDs(c, known, excluded)
}

func checkIDs(c Config, known, excluded map[string]bool) error {
	if c.Size != 0 || c.MinPerStratum != 0 {
		return errors.New("a list of ids determines the sample: omit its size and the minimum per stratum")
	}
	if len(c.IDs) == 0 {
		return errors.New("the list of ids to draw is empty")
	}
	var problems []string
	if unknown := without(c.IDs, known); len(unknown) > 0 {
		problems = append(problems, "are not in the benchmark "+list(unknown))
	}
	if twice := repeated(c.IDs); len(twice) > 0 {
		problems = append(problems, "are repeated "+list(twice))
	}
	left := set(without(c.IDs, excluded))
	if both := without(c.IDs, left); len(both) > 0 {
		problems = append(problems, "are excluded, too "+list(both))
	}
	if len(problems) > 0 {
		return fmt.Errorf("ids to draw %s", strings.Join(problems, "; "))
	}
	return nil
}

func set(ids []string) map[string]bool {
	s := make(map[string]bool, len(ids))
	for _, id := range ids {
		s[id] = true
	}
	return s
}

// without returns the ids that are not in s, without repetitions.
func without(ids []string, s map[string]bool) []string {
	var out []string
	seen := map[string]bool{}
	for _, id := range ids {
		if !s[id] && !seen[id] {
			out = append(out, id)
		}
		seen[id] = true
	}
	return out
}

// repeated returns the ids that occur more than once, without repetitions.
func repeated(ids []string) []string {
	var out []string
	count := map[string]int{}
	for _, id := range ids {
		if count[id]++; count[id] == 2 {
			out = append(out, id)
		}
	}
	return out
}

// list returns the number of ids and the first of them: "(2): "a", "b"".
func list(ids []string) string {
	return fmt.Sprintf("(%d): %s", len(ids), figure.List(ids, maxListed, quote))
}

// quote quotes the first characters of s without control characters.
func quote(s string) string { return fmt.Sprintf("%.100q", s) }
