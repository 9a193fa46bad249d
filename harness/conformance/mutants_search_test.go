package conformance

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

func searchMutants() []mutant {
	search := anyRoute("POST /search", "GET /search")
	edited := func(change func(o map[string]any)) wrapper {
		return after(search, func(_ *http.Request, a *captured) { a.edit(change) })
	}
	chunks := func(change func([]any) []any) wrapper {
		return edited(func(o map[string]any) {
			if list, ok := o["chunks"].([]any); ok {
				o["chunks"] = change(list)
			}
		})
	}
	field := func(name string) wrapper {
		return chunks(func(list []any) []any {
			for _, c := range list {
				delete(c.(map[string]any), name)
			}
			return list
		})
	}
	key := func(change func(o map[string]any)) wrapper {
		return before(route("POST /search"), func(r *http.Request) { editBody(r, change) })
	}
	return slices.Concat(filterMutants(), modeMutants(), highlightMutants(), lateMutants(), kindMutants(), []mutant{
		{"search-null", "chunks is null when nothing is found", edited(func(o map[string]any) {
			if list, ok := o["chunks"].([]any); ok && len(list) == 0 {
				o["chunks"] = nil
			}
		}), []string{"search-chunks-empty"}, nil},
		{"search-camel-case", "search answers in camelCase", after(search, func(_ *http.Request, a *captured) {
			a.replaceText(`"took_ms"`, `"tookMs"`)
			a.replaceText(`"chunk_id"`, `"chunkId"`)
		}), []string{"search-snake-case", "search-took-ms", "search-chunk-id"}, nil},
		{"search-ascending", "the worst chunk comes first", chunks(func(list []any) []any { slices.Reverse(list); return list }),
			[]string{"search-scores-descend"}, []string{"search-sort-*"}},
		{"search-top-k-ignored", "top_k is ignored", key(func(o map[string]any) { delete(o, "top_k"); delete(o, "topK") }),
			[]string{"search-top-k", "search-top-k-camel-case"}, []string{"limits-search-top-k-*", "search-top-k-text-400", "search-spellings-disagree-400"}},
		{"search-top-k-zero", "top_k of 0 means the default", dropValue("top_k", 0.0), []string{"limits-search-top-k-zero-400"}, nil},
		{"search-mode-tolerated", "an unknown mode means auto", key(func(o map[string]any) {
			if o["mode"] == "psychic" {
				delete(o, "mode")
			}
		}), []string{"search-mode-unknown-400"}, nil},
		{"search-path-lost", "chunks have no path", field("path"), []string{"search-chunk-path", "search-finds"}, []string{"search-*", "ask-*", "records-found"}},
		{"search-text-lost", "chunks have no text", field("text"), []string{"search-chunk-text"}, []string{"search-highlights-*", "search-text-verbatim"}},
		{"search-stale", "a search is answered as it was the first time", stale(), []string{"search-deleted"}, []string{"search-*", "ask-*"}},
		{"search-query-long", "a search may have any length", after(search, func(_ *http.Request, a *captured) {
			if a.status == 400 && strings.Contains(a.body.String(), "4096") {
				a.replaceWith(200, `{"chunks":[]}`)
			}
		}), []string{"limits-search-query-400"}, nil},
		{"search-candidate-k-few", "more than 500 candidates are 400", editSearchAnswer(func(said map[string]any, a *captured) {
			if k, _ := said["candidate_k"].(float64); k > 500 {
				a.replaceWith(400, "{}")
			}
		}), []string{"search-candidate-k-200"}, nil},
		{"search-candidate-k-cut", "candidate_k is cut to what is allowed", dropValue("candidate_k", 1001.0), []string{"search-candidate-k-400"}, nil},
		{"search-rerank-top-n-few", "more than 100 chunks to rerank are 400", editSearchAnswer(func(said map[string]any, a *captured) {
			if n, _ := said["rerank_top_n"].(float64); n > 100 {
				a.replaceWith(400, "{}")
			}
		}), []string{"search-rerank-top-n-200"}, nil},
		{"search-rerank-top-n-cut", "rerank_top_n is cut to what is allowed", dropValue("rerank_top_n", 201.0), []string{"search-rerank-top-n-400"}, nil},
	})
}

// stale remembers what every search that found something found.
func stale() wrapper {
	var mu sync.Mutex
	cache := map[string]*captured{}
	return replace(route("POST /search"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		defer mu.Unlock()
		key := r.URL.Path + readBody(r)
		if cache[key] == nil {
			a := capture(next, r)
			if strings.Contains(a.body.String(), `"chunks":[{`) {
				cache[key] = a
			}
			a.send(w, r)
			return
		}
		cache[key].send(w, r)
	})
}
