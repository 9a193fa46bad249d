package conformancetest

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
)

// editListing changes the items of listings of paths.
func editListing(change func(r *http.Request, items []any) []any) Wrapper {
	return After(isListing, func(r *http.Request, a *Answer) {
		a.Edit(func(o map[string]any) {
			if items, ok := o["items"].([]any); ok {
				o["items"] = sortedByPath(change(r, items))
			}
		})
	})
}

func sortedByPath(items []any) []any {
	slices.SortFunc(items, func(a, b any) int { return strings.Compare(pathOf(a), pathOf(b)) })
	return items
}

func pathOf(item any) string { return item.(map[string]any)["path"].(string) }

func entry(p string, isDir bool) map[string]any {
	return map[string]any{"path": p, "size": 8, "mtime": "2024-01-01T00:00:00.000Z", "is_dir": isDir}
}

// Stray adds files to every listing of a brain's root.
func Stray(paths ...string) Wrapper {
	return editListing(func(r *http.Request, items []any) []any { return withStray(r, items, paths) })
}

// Generated adds a file to listings of a brain's root that include generated files.
func Generated(p string) Wrapper {
	return editListing(func(r *http.Request, items []any) []any {
		isIt := func(item any) bool { return pathOf(item) == p }
		if r.URL.Query().Get("include_generated") != "true" || slices.ContainsFunc(items, isIt) {
			return items
		}
		return withStray(r, items, []string{p})
	})
}

// StrayAfterSearch adds files to listings of a brain's root after the brain's first search or ask,
// like a daemon that then creates its index.
func StrayAfterSearch(paths ...string) Wrapper {
	search, ask := Route("* /search"), Route("* /ask")
	var mu sync.Mutex
	late := map[string]bool{}
	listed := editListing(func(r *http.Request, items []any) []any {
		mu.Lock()
		defer mu.Unlock()
		if !late[brainOf(r)] {
			return items
		}
		return withStray(r, items, paths)
	})
	return func(next http.Handler) http.Handler {
		inner := listed(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inner.ServeHTTP(w, r)
			if search(r) || ask(r) {
				mu.Lock()
				late[brainOf(r)] = true
				mu.Unlock()
			}
		})
	}
}

func brainOf(r *http.Request) string {
	id, _, _ := brainPath(r)
	return id
}

func withStray(r *http.Request, items []any, paths []string) []any {
	q := r.URL.Query()
	if q.Get("dir") != "" {
		return items
	}
	for _, p := range paths {
		if ok, err := path.Match(q.Get("glob"), p); q.Has("glob") && (!ok || err != nil) {
			continue
		}
		items = append(items, entry(p, false))
	}
	return items
}

// FolderRows adds the folders of documents to recursive listings.
func FolderRows() Wrapper {
	return editListing(func(r *http.Request, items []any) []any {
		if r.URL.Query().Get("recursive") != "true" {
			return items
		}
		folders := map[string]bool{}
		for _, item := range items {
			for p := path.Dir(pathOf(item)); p != "." && p != r.URL.Query().Get("dir"); p = path.Dir(p) {
				folders[p] = true
			}
		}
		for p := range folders {
			items = append(items, entry(p, true))
		}
		return items
	})
}

// BareListings answers listings with an array instead of an object with items.
func BareListings() Wrapper {
	return After(isListing, func(_ *http.Request, a *Answer) {
		var items any
		a.Edit(func(o map[string]any) { items = o["items"] })
		if items != nil {
			a.SetJSON(items)
		}
	})
}
