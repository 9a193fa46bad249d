package dataset

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evalctl/harness/result"
)

// knowing is the catalogue of a brain with these documents.
func knowing(paths ...string) Paths {
	var docs []Doc
	for _, p := range paths {
		docs = append(docs, Doc{Path: p})
	}
	return PathsOf(docs)
}

func TestCatalogue(t *testing.T) {
	for _, c := range []struct {
		name  string
		known Paths
		got   string
		want  string
	}{
		{"as it is", knowing("a.md"), "a.md", "a.md"},
		{"below the seed root", knowing("a.md"), "raw/documents/a.md", "a.md"},
		{"below another folder", knowing("b/a.md"), "tenants/7/b/a.md", "b/a.md"},
		{"below another folder with the seed root", knowing("b/a.md"), "tenants/7/raw/documents/b/a.md", "b/a.md"},
		{"the longest end", knowing("a.md", "b/a.md"), "x/b/a.md", "b/a.md"},
		{"another document", knowing("a.md", "b/a.md"), "b/a.md", "b/a.md"},
		{"only whole segments", knowing("a.md"), "x/data.md", "x/data.md"},
		{"a document of its own", knowing("a.md"), "c.md", "c.md"},
		{"a corpus with a folder named as the seed root", knowing("raw/documents/a.md"), "raw/documents/raw/documents/a.md", "raw/documents/a.md"},
		{"nothing known", nil, "raw/documents/b/a.md", "b/a.md"},
		{"no path", knowing("a.md"), "", ""},
		{"slashes", knowing("a.md"), "//", "//"},
	} {
		if got := c.known.Name(c.got); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestCatalogueFindsWhatWasMoved: below any folder a document is itself, unless the
// whole is a path of another.
func TestCatalogueFindsWhatWasMoved(t *testing.T) {
	paths := rapid.StringMatching(`[ab]{1,2}(/[ab]{1,2}){0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		corpus := rapid.SliceOfN(paths, 1, 8).Draw(t, "corpus")
		known := knowing(corpus...)
		doc := rapid.SampledFrom(corpus).Draw(t, "document")
		folder := rapid.SampledFrom([]string{"", result.SeedRoot, "x/", "srv/7/" + result.SeedRoot, paths.Draw(t, "folder") + "/"}).Draw(t, "below")
		got := known.Name(folder + doc)
		if !known.Has(got) || !strings.HasSuffix("/"+folder+doc, "/"+got) || len(got) < len(doc) {
			t.Errorf("%s%s is %q", folder, doc, got)
		}
	})
	hostile := strings.Repeat("a/", 1<<20)
	if got := knowing("a").Name(hostile + "a"); got != hostile+"a" {
		t.Error("a path that is too long is looked for")
	}
}
