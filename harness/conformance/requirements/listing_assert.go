package requirements

import (
	"fmt"
	"slices"
)

// entriesMatch judges the entries of a listing. Without an array of items the check is not judged:
// listing-items and listing-empty cover that.
func entriesMatch(judge func([]object) error) []assertion {
	return []assertion{func(r *response) error {
		if err := jsonField("items", isArray)(r); err != nil {
			return unjudgedError{ReasonObserve, err}
		}
		return nil
	}, ofObject(func(o object) error {
		list, err := objects(o["items"].([]any))
		if err != nil {
			return fmt.Errorf("items: %w", err)
		}
		return judge(list)
	})}
}

// expectEntries requests a listing and judges its entries.
func expectEntries(query []string, judge func([]object) error) step {
	return observe(listOf(query...), 200, entriesMatch(judge)...)
}

// entryCount leaves a check about n entries not judged if their number differs, which the checks of
// paths cover.
func entryCount(entries []object, n int) error {
	if len(entries) != n {
		return unjudgedError{ReasonObserve, fmt.Errorf("the check is about %d items, got %q", n, pathsOf(entries))}
	}
	return nil
}

func pathsOf(entries []object) []string {
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i], _ = e["path"].(string)
	}
	return list
}

// hasPaths requires a listing to have exactly these paths, in any order. Only the checks of the
// order depend on the order.
func hasPaths(paths ...string) []assertion {
	return entriesMatch(func(list []object) error {
		got := slices.Sorted(slices.Values(pathsOf(list)))
		if want := slices.Sorted(slices.Values(paths)); !slices.Equal(got, want) {
			return inResult(difference(want, got), "want the paths %q, got %q", want, got)
		}
		return nil
	})
}

// difference describes how a list of paths differs from the expected one, for a cause.
func difference(want, got []string) string {
	switch {
	case slices.ContainsFunc(got, func(p string) bool { return !slices.Contains(want, p) }):
		return "has paths that do not belong"
	case slices.ContainsFunc(want, func(p string) bool { return !slices.Contains(got, p) }):
		return "lacks paths"
	}
	return "has paths more than once"
}

// expectListing requests a listing that must have exactly these paths, in any order.
func expectListing(query []string, paths ...string) step {
	return observe(listOf(query...), 200, hasPaths(paths...)...)
}

// expectEachEntry requests a listing that must have n entries, and matches a field of each.
func expectEachEntry(query []string, n int, name string, m matcher) step {
	return expectEntries(query, func(entries []object) error {
		if err := entryCount(entries, n); err != nil {
			return err
		}
		for _, e := range entries {
			if err := matchField(e, name, m); err != nil {
				return fmt.Errorf("item %v: %w", e["path"], err)
			}
		}
		return nil
	})
}

var (
	flat      = []string{"dir", ""}
	recursive = []string{"recursive", "true"}
)

// putPaths writes documents whose content is their path.
func putPaths(paths ...string) step {
	puts := make([]step, len(paths))
	for i, p := range paths {
		puts[i] = put(p, p)
	}
	return inTurn(puts...)
}
