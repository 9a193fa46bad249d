package dataset

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evalctl/harness/result"
)

// pathsOf returns the Paths of a brain with these documents.
func pathsOf(paths ...string) *Paths {
	var docs []Doc
	for _, p := range paths {
		docs = append(docs, Doc{Path: p})
	}
	return PathsOf(docs)
}

func TestName(t *testing.T) {
	for _, c := range []struct {
		name  string
		known *Paths
		got   string
		want  string
	}{
		{"unchanged", pathsOf("a.md"), "a.md", "a.md"},
		{"below the seed root", pathsOf("a.md"), "raw/documents/a.md", "a.md"},
		{"below another folder", pathsOf("b/a.md"), "tenants/7/b/a.md", "b/a.md"},
		{"below another folder with the seed root", pathsOf("b/a.md"),
			"tenants/7/raw/documents/b/a.md", "b/a.md"},
		{"the longest end", pathsOf("a.md", "b/a.md"), "x/b/a.md", "b/a.md"},
		{"another document", pathsOf("a.md", "b/a.md"), "b/a.md", "b/a.md"},
		{"whole segments only", pathsOf("a.md"), "x/data.md", "x/data.md"},
		{"unknown document", pathsOf("a.md"), "c.md", "c.md"},
		{"a corpus with a folder named like the seed root", pathsOf("raw/documents/a.md"),
			"raw/documents/raw/documents/a.md", "raw/documents/a.md"},
		{"unknown documents", nil, "raw/documents/b/a.md", "b/a.md"},
		{"no path", pathsOf("a.md"), "", ""},
		{"slashes", pathsOf("a.md"), "//", "//"},
	} {
		if got := c.known.Name(c.got); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestMovedDocument checks that a document is recognized below any folder, unless the whole path is
// that of another document.
func TestMovedDocument(t *testing.T) {
	paths := rapid.StringMatching(`[ab]{1,2}(/[ab]{1,2}){0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		corpus := rapid.SliceOfN(paths, 1, 8).Draw(t, "corpus")
		known := pathsOf(corpus...)
		doc := rapid.SampledFrom(corpus).Draw(t, "document")
		folder := rapid.SampledFrom([]string{"", result.SeedRoot, "x/", "srv/7/" + result.SeedRoot,
			paths.Draw(t, "folder") + "/"}).Draw(t, "below")
		got := known.Name(folder + doc)
		if !known.Has(got) || !strings.HasSuffix("/"+folder+doc, "/"+got) || len(got) < len(doc) {
			t.Errorf("%s%s is %q", folder, doc, got)
		}
	})
	hostile := strings.Repeat("a/", 1<<20)
	if got := pathsOf("a").Name(hostile + "a"); got != hostile+"a" {
		t.Error("a path that is too long was looked up")
	}
}
