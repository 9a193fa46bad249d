package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"testing"

	"evalctl/daemon/protocol"
)

// TestListingPages: the pages of a listing are the listing, whatever their size, with directories
// and without.
func TestListingPages(t *testing.T) {
	s := startFake(t)
	for _, path := range []string{"a.md", "b/c.md", "b/d.md", "b-.md", "é.md", "_g.md"} {
		s.put(t, path, "x")
	}
	const documents = "/v1/brains/eval/documents"
	for _, query := range []string{"dir=", "recursive=true", "dir=b", "recursive=true&include_generated=true", "recursive=true&glob=%3f.md"} {
		list := func(more string) (paths []string, next string) {
			got := decoded[protocol.FileList](t, s.expect(t, 200, "GET", documents+"?"+query+more, ""))
			for _, item := range got.Items {
				paths = append(paths, item.Path)
			}
			return paths, got.NextCursor
		}
		whole, next := list("")
		if next != "" || len(whole) < 2 {
			t.Errorf("%s: %q, then %q", query, whole, next)
		}
		for limit := 1; limit <= len(whole)+1; limit++ {
			var all []string
			for cursor, pages := "", 0; ; pages++ {
				page, next := list("&limit=" + strconv.Itoa(limit) + "&cursor=" + url.QueryEscape(cursor))
				all = append(all, page...)
				if len(page) > limit || pages > len(whole) || next != "" && len(page) < limit {
					t.Fatalf("%s: page of %d: %q", query, limit, page)
				}
				if next == "" {
					break
				}
				cursor = next
			}
			if !slices.Equal(all, whole) {
				t.Errorf("%s in pages of %d: %q, want %q", query, limit, all, whole)
			}
		}
	}
	for _, limit := range []string{"0", "-1", "10001", "x"} {
		s.expect(t, 400, "GET", documents+"?recursive=true&limit="+limit, "")
	}
}
