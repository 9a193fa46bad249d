package conformance

import (
	"net/http"
	"strings"

	"evalctl/daemon/protocol"
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
	return []mutant{
		rejectMode(protocol.ModeAuto), rejectMode(protocol.ModeBM25),
		{"search-own-file", "a search finds a file that the daemon added", chunks(func(list []any) []any {
			return append(list, object{"path": ".search.db", "text": "", "score": 0.0})
		}), []string{"search-only-documents"}, nil},
		{"search-camel-case", "the keys of the response to a search are in camelCase",
			after(search, func(_ *http.Request, a *captured) {
				a.ReplaceText(`"took_ms"`, `"tookMs"`)
				a.ReplaceText(`"chunk_id"`, `"chunkId"`)
			}), []string{"search-snake-case"}, nil},
		{"search-top-k-ignored", "a search ignores top_k",
			key(func(o map[string]any) { delete(o, "top_k"); delete(o, "topK") }),
			[]string{"search-top-k"}, []string{"limits-search-top-k-*"}},
		{"search-path-lost", "chunks have no path", field("path"), []string{"search-chunk-path", "search-finds"},
			[]string{"search-*", "ask-*", "records-found"}},
		{"search-stale", "a repeated search returns the first results again",
			replayFirst(route("POST /search"), pathAndBody, hasChunks), []string{"search-deleted"},
			[]string{"search-*", "ask-*"}},
	}
}

// rejectMode rejects searches in one mode.
func rejectMode(mode string) mutant {
	return mutant{"search-" + mode + "-refused", "a search in " + mode + " is rejected with 400",
		editSearchAnswer(func(request map[string]any, a *captured) {
			if request["mode"] == mode {
				a.ReplaceWith(400, "{}")
			}
		}), []string{"search-mode-" + mode + "-200"}, nil}
}

func pathAndBody(r *http.Request) string { return r.URL.Path + readBody(r) }

func hasChunks(a *captured) bool { return strings.Contains(a.Body.String(), `"chunks":[{`) }

// editSearchAnswer changes the responses to searches, depending on the bodies of the requests.
func editSearchAnswer(change func(request map[string]any, a *captured)) wrapper {
	return replace(route("POST /search"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		request := bodyObject(r)
		a := capture(next, r)
		change(request, a)
		a.Send(w, r)
	})
}

// editChunks changes the chunks in the responses to searches.
func editChunks(change func(request map[string]any, chunks []any) []any) wrapper {
	return editSearchAnswer(func(request map[string]any, a *captured) {
		a.Edit(func(o map[string]any) {
			if list, ok := o["chunks"].([]any); ok {
				o["chunks"] = change(request, list)
			}
		})
	})
}
