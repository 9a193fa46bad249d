package requirements

import (
	"slices"
	"strings"
)

// invalidPaths violate one rule each (spec 2, Path rules).
var invalidPaths = []struct{ id, what, path string }{
	{"empty", "an empty path", ""},
	{"nul", "a path with a NUL byte", "a\x00b.md"},
	{"backslash", "a path with a backslash", `a\b.md`},
	{"leading-slash", "a path with a leading slash", "/a.md"},
	{"trailing-slash", "a path with a trailing slash", "a/"},
	{"dot", "a path with a . segment", "a/./b.md"},
	{"dot-first", "a path that begins with ./", "./a.md"},
	{"dot-last", "a path that ends with /.", "a/."},
	{"dot-alone", "the path .", "."},
	{"dot-dot", "a path with a .. segment", "a/../b.md"},
	{"dot-dot-first", "a path that begins with ../", "../a.md"},
	{"dot-dot-last", "a path that ends with /..", "a/.."},
	{"dot-dot-deep", "a path that leads out of the brain", "a/../../../a.md"},
	{"dot-dot-alone", "the path ..", ".."},
	{"empty-segment", "a path with an empty segment", "a//b.md"},
}

// unusualPaths look odd but are valid.
var unusualPaths = []struct{ id, what, path string }{
	{"deep", "many folders", "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p.md"},
	{"dots", "dots inside a name", "a..b/c...md"},
	{"three-dots", "a segment of three dots", ".../a.md"},
	{"hidden", "a leading dot", ".config/.a.md"},
	{"underscore", "a leading underscore", "_a/_b.md"},
	{"no-extension", "no extension", "README"},
	{"space", "spaces", "my notes/a b.md"},
	{"plus", "a plus sign", "a+b.md"},
	{"percent", "a percent sign", "100%.md"},
	{"percent-encoded", "text that looks percent-encoded", "%2e%2e/a%2Fb.md"},
	{"ampersand", "an ampersand and an equals sign", "a&b=c.md"},
	{"hash", "a number sign", "a#b.md"},
	{"question-mark", "a question mark", "why?.md"},
	{"semicolon", "a semicolon", "a;b.md"},
	{"quotes", "quotation marks", `it's "here".md`},
	{"brackets", "brackets and an asterisk", "[a]{b}*.md"},
	{"dash", "a leading hyphen", "-rf.md"},
	{"tilde", "a leading tilde", "~/a.md"},
	{"accents", "letters with accents", "Übung/été.md"},
	{"emoji", "characters outside the Basic Multilingual Plane", "notes/🦜.md"},
	{"right-to-left", "right-to-left and Chinese letters", "ملاحظات/笔记.md"},
	{"long", "a segment of 200 characters", strings.Repeat("a", 200) + "/b.md"},
}

// similarPaths are valid, and one and the same to some file systems and databases.
var similarPaths = []struct{ id, what, path, other string }{
	{"case", "case", "notes/A.md", "notes/a.md"},
	{"normal-form", "the Unicode normal form of a letter", "\u00e9.md", "e\u0301.md"},
	{"space", "spaces at the ends", "a.md", " a.md "},
}

func pathChecks() []check {
	var checks []check
	for _, p := range invalidPaths {
		checks = append(checks, must("paths-put-"+p.id+"-400", "2",
			"PUT to "+p.what+" is rejected with 400.", expect(putOf(p.path, "x"), 400)))
	}
	checks = append(checks, must("paths-put-rejected-keeps", "7.1",
		"A PUT to an invalid path that is rejected writes nothing.", putInvalidPaths...))
	for _, p := range invalidPaths {
		checks = append(checks, must("paths-read-"+p.id+"-400", "4.2", "Reading "+p.what+" is rejected with 400.",
			put("a.md", "one"), put("b.md", "two"), expect(readOf(p.path), 400)))
	}
	for _, p := range unusualPaths {
		checks = append(checks, must("paths-allowed-"+p.id, "2", "A path may have "+p.what+".",
			expect2xx(putOf(p.path, p.id)), expectContent(p.path, p.id),
			observe(statOf(p.path), 200, jsonField("path", equals(p.path)))))
	}
	for _, p := range similarPaths {
		checks = append(checks, should("paths-distinct-"+p.id, "2",
			"Paths that differ only in "+p.what+" belong to different documents.",
			put(p.path, "one"), put(p.other, "two"), expectContent(p.path, "one"), expectContent(p.other, "two"),
			expectDocuments(p.path, p.other)))
	}
	return checks
}

// putInvalidPaths requires that rejected writes have no effect.
var putInvalidPaths = func() []step {
	steps := []step{put("a.md", "kept")}
	for _, p := range invalidPaths {
		steps = append(steps, expect(putOf(p.path, "x"), 0, givenError))
	}
	return append(steps, expectDocuments("a.md"), expectContent("a.md", "kept"))
}()

// expectDocuments requires the brain to have exactly these documents, generated ones included.
func expectDocuments(paths ...string) step {
	return expectListing([]string{"recursive", "true", "include_generated", "true"}, paths...)
}

// pathOperationChecks sends some invalid paths to all other operations.
func pathOperationChecks() []check {
	// Spec 7.1 defines 400 for some endpoints. For the others, no such document can exist.
	invalid, missing := []int{400}, []int{400, 404}
	rows := []struct {
		id, what string
		level    func(id, section, sentence string, steps ...step) check
		section  string
		statuses []int
		send     func(path string) request
	}{
		{"append", "Append to", must, "7.1", invalid, func(p string) request { return appendOf(p, "x") }},
		{"rename-from", "Rename from", must, "7.1", invalid, func(p string) request { return renameOf(p, "b.md") }},
		{"rename-to", "Rename to", must, "7.1", invalid, func(p string) request { return renameOf("a.md", p) }},
		{"batch-write", "A write op on", must, "7.1", invalid, func(p string) request { return batchOf(writeOp(p, "x")) }},
		{"batch-append", "An append op on", must, "7.1", invalid, func(p string) request { return batchOf(appendOp(p, "x")) }},
		{"batch-delete", "A delete op on", must, "7.1", invalid, func(p string) request { return batchOf(deleteOp(p)) }},
		{"batch-rename-to", "A rename op to", must, "7.1", invalid,
			func(p string) request { return batchOf(renameOp("a.md", p)) }},
		{"delete", "DELETE of", should, "4.2", missing, deleteOf},
		{"stat", "Stat of", should, "4.2", missing, statOf},
		{"head", "HEAD of", should, "4.2", missing, headOf},
		{"dir", "Listing", should, "4.2", missing, func(p string) request { return listOf("dir", p) }},
	}
	var checks []check
	for _, p := range invalidPaths {
		if !slices.Contains([]string{"dot-dot-first", "leading-slash", "nul", "empty-segment"}, p.id) {
			continue
		}
		for _, r := range rows {
			checks = append(checks, r.level("paths-"+r.id+"-"+p.id+"-400", r.section,
				r.what+" "+p.what+" is rejected with "+orOf(r.statuses)+".",
				put("a.md", "kept"), expect(r.send(p.path), 0, statusIn(r.statuses...))))
		}
	}
	return checks
}

func pathEdgeChecks() []check {
	malformed := brainRequest("GET", "/documents/read")
	malformed.query = "path=%zz"
	return []check{
		should("paths-1024", "2", "A path may have 1,024 characters.",
			expect2xx(putOf(longPath(1024), "x")), expectContent(longPath(1024), "x")),
		must("paths-rename-rejected-keeps", "7.1", "A rename to an invalid path that is rejected changes no document.",
			put("a.md", "kept"), expect(renameOf("a.md", "../b.md"), 0, givenError), expectContent("a.md", "kept")),
		must("paths-case-kept", "2", "The case of a path is preserved.",
			put("Notes/A.md", "one"), inspect(statOf("Notes/A.md"), 200, jsonField("path", equals("Notes/A.md"))),
			expectListing(recursive, "Notes/A.md")),
	}
}

// longPath returns a path of n characters whose segments fit into every file system.
func longPath(n int) string {
	return strings.Repeat(strings.Repeat("a", 99)+"/", n/100+1)[:n-1] + "b"
}
