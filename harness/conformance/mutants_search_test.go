package conformance

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

func searchMutants() []mutant {
	search := anyOf("POST /search", "GET /search")
	edited := func(change func(o map[string]any)) wrapper {
		return after(search, func(_ *http.Request, a *answer) { a.edit(change) })
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
		return before(route("POST /search"), func(r *http.Request) { setObject(r, change) })
	}
	return []mutant{
		{"search-null", "chunks is null when nothing is found", edited(func(o map[string]any) {
			if list, ok := o["chunks"].([]any); ok && len(list) == 0 {
				o["chunks"] = nil
			}
		}), []string{"search-chunks-empty"}, nil},
		{"search-camel-case", "search answers in camelCase", after(search, func(_ *http.Request, a *answer) {
			a.replace(`"took_ms"`, `"tookMs"`)
			a.replace(`"chunk_id"`, `"chunkId"`)
		}), []string{"search-snake-case", "search-took-ms", "search-chunk-id"}, nil},
		{"search-ascending", "the worst chunk comes first", chunks(func(list []any) []any { slices.Reverse(list); return list }),
			[]string{"search-scores-descend"}, nil},
		{"search-top-k-ignored", "top_k is ignored", key(func(o map[string]any) { delete(o, "top_k"); delete(o, "topK") }),
			[]string{"search-top-k", "search-top-k-camel-case"}, []string{"limits-search-top-k-*", "search-top-k-text-400", "search-spellings-disagree-400"}},
		{"search-mode-tolerated", "an unknown mode means auto", key(func(o map[string]any) {
			if o["mode"] == "psychic" {
				delete(o, "mode")
			}
		}), []string{"search-mode-unknown-400"}, nil},
		{"search-path-lost", "chunks have no path", field("path"), []string{"search-chunk-path", "search-finds"}, []string{"search-*", "ask-*", "records-found"}},
		{"search-text-lost", "chunks have no text", field("text"), []string{"search-chunk-text"}, nil},
		{"search-stale", "a search is answered as it was the first time", stale(), []string{"search-deleted"}, []string{"search-*", "ask-*"}},
		{"search-query-long", "a search may have any length", after(search, func(_ *http.Request, a *answer) {
			if a.status == 400 && strings.Contains(a.body.String(), "4096") {
				a.become(200, `{"chunks":[]}`)
			}
		}), []string{"limits-search-query-400"}, nil},
	}
}

// stale remembers what every search that found something found.
func stale() wrapper {
	var mu sync.Mutex
	cache := map[string]*answer{}
	return instead(route("POST /search"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		defer mu.Unlock()
		key := r.URL.Path + bodyOf(r)
		if cache[key] == nil {
			a := ask(next, r)
			if strings.Contains(a.body.String(), `"chunks":[{`) {
				cache[key] = a
			}
			a.send(w, r)
			return
		}
		cache[key].send(w, r)
	})
}

func brainMutants() []mutant {
	return []mutant{
		{"health-503", "/healthz is 503", instead(func(r *http.Request) bool { return r.URL.Path == "/healthz" }, refuses(503)),
			[]string{"brains-health-200"}, []string{"brains-health-*"}},
		{"health-closed", "/healthz needs a token", instead(func(r *http.Request) bool {
			return r.URL.Path == "/healthz" && r.Header.Get("Authorization") == ""
		}, refuses(401)), []string{"brains-health-open"}, nil},
		{"brain-delete-unconfirmed", "a brain is deleted without confirmation", before(route("DELETE "), func(r *http.Request) {
			r.Header.Set("X-Confirm-Delete", "yes")
		}), []string{"brains-delete-unconfirmed-428"}, nil},
		{"brain-twice", "a brain that exists is made again", after(func(r *http.Request) bool { return r.URL.Path == "/v1/brains" }, status(409, 201)),
			[]string{"brains-create-twice-409"}, nil},
		{"brain-slug-lost", "brains have no slug", after(func(r *http.Request) bool { return r.URL.Path == "/v1/brains" }, func(_ *http.Request, a *answer) {
			a.edit(func(o map[string]any) { delete(o, "slug") })
		}), []string{"brains-create-slug"}, nil},
		{"brain-public", "brains are public by default", after(func(r *http.Request) bool { return r.URL.Path == "/v1/brains" }, func(_ *http.Request, a *answer) {
			a.replace(`"private"`, `"public"`)
		}), []string{"brains-create-private"}, nil},
	}
}
