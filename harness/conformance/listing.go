package conformance

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
)

// entries judges the entries of a listing.
func entries(judge func([]object) error) []want {
	return []want{key("items", isArray), func(r *response) error {
		o, err := r.object()
		if err != nil {
			return err
		}
		var list []object
		for _, item := range o["items"].([]any) {
			entry, ok := item.(object)
			if !ok {
				return fmt.Errorf("want every item to be an object, got %s", clip(encode(item)))
			}
			list = append(list, entry)
		}
		return judge(list)
	}}
}

// items wants a listing, and judges its entries.
func items(query []string, judge func([]object) error) step {
	return answers(listOf(query...), 200, entries(judge)...)
}

func paths(entries []object) []string {
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i], _ = e["path"].(string)
	}
	return list
}

// holdsPaths wants the entries of a listing to have exactly these paths, in any
// order: only the checks of the order judge it.
func holdsPaths(names ...string) []want {
	return entries(func(list []object) error {
		got := slices.Sorted(slices.Values(paths(list)))
		if want := slices.Sorted(slices.Values(names)); !slices.Equal(got, want) {
			return fmt.Errorf("want the paths %q, got %q", want, got)
		}
		return nil
	})
}

// lists wants a listing to have exactly these paths.
func lists(query []string, want ...string) step {
	return answers(listOf(query...), 200, holdsPaths(want...)...)
}

// each judges every entry under a key; there must be n entries.
func each(query []string, n int, name string, v value) step {
	return items(query, func(entries []object) error {
		if len(entries) != n {
			return fmt.Errorf("want %d items, got %q", n, paths(entries))
		}
		for _, e := range entries {
			if err := judgeKey(e, name, v); err != nil {
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

// tree writes documents whose text is their path.
func tree(paths ...string) step {
	return func(ctx context.Context, t *trial) error {
		for _, p := range paths {
			if err := put(p, p)(ctx, t); err != nil {
				return err
			}
		}
		return nil
	}
}

func listingChecks() []check {
	return slices.Concat(shapeOfListing(), scopeOfListing(), generatedListing(), globListing(), listingAfter())
}

func shapeOfListing() []check {
	seed := tree("b.md", "a.md", "notes/x.md")
	return []check{
		must("listing-200", "4.2", "A listing answers 200.", seed, answers(listOf(flat...), 200)),
		must("listing-items", "4.2", "A listing is an object with an array of items.", seed, answers(listOf(flat...), 200, key("items", isArray))),
		must("listing-empty", "4.2", "The listing of an empty brain has an empty array, not null.", lists(flat), lists(recursive)),
		must("listing-sorted", "4.2", "A listing ascends by path.",
			tree("m.md", "c.md", "x.md", "a.md", "k.md", "b.md"), items(flat, ascending)),
		must("listing-sorted-recursive", "4.2", "A recursive listing ascends by path.",
			tree("n/c.md", "a.md", "n/a.md", "z.md", "n/b/a.md", "m.md"), items(recursive, ascending)),
		should("listing-sorted-bytewise", "4.2", "A listing compares paths byte by byte.",
			tree("a/b.md", "a.md", "a-b.md", "B.md", "é.md", "z.md"), items(recursive, ascendingBytewise)),
		should("listing-json", "4.2", "A listing is application/json.", seed, answers(listOf(flat...), 200, mediaType(protocol.TypeJSON))),
		must("listing-entry-path", "2", "An entry has the path from the brain's root.", seed, lists([]string{"dir", "notes"}, "notes/x.md")),
		must("listing-entry-size", "2", "An entry has the size in bytes.",
			put("é.md", "fünf"), each(flat, 1, "size", is(5.0))),
		must("listing-entry-mtime", "2", "An entry has mtime in ISO 8601, in UTC, with milliseconds.", seed, each(recursive, 3, "mtime", isUTCMillis)),
		must("listing-entry-is-dir", "2", "An entry has is_dir.", seed, each(flat, 3, "is_dir", isBool)),
		must("listing-snake-case", "2", "A listing's keys are in snake_case.", seed, answers(listOf(flat...), 200, inSnakeCase)),
		should("listing-entry-as-stat", "2", "An entry says what stat says.", put("a.md", "one"), entryAsStat),
	}
}

func ascending(entries []object) error {
	got := paths(entries)
	if len(got) != 6 || !slices.IsSorted(got) {
		return fmt.Errorf("want 6 paths in ascending order, got %q", got)
	}
	return nil
}

func ascendingBytewise(entries []object) error { return ascending(entries) }

func entryAsStat(ctx context.Context, t *trial) error {
	res, err := t.do(ctx, statOf("a.md"))
	if err != nil {
		return err
	}
	stat, err := res.object()
	if err != nil {
		return err
	}
	return items(flat, func(entries []object) error {
		if len(entries) != 1 {
			return fmt.Errorf("want one item, got %q", paths(entries))
		}
		for name, v := range stat {
			if err := judgeKey(entries[0], name, is(v)); err != nil {
				return err
			}
		}
		return nil
	})(ctx, t)
}

func scopeOfListing() []check {
	seed := tree("a.md", "notes/b.md", "notes/deep/c.md", "notes/deep/d.md", "notebook/e.md")
	return []check{
		must("listing-flat", "4.3", "A listing that is not recursive has one entry for each immediate child.",
			seed, lists(flat, "a.md", "notebook", "notes")),
		must("listing-flat-folders", "4.3", "Folders in a listing have is_dir true.", tree("notes/b.md", "x/y/z.md"), each(flat, 2, "is_dir", is(true))),
		must("listing-flat-folder-once", "4.3", "A folder with many documents is one entry.",
			tree("n/a.md", "n/b.md", "n/c/d.md"), lists(flat, "n")),
		must("listing-recursive", "4.3", "A recursive listing has every document.",
			seed, lists(recursive, "a.md", "notebook/e.md", "notes/b.md", "notes/deep/c.md", "notes/deep/d.md")),
		must("listing-recursive-no-folders", "4.3", "A recursive listing has no folders.", seed, each(recursive, 5, "is_dir", is(false))),
		must("listing-recursive-false", "4.2", "recursive=false lists immediate children.",
			seed, lists([]string{"recursive", "false"}, "a.md", "notebook", "notes")),
		must("listing-dir", "4.2", "dir limits a listing to a folder.", seed, lists([]string{"dir", "notes"}, "notes/b.md", "notes/deep")),
		must("listing-dir-nested", "4.2", "dir may name a folder at any depth.",
			seed, lists([]string{"dir", "notes/deep"}, "notes/deep/c.md", "notes/deep/d.md")),
		must("listing-dir-recursive", "4.2", "dir limits a recursive listing to a subtree.",
			seed, lists([]string{"dir", "notes", "recursive", "true"}, "notes/b.md", "notes/deep/c.md", "notes/deep/d.md")),
		must("listing-dir-no-prefix", "4.2", "dir is a folder's whole name, not the beginning of one.",
			seed, items([]string{"dir", "note", "recursive", "true"}, func(entries []object) error {
				if len(entries) > 0 {
					return fmt.Errorf("want nothing below note, got %q", paths(entries))
				}
				return nil
			})),
		should("listing-dir-missing-empty", "4.2", "A folder that does not exist has no entries.", lists([]string{"dir", "none"})),
		must("listing-recursive-alone", "4.2", "recursive alone asks for the listing by path.", tree("a/b.md"), lists(recursive, "a/b.md")),
		must("listing-glob-alone", "4.2", "glob alone asks for the listing by path.", tree("a.md", "b.txt"), lists([]string{"glob", "*.md"}, "a.md")),
		must("listing-other-brain", "5", "A listing shows no document of another brain.", tree("a.md"), elsewhere(lists(recursive))),
	}
}

func generatedListing() []check {
	seed := tree("a.md", "_index.md", "n/b.md", "n/_c.md")
	return []check{
		must("listing-generated-hidden", "4.2", "Entries whose base name begins with _ are hidden.", seed, lists(flat, "a.md", "n")),
		must("listing-generated-hidden-deep", "4.2", "Generated files are hidden at every depth.", seed, lists(recursive, "a.md", "n/b.md")),
		must("listing-generated-hidden-false", "4.2", "include_generated=false hides generated files.",
			seed, lists([]string{"include_generated", "false", "recursive", "true"}, "a.md", "n/b.md")),
		must("listing-generated-shown", "4.2", "include_generated=true shows generated files.",
			seed, lists([]string{"include_generated", "true"}, "_index.md", "a.md", "n")),
		must("listing-generated-shown-deep", "4.2", "include_generated=true shows generated files at every depth.",
			seed, lists([]string{"include_generated", "true", "recursive", "true"}, "_index.md", "a.md", "n/_c.md", "n/b.md")),
		must("listing-generated-inner", "2", "An _ elsewhere in the base name hides nothing.", tree("a_b.md", "c_"), lists(flat, "a_b.md", "c_")),
		must("listing-generated-readable", "2", "A hidden document can be read by its path.", seed, reads("_index.md", "_index.md")),
		must("listing-generated-glob", "4.2", "A glob does not show what is hidden.", seed, lists([]string{"glob", "*", "recursive", "true"}, "a.md", "n/b.md")),
		must("listing-generated-glob-shown", "4.2", "A glob can pick generated files.",
			seed, lists([]string{"glob", "_*", "recursive", "true", "include_generated", "true"}, "_index.md", "n/_c.md")),
	}
}

func globListing() []check {
	rows := []struct {
		id, sentence, pattern string
		matches               []string
	}{
		{"star", "* is any run of characters.", "*.md", []string{"ab.md", "b.md", "b1.md", "notes/b.md", "é.md"}},
		{"star-empty", "* may be empty.", "b*.md", []string{"b.md", "b1.md", "notes/b.md"}},
		{"star-many", "Several * may stand in a pattern.", "*b*d", []string{"ab.md", "b.md", "b1.md", "notes/b.md"}},
		{"star-all", "* alone is every base name.", "*", []string{"ab.md", "b.md", "b1.md", "b.txt", "notes/b.md", "é.md"}},
		{"question", "? is one character.", "b?.md", []string{"b1.md"}},
		{"question-character", "? is one character, not one byte.", "?.md", []string{"b.md", "notes/b.md", "é.md"}},
		{"set", "[...] is one of its characters.", "[bx].md", []string{"b.md", "notes/b.md"}},
		{"set-range", "a-z in a set is a range.", "b[0-9].md", []string{"b1.md"}},
		{"set-not", "A leading ! negates a set.", "[!b].*", []string{"é.md"}},
		{"set-not-caret", "A leading ^ negates a set.", "[^b].*", []string{"é.md"}},
		{"literal", "A pattern without special characters is a name.", "b.md", []string{"b.md", "notes/b.md"}},
		{"dot-literal", "A dot is a dot.", "b.m?", []string{"b.md", "notes/b.md"}},
		{"whole-name", "A pattern fits the whole base name.", "b", nil},
		{"nothing", "A pattern that fits nothing gives no items.", "*.pdf", nil},
	}
	seed := tree("b.md", "b1.md", "ab.md", "b.txt", "é.md", "notes/b.md")
	var checks []check
	for _, r := range rows {
		checks = append(checks, must("listing-glob-"+r.id, "2", "Glob: "+r.sentence,
			seed, lists([]string{"glob", r.pattern, "recursive", "true"}, r.matches...)))
	}
	return append(checks,
		must("listing-glob-base-name", "2", "Glob: a pattern looks at base names, not at paths.",
			tree("md/a.txt", "b.md"), lists([]string{"glob", "*md*", "recursive", "true"}, "b.md")),
		must("listing-glob-dir", "4.2", "Glob and dir work together.",
			seed, lists([]string{"glob", "*.md", "dir", "notes"}, "notes/b.md")),
		should("listing-glob-case", "2", "Glob: upper and lower case differ.",
			tree("a.MD", "b.md"), lists([]string{"glob", "*.md"}, "b.md")),
	)
}

func listingAfter() []check {
	return []check{
		must("listing-after-put", "4.2", "A listing sees the write before it.", tree("a.md"), lists(flat, "a.md"), tree("b.md"), lists(flat, "a.md", "b.md")),
		must("listing-after-delete", "4.2", "A deleted document is not listed.", tree("a.md", "b.md"), remove("a.md"), lists(recursive, "b.md")),
		must("listing-after-rename", "4.2", "A renamed document is listed once, under its new path.",
			tree("a.md"), rename("a.md", "n/b.md"), lists(recursive, "n/b.md")),
		should("listing-after-last", "4.3", "A folder is gone with its last document.", tree("n/a.md", "b.md"), remove("n/a.md"), lists(flat, "b.md")),
		must("listing-many", "8", "A listing of 1,100 documents is whole, or 413.", longListing(1100, true)),
		must("listing-many-sorted", "4.2", "A listing of 1,100 documents ascends by path, or is 413.", longListing(1100, false)),
	}
}

// longListing fills a brain with n documents and wants them all, or a refusal:
// never a part of them. With shuffled set the order does not matter.
func longListing(n int, shuffled bool) step {
	return func(ctx context.Context, t *trial) error {
		want, err := fill(ctx, t, n)
		if err != nil {
			return err
		}
		res, err := t.do(ctx, listOf(recursive...))
		if err != nil || res.status == 413 {
			return err
		}
		return items(recursive, func(entries []object) error {
			got := paths(entries)
			if shuffled {
				slices.Sort(got)
			}
			if !slices.Equal(got, want) {
				return fmt.Errorf("want all %d paths, got %d, from %s", n, len(got), clip([]byte(strings.Join(got, " "))))
			}
			return nil
		})(ctx, t)
	}
}

// fill writes n small documents, as batches, and returns their paths in order.
func fill(ctx context.Context, t *trial, n int) ([]string, error) {
	const most = 1000
	var names []string
	for i := range n {
		names = append(names, path.Join("many", fmt.Sprintf("%06d.md", i)))
	}
	for part := range slices.Chunk(names, most) {
		var ops []object
		for _, name := range part {
			ops = append(ops, writeOp(name, "x"))
		}
		if err := batch(ops...)(ctx, t); err != nil {
			return nil, err
		}
	}
	return names, nil
}
