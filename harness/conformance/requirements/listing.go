package requirements

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
)

func listingFormatChecks() []check {
	seed := putPaths("b.md", "a.md", "notes/x.md")
	return []check{
		must("listing-200", "4.2", "A listing returns 200.", seed, expect(listOf(flat...), 200)),
		must("listing-items", "4.2", "A listing returns a JSON object with an items array.",
			seed, inspect(asSent(listOf(flat...)), 200, hasEnvelope(listingShape), jsonField("items", isArray))),
		must("listing-empty", "4.2", "The items of a listing of an empty brain are an empty array, not null.",
			inspect(listOf(flat...), 200, jsonField("items", equals([]any{}))),
			inspect(listOf(recursive...), 200, jsonField("items", equals([]any{})))),
		must("listing-sorted", "4.2", "The entries of a listing are in ascending order of their paths.",
			putPaths("n.md", "c.md", "n/x.md", "a.md", "n-a.md", "b.md"), expectEntries(flat, sixAscending)),
		must("listing-sorted-recursive", "4.2",
			"The entries of a recursive listing are in ascending order of their paths.",
			putPaths("n/c.md", "a.md", "n/a.md", "n.md", "n/b/a.md", "n-a.md"), expectEntries(recursive, sixAscending)),
		should("listing-sorted-code-points", "4.2",
			"The entries of a listing are in the order of their characters' code points: capital letters come first.",
			putPaths("é.md", "d.md", "C.md", "z.md", "B.md", "a.md"), expectEntries(flat, sixAscending)),
		should("listing-json", "4.2", "The media type of a listing is application/json.",
			seed, inspect(listOf(flat...), 200, hasMediaType(protocol.TypeJSON))),
		must("listing-entry-path", "2", "The path of an entry is relative to the brain's root.",
			seed, expectListing([]string{"dir", "notes"}, "notes/x.md")),
		must("listing-entry-size", "2", "An entry has the size in bytes.",
			put("é.md", "fünf"), expectEachEntry(flat, 1, "size", equals(5.0))),
		must("listing-entry-mtime", "2", "An entry has mtime as an ISO 8601 timestamp in UTC with milliseconds.",
			seed, expectEachEntry(recursive, 3, "mtime", isUTCMillis)),
		must("listing-entry-is-dir", "2", "An entry has is_dir.", seed, expectEachEntry(flat, 3, "is_dir", isBool)),
		must("listing-snake-case", "2", "The keys of a listing are in snake_case.",
			seed, inspect(listOf(flat...), 200, bodyInSnakeCase)),
		should("listing-entry-as-stat", "2", "An entry has the path, size, mtime and is_dir of the response to stat.",
			put("a.md", "one"), entryAsStat),
	}
}

// sixAscending compares whole paths. A walk through the folders, for example, has n/a.md before
// n-a.md, which is not ascending.
func sixAscending(entries []object) error {
	if err := entryCount(entries, 6); err != nil {
		return err
	}
	if got := pathsOf(entries); !slices.IsSorted(got) {
		return fmt.Errorf("want 6 paths in ascending order, got %q", got)
	}
	return nil
}

func entryAsStat(ctx context.Context, c *client) error {
	res, err := c.get(ctx, statOf("a.md"), 0, given(200))
	if err != nil {
		return err
	}
	stat, err := res.object()
	if err != nil {
		return unjudgedError{ReasonSetup, err}
	}
	return expectEntries(flat, func(entries []object) error {
		if err := entryCount(entries, 1); err != nil {
			return err
		}
		for _, name := range []string{"path", "size", "mtime", "is_dir"} {
			if v, ok := stat[name]; ok {
				if err := matchField(entries[0], name, equals(v)); err != nil {
					return err
				}
			}
		}
		return nil
	})(ctx, c)
}

func listingScopeChecks() []check {
	seed := putPaths("a.md", "notes/b.md", "notes/deep/c.md", "notes/deep/d.md", "notebook/e.md")
	return []check{
		must("listing-flat", "4.3", "A listing that is not recursive has one entry for each immediate child.",
			seed, expectListing(flat, "a.md", "notebook", "notes")),
		must("listing-flat-folders", "4.3", "The is_dir of a folder in a listing is true.",
			putPaths("notes/b.md", "x/y/z.md"), expectEachEntry(flat, 2, "is_dir", equals(true))),
		must("listing-flat-folder-once", "4.3", "A folder with several documents is one entry.",
			putPaths("n/a.md", "n/b.md", "n/c/d.md"), expectListing(flat, "n")),
		must("listing-recursive", "4.3", "A recursive listing contains every document.",
			seed, expectListing(recursive, "a.md", "notebook/e.md", "notes/b.md", "notes/deep/c.md",
				"notes/deep/d.md")),
		must("listing-recursive-no-folders", "4.3", "A recursive listing contains no folders.",
			seed, noFolderRows),
		must("listing-only-documents", "2",
			"A listing contains only documents that were written: files that the daemon adds begin with an underscore.",
			seed, attempt(searchOf(object{"query": "note"})), onlyWritten),
		must("listing-recursive-false", "4.2", "With recursive=false, a listing contains the immediate children.",
			seed, expectListing([]string{"recursive", "false"}, "a.md", "notebook", "notes")),
		must("listing-dir", "4.2", "dir restricts a listing to a folder.",
			seed, expectListing([]string{"dir", "notes"}, "notes/b.md", "notes/deep")),
		must("listing-dir-nested", "4.2", "dir may be a folder at any depth.",
			seed, expectListing([]string{"dir", "notes/deep"}, "notes/deep/c.md", "notes/deep/d.md")),
		must("listing-dir-recursive", "4.2", "dir restricts a recursive listing to a subtree.",
			seed, expectListing([]string{"dir", "notes", "recursive", "true"},
				"notes/b.md", "notes/deep/c.md", "notes/deep/d.md")),
		must("listing-dir-no-prefix", "4.2", "dir matches whole folder names, not prefixes.",
			seed, putPaths("note/f.md"), expectListing([]string{"dir", "note", "recursive", "true"}, "note/f.md")),
		must("listing-recursive-alone", "4.2", "The parameter recursive alone selects the listing of paths.",
			putPaths("a/b.md"), expectListing(recursive, "a/b.md")),
		must("listing-glob-alone", "4.2", "The parameter glob alone selects the listing of paths.",
			putPaths("a.md", "b.txt"), expectListing([]string{"glob", "*.md"}, "a.md")),
		must("listing-other-brain", "5", "A listing does not contain documents of another brain.",
			putPaths("a.md"), inOtherBrain(expectListing(recursive))),
	}
}

func listingGeneratedChecks() []check {
	// A daemon may have a generated file such as _index.md of its own.
	seed := putPaths("a.md", "_ours.md", "n/b.md", "n/_c.md")
	return []check{
		must("listing-generated-hidden", "4.2", "A listing omits entries whose base name begins with an underscore.",
			seed, expectListing(flat, "a.md", "n")),
		must("listing-generated-hidden-deep", "4.2", "A recursive listing omits generated files at every depth.",
			seed, expectListing(recursive, "a.md", "n/b.md")),
		must("listing-generated-hidden-false", "4.2", "With include_generated=false, a listing omits generated files.",
			seed, expectListing([]string{"include_generated", "false", "recursive", "true"}, "a.md", "n/b.md")),
		must("listing-generated-shown", "4.2", "With include_generated=true, a listing contains generated files.",
			seed, expectListing([]string{"include_generated", "true"}, "_ours.md", "a.md", "n")),
		must("listing-generated-shown-deep", "4.2",
			"With include_generated=true, a recursive listing contains generated files at every depth.",
			seed, expectListing([]string{"include_generated", "true", "recursive", "true"},
				"_ours.md", "a.md", "n/_c.md", "n/b.md")),
		must("listing-generated-inner", "2", "A listing contains files with an underscore elsewhere in the base name.",
			putPaths("a_b.md", "c_"), expectListing(flat, "a_b.md", "c_")),
		must("listing-generated-readable", "2", "A generated file can be read by its path.",
			seed, expectContent("_ours.md", "_ours.md")),
		must("listing-generated-glob", "4.2", "A glob does not match generated files.",
			seed, expectListing([]string{"glob", "*", "recursive", "true"}, "a.md", "n/b.md")),
		must("listing-generated-glob-shown", "4.2", "With include_generated=true, a glob can match generated files.",
			seed, expectListing([]string{"glob", "_*", "recursive", "true", "include_generated", "true"},
				"_ours.md", "n/_c.md")),
	}
}

func listingGlobChecks() []check {
	rows := []struct {
		id, sentence, pattern string
		matches               []string
	}{
		{"star", "* in a glob matches any sequence of characters.", "*.md",
			[]string{"ab.md", "b.md", "b1.md", "notes/b.md", "é.md"}},
		{"star-empty", "* in a glob matches the empty string.", "b*.md", []string{"b.md", "b1.md", "notes/b.md"}},
		{"star-many", "A glob may contain several *.", "*b*d", []string{"ab.md", "b.md", "b1.md", "notes/b.md"}},
		{"star-all", "The glob * matches every base name.", "*",
			[]string{"ab.md", "b.md", "b1.md", "b.txt", "notes/b.md", "é.md"}},
		{"question", "? in a glob matches one character.", "b?.md", []string{"b1.md"}},
		{"question-character", "? in a glob matches a character of several bytes.", "?.md",
			[]string{"b.md", "notes/b.md", "é.md"}},
		{"set", "[...] in a glob matches one of its characters.", "[bx].md", []string{"b.md", "notes/b.md"}},
		{"set-range", "A set in a glob may contain a range.", "b[0-9].md", []string{"b1.md"}},
		{"set-not", "A leading ! negates a set in a glob.", "[!b].*", []string{"é.md"}},
		{"set-not-caret", "A leading ^ negates a set in a glob.", "[^b].*", []string{"é.md"}},
		{"literal", "A glob without special characters matches that base name.", "b.md",
			[]string{"b.md", "notes/b.md"}},
		{"dot-literal", "A dot in a glob matches only a dot.", "b.m?", []string{"b.md", "notes/b.md"}},
		{"whole-name", "A glob matches the whole base name, not a part of it.", "b", nil},
		{"nothing", "A glob without matches returns an empty listing.", "*.pdf", nil},
	}
	seed := putPaths("b.md", "b1.md", "ab.md", "b.txt", "é.md", "notes/b.md")
	var checks []check
	for _, r := range rows {
		checks = append(checks, must("listing-glob-"+r.id, "2", r.sentence,
			seed, expectListing([]string{"glob", r.pattern, "recursive", "true"}, r.matches...)))
	}
	return append(checks,
		must("listing-glob-base-name", "2", "A glob applies to base names, not to whole paths.",
			putPaths("md/a.txt", "b.md"), expectListing([]string{"glob", "*md*", "recursive", "true"}, "b.md")),
		must("listing-glob-dir", "4.2", "glob and dir can be combined.",
			seed, expectListing([]string{"glob", "*.md", "dir", "notes"}, "notes/b.md")),
	)
}

func listingFreshnessChecks() []check {
	return []check{
		must("listing-after-put", "4.2", "A listing contains a document that was written before it.",
			putPaths("a.md"), expectListing(flat, "a.md"), putPaths("b.md"), expectListing(flat, "a.md", "b.md")),
		must("listing-after-delete", "4.2", "A listing does not contain a deleted document.",
			putPaths("a.md", "b.md"), remove("a.md"), expectListing(recursive, "b.md")),
		must("listing-after-rename", "4.2", "A listing contains a renamed document once, under its new path.",
			putPaths("a.md"), rename("a.md", "n/b.md"), expectListing(recursive, "n/b.md")),
		must("listing-many", "8", "A listing of 1,100 documents is complete or rejected with 413.",
			longListing(1100, true)),
		must("listing-many-sorted", "4.2",
			"The entries of a listing of 1,100 documents are in ascending order, unless it is rejected with 413.",
			longListing(1100, false)),
	}
}

var noFolderRows = observe(enveloped(listOf(recursive...)), 200, entriesMatch(func(entries []object) error {
	all := make([]any, len(entries))
	for i, e := range entries {
		all[i] = e
	}
	for _, e := range entries {
		if isFolderRow(e, all) {
			p, _ := e["path"].(string)
			return folderRowError(p)
		}
	}
	return nil
})...)

// onlyWritten looks for files that the daemon added, perhaps at the first search, to a brain with
// documents in notes, notebook and a.md. Folders are left to another check.
var onlyWritten = observe(enveloped(listOf(recursive...)), 200, entriesMatch(func(entries []object) error {
	return noOwnFiles(pathsOf(entries), func(p string) bool { return p == "a.md" || strings.HasPrefix(p, "note") })
})...)

// longListing writes n documents and requests their listing, which must be complete or rejected
// with 413. anyOrder accepts the entries in any order.
func longListing(n int, anyOrder bool) step {
	complete := func(entries []object) error {
		want, got := manyPaths(n), pathsOf(entries)
		if anyOrder {
			slices.Sort(got)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("want all %d paths, got %d, from %s", n, len(got), excerpt([]byte(strings.Join(got, " "))))
		}
		return nil
	}
	return inTurn(putMany(n), func(ctx context.Context, c *client) error {
		res, err := c.do(ctx, listOf(recursive...))
		if err != nil || res.status == 413 {
			return err
		}
		return expectEntries(recursive, complete)(ctx, c)
	})
}

// manyPaths are the paths of putMany, in ascending order.
func manyPaths(n int) []string {
	paths := make([]string, n)
	for i := range paths {
		paths[i] = fmt.Sprintf("many/%06d.md", i)
	}
	return paths
}

// putMany writes n small documents in batches.
func putMany(n int) step {
	const perBatch = 1000
	return lazily(func(*client) step {
		var batches []step
		for part := range slices.Chunk(manyPaths(n), perBatch) {
			var ops []object
			for _, p := range part {
				ops = append(ops, writeOp(p, "x"))
			}
			batches = append(batches, batch(ops...))
		}
		return inTurn(batches...)
	})
}
