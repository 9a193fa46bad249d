package convert_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon/convert"
	"evalctl/internal/goldentest"
)

// Each page of testdata/html has a golden file for the whole page, and one for its main text.
func TestHTMLGolden(t *testing.T) {
	pages, err := filepath.Glob("testdata/html/*.html")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	base, err := url.Parse("https://gazette.example.org/news/clock.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			data, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := convert.Convert(t.Context(), convert.HTML, page, data)
			if err != nil {
				t.Fatal(err)
			}
			main, err := convert.Page(t.Context(), base, data)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(page, ".html")
			golden(t, name+".golden.md", whole)
			golden(t, name+".main.golden.md", main)
		})
	}
}

func golden(t *testing.T, name string, doc convert.Document) {
	t.Helper()
	goldentest.Compare(t, name, "title: "+doc.Title+"\n\n"+doc.Markdown)
}
