package conformance

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// lateMutants have a first search after a change that does not reflect it.
func lateMutants() []mutant {
	return []mutant{
		{"search-late-put", "the first search after a PUT finds nothing", delayAfter("PUT /documents"),
			[]string{"search-at-once-put"}, []string{"search-scores-descend", "ask-*"}},
		{"search-late-append", "the first search after an append finds nothing", delayAfter("POST /documents/append"),
			[]string{"search-at-once-append"}, nil},
		{"search-late-batch", "the first search after a batch finds nothing", delayAfter("POST /documents/batch-ops"),
			[]string{"search-at-once-batch"}, nil},
		{"search-late-rename", "the first search after a rename finds nothing", delayAfter("POST /documents/rename"),
			[]string{"search-at-once-rename"}, nil},
		{"search-late-delete", "the first search after a DELETE returns earlier results", staleAfterDelete(),
			[]string{"search-at-once-delete"}, nil},
	}
}

func brainOf(r *http.Request) string {
	parts := strings.SplitN(r.URL.Path, "/", 5)
	return parts[min(3, len(parts)-1)]
}

// delayAfter makes the first search of a brain after one kind of change return no chunks.
func delayAfter(pattern string) wrapper {
	var mu sync.Mutex
	changed := map[string]bool{}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			late := route("POST /search")(r) && changed[brainOf(r)]
			changed[brainOf(r)] = route(pattern)(r) || changed[brainOf(r)] && !late
			mu.Unlock()
			if !late {
				next.ServeHTTP(w, r)
				return
			}
			a := capture(next, r)
			a.Edit(func(o map[string]any) { o["chunks"] = []any{} })
			a.Send(w, r)
		})
	}
}

// staleAfterDelete repeats the last response before a DELETE in the first search after it.
func staleAfterDelete() wrapper {
	var mu sync.Mutex
	last, deleted := map[string]*captured{}, map[string]bool{}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := brainOf(r)
			if route("DELETE /documents")(r) {
				mu.Lock()
				deleted[id] = true
				mu.Unlock()
			}
			if !route("POST /search")(r) {
				next.ServeHTTP(w, r)
				return
			}
			word, _ := bodyObject(r)["query"].(string)
			a := capture(next, r)
			mu.Lock()
			if deleted[id] && last[id+word] != nil {
				a, deleted[id] = last[id+word], false
			}
			last[id+word] = a
			mu.Unlock()
			a.Send(w, r)
		})
	}
}

func kindMutants() []mutant {
	// lost removes the chunks that is selects.
	lost := func(is func(query, path, text string) bool) wrapper {
		return editChunks(func(request map[string]any, list []any) []any {
			query, _ := request["query"].(string)
			return slices.DeleteFunc(list, func(c any) bool {
				text, _ := c.(map[string]any)["text"].(string)
				return is(query, pathOfChunk(c), text)
			})
		})
	}
	return []mutant{
		{"search-no-text-documents", "a search does not find .txt documents",
			lost(func(_, path, _ string) bool { return strings.HasSuffix(path, ".txt") }),
			[]string{"search-text-document"}, nil},
		{"search-no-json-documents", "a search does not find .json documents",
			lost(func(_, path, _ string) bool { return strings.HasSuffix(path, ".json") }),
			[]string{"search-json-document"}, nil},
		{"search-known-folders", "a search finds documents only in some folders",
			lost(func(_, path, _ string) bool { return strings.HasPrefix(path, "garden/") }),
			[]string{"search-anywhere"}, nil},
		{"search-no-folding-document", "a query without an accent does not match an accented word",
			lost(func(query, _, text string) bool {
				return query == "cafe" && strings.Contains(text, "café")
			}), []string{"search-folding-document"}, nil},
		{"search-no-folding-query", "a query with an accent does not match an unaccented word",
			lost(func(query, _, text string) bool {
				return query == "café" && strings.Contains(text, "cafe.")
			}), []string{"search-folding-query"}, nil},
		{"search-no-composition", "a composed character does not match its decomposed form",
			lost(func(_, _, text string) bool {
				return strings.Contains(text, "\u0301")
			}), []string{"search-folding-composed"}, nil},
		{"search-no-stemming", "a search does not match other inflections of a word",
			lost(func(query, _, text string) bool { return query == "whistles" && !strings.Contains(text, query) }),
			[]string{"search-stemming"}, nil},
		{"search-duplicates-silent", "chunks with the same text are collapsed without being reported",
			editChunks(func(_ map[string]any, list []any) []any {
				seen := map[any]bool{}
				return slices.DeleteFunc(list, func(item any) bool {
					c := item.(map[string]any)
					delete(c, "duplicates")
					twice := seen[c["text"]]
					seen[c["text"]] = true
					return twice
				})
			}), []string{"search-same-text"}, nil},
		{"search-duplicates-unnamed", "duplicates do not identify their documents",
			editChunks(func(_ map[string]any, list []any) []any {
				for _, item := range list {
					if c := item.(map[string]any); c["duplicates"] != nil {
						c["duplicates"] = []any{map[string]any{"score": 1}}
					}
				}
				return list
			}), []string{"search-same-text"}, nil},
		{"search-collapsed-lost", "a search does not return collapsed",
			editSearchBody(func(_, o map[string]any) { delete(o, "collapsed") }), []string{"search-collapsed"}, nil},
		{"search-similar-collapsed", "chunks with similar texts are collapsed",
			editChunks(func(_ map[string]any, list []any) []any {
				return slices.DeleteFunc(list,
					func(c any) bool { return strings.Contains(c.(map[string]any)["text"].(string), "wide tunnel") })
			}), []string{"search-similar-text"}, nil},
	}
}
