package conformance

import (
	"net/http"
	"slices"
	"strings"
)

func searchMutants() []mutant {
	search := anyRoute("POST /search", "GET /search")
	edited := func(change func(o map[string]any)) wrapper {
		return after(search, func(_ *http.Request, a *captured) { a.Edit(change) })
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
		{"search-null", "the chunks of a search without results are null", edited(func(o map[string]any) {
			if list, ok := o["chunks"].([]any); ok && len(list) == 0 {
				o["chunks"] = nil
			}
		}), []string{"search-chunks-empty"}, nil},
		{"search-own-file", "a search finds a file that the daemon added", chunks(func(list []any) []any {
			return append(list, object{"path": ".search.db", "text": "", "score": 0.0})
		}), []string{"search-only-documents"}, nil},
		{"search-camel-case", "the keys of the response to a search are in camelCase",
			after(search, func(_ *http.Request, a *captured) {
				a.ReplaceText(`"took_ms"`, `"tookMs"`)
				a.ReplaceText(`"chunk_id"`, `"chunkId"`)
			}), []string{"search-snake-case", "search-took-ms", "search-chunk-id"}, nil},
		{"search-ascending", "chunks are in ascending order of their scores",
			chunks(func(list []any) []any { slices.Reverse(list); return list }),
			[]string{"search-scores-descend"}, []string{"search-sort-*"}},
		{"search-top-k-ignored", "a search ignores top_k",
			key(func(o map[string]any) { delete(o, "top_k"); delete(o, "topK") }),
			[]string{"search-top-k", "search-top-k-camel-case"},
			[]string{"limits-search-top-k-*", "search-top-k-text-400", "search-spellings-disagree-400"}},
		{"search-top-k-zero", "a search with a top_k of 0 uses the default", dropValue("top_k", 0.0),
			[]string{"limits-search-top-k-zero-400"}, nil},
		{"search-mode-tolerated", "a search in an unknown mode runs in auto", key(func(o map[string]any) {
			if o["mode"] == "psychic" {
				delete(o, "mode")
			}
		}), []string{"search-mode-unknown-400"}, nil},
		{"search-path-lost", "chunks have no path", field("path"), []string{"search-chunk-path", "search-finds"},
			[]string{"search-*", "ask-*", "records-found"}},
		{"search-text-lost", "chunks have no text", field("text"), []string{"search-chunk-text"},
			[]string{"search-highlights-*", "search-text-verbatim"}},
		{"search-stale", "a repeated search returns the first results again",
			replayFirst(route("POST /search"), pathAndBody, hasChunks), []string{"search-deleted"},
			[]string{"search-*", "ask-*"}},
		{"search-query-long", "the query of a search may have any length",
			after(search, func(_ *http.Request, a *captured) {
				if a.Status == 400 && strings.Contains(a.Body.String(), "4096") {
					a.ReplaceWith(200, `{"chunks":[]}`)
				}
			}), []string{"limits-search-query-400"}, nil},
		{"search-candidate-k-few", "a candidate_k above 500 is rejected with 400",
			editSearchAnswer(func(request map[string]any, a *captured) {
				if k, _ := request["candidate_k"].(float64); k > 500 {
					a.ReplaceWith(400, "{}")
				}
			}), []string{"search-candidate-k-200"}, nil},
		{"search-candidate-k-cut", "a candidate_k above the limit is reduced to it", dropValue("candidate_k", 1001.0),
			[]string{"search-candidate-k-400"}, nil},
		{"search-rerank-top-n-few", "a rerank_top_n above 100 is rejected with 400",
			editSearchAnswer(func(request map[string]any, a *captured) {
				if n, _ := request["rerank_top_n"].(float64); n > 100 {
					a.ReplaceWith(400, "{}")
				}
			}), []string{"search-rerank-top-n-200"}, nil},
		{"search-rerank-top-n-cut", "a rerank_top_n above the limit is reduced to it", dropValue("rerank_top_n", 201.0),
			[]string{"search-rerank-top-n-400"}, nil},
	})
}

func pathAndBody(r *http.Request) string { return r.URL.Path + readBody(r) }

func hasChunks(a *captured) bool { return strings.Contains(a.Body.String(), `"chunks":[{`) }
