package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// forbidden are paths that break one rule each (spec 2, Path rules).
var forbidden = []struct{ id, rule, path string }{
	{"empty", "an empty path", ""},
	{"nul", "a path with NUL", "a\x00b.md"},
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
	{"dot-dot-deep", "a path that climbs out of its brain", "a/../../../a.md"},
	{"dot-dot-alone", "the path ..", ".."},
	{"empty-segment", "a path with an empty segment", "a//b.md"},
}

// allowed are paths that keep every rule though they look odd.
var allowed = []struct{ id, sentence, path string }{
	{"deep", "many folders", "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p.md"},
	{"dots", "dots inside a name", "a..b/c...md"},
	{"three-dots", "a segment of three dots", ".../a.md"},
	{"hidden", "a leading dot", ".config/.a.md"},
	{"underscore", "a leading underscore", "_a/_b.md"},
	{"no-extension", "no extension", "README"},
	{"space", "spaces", "my notes/a b.md"},
	{"plus", "a plus sign", "a+b.md"},
	{"percent", "a percent sign", "100%.md"},
	{"percent-encoded", "what looks percent-encoded", "%2e%2e/a%2Fb.md"},
	{"ampersand", "an ampersand and an equals sign", "a&b=c.md"},
	{"hash", "a hash", "a#b.md"},
	{"question-mark", "a question mark", "why?.md"},
	{"semicolon", "a semicolon", "a;b.md"},
	{"quotes", "quotes", `it's "here".md`},
	{"brackets", "brackets and a star", "[a]{b}*.md"},
	{"dash", "a leading dash", "-rf.md"},
	{"tilde", "a tilde", "~/a.md"},
	{"accents", "letters with accents", "Übung/été.md"},
	{"emoji", "characters beyond the basic plane", "notes/🦜.md"},
	{"right-to-left", "letters of other scripts", "ملاحظات/笔记.md"},
	{"long", "200 characters in a segment", strings.Repeat("a", 200) + "/b.md"},
}

func pathChecks() []check {
	var checks []check
	for _, p := range forbidden {
		checks = append(checks, must("paths-put-"+p.id+"-400", "2", "PUT of "+p.rule+" is 400, and nothing is written.",
			put("a.md", "kept"), answers(putOf(p.path, "x"), 400), listsAll("a.md"), reads("a.md", "kept")))
	}
	for _, p := range forbidden {
		checks = append(checks, must("paths-read-"+p.id+"-400", "4.2", "Reading "+p.rule+" is 400.",
			put("a.md", "one"), put("b.md", "two"), answers(readOf(p.path), 400)))
	}
	for _, p := range allowed {
		checks = append(checks, must("paths-allowed-"+p.id, "2", "A path may have "+p.sentence+".",
			answers(putOf(p.path, p.id), 204), reads(p.path, p.id), answers(statOf(p.path), 200, key("path", is(p.path))), listsAll(p.path), remove(p.path)))
	}
	return append(checks, slices.Concat(pathOperations(), pathEdges())...)
}

// listsAll wants exactly these documents, generated ones included.
func listsAll(paths ...string) step {
	return lists([]string{"recursive", "true", "include_generated", "true"}, paths...)
}

// pathOperations sends some forbidden paths wherever a path can stand.
func pathOperations() []check {
	rows := []struct {
		id, what string
		level    func(id, section, sentence string, steps ...step) check
		section  string
		send     func(path string) request
	}{
		{"append", "Append to", must, "7.1", func(p string) request { return appendOf(p, "x") }},
		{"rename-from", "Rename from", must, "7.1", func(p string) request { return renameOf(p, "b.md") }},
		{"rename-to", "Rename to", must, "7.1", func(p string) request { return renameOf("a.md", p) }},
		{"batch-write", "A write op on", must, "7.1", func(p string) request { return batchOf(writeOp(p, "x")) }},
		{"batch-append", "An append op on", must, "7.1", func(p string) request { return batchOf(appendOp(p, "x")) }},
		{"batch-delete", "A delete op on", must, "7.1", func(p string) request { return batchOf(deleteOp(p)) }},
		{"batch-rename-to", "A rename op to", must, "7.1", func(p string) request { return batchOf(renameOp("a.md", p)) }},
		{"delete", "DELETE of", should, "4.2", deleteOf},
		{"stat", "Stat of", should, "4.2", statOf},
		{"head", "HEAD of", should, "4.2", headOf},
		{"dir", "Listing", should, "4.2", func(p string) request { return listOf("dir", p) }},
	}
	var checks []check
	for _, p := range forbidden {
		if p.id != "dot-dot-first" && p.id != "leading-slash" && p.id != "nul" && p.id != "empty-segment" {
			continue
		}
		for _, r := range rows {
			checks = append(checks, r.level("paths-"+r.id+"-"+p.id+"-400", r.section, r.what+" "+p.rule+" is 400.",
				put("a.md", "kept"), answers(r.send(p.path), 400), listsAll("a.md"), reads("a.md", "kept")))
		}
	}
	return checks
}

func pathEdges() []check {
	return []check{
		should("paths-1024", "2", "A path may have 1,024 characters.",
			answers(putOf(longPath(1024), "x"), 204), reads(longPath(1024), "x"), listsAll(longPath(1024))),
		should("paths-1025-400", "2", "A path of 1,025 characters is 400, and nothing is written.", answers(putOf(longPath(1025), "x"), 400), listsAll()),
		should("paths-twice-400", "4.2", "A path that is given twice is 400.",
			put("a.md", "one"), answers(at("GET", "/documents/read", "path", "a.md", "path", "b.md"), 400)),
		should("paths-malformed-400", "4.2", "A query that is not percent-encoded properly is 400.", malformed),
		must("paths-case-kept", "2", "The case of a path is kept.", put("Notes/A.md", "one"), listsAll("Notes/A.md")),
	}
}

// longPath is a path of n characters, in segments short enough for any
// filesystem.
func longPath(n int) string {
	return strings.Repeat(strings.Repeat("a", 99)+"/", n/100+1)[:n-1] + "b"
}

func malformed(ctx context.Context, t *trial) error {
	r := at("GET", "/documents/read")
	r.query = "path=%zz"
	res, err := t.do(ctx, r)
	if err != nil {
		return err
	}
	if res.status != 400 {
		return fmt.Errorf("want status 400, but %s", res)
	}
	return nil
}
