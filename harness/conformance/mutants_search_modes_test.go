package conformance

import (
	"html"
	"net/http"
	"strings"

	"evalctl/daemon/protocol"
)

// editSearchBody changes the bodies of successful responses, depending on those of the requests.
func editSearchBody(change func(request, o map[string]any)) wrapper {
	return editSearchAnswer(func(request map[string]any, a *captured) {
		if !a.Failed() {
			a.Edit(func(o map[string]any) { change(request, o) })
		}
	})
}

// editEachChunk changes every chunk in the responses to searches.
func editEachChunk(change func(c map[string]any)) wrapper {
	return editChunks(func(_ map[string]any, list []any) []any {
		for _, c := range list {
			change(c.(map[string]any))
		}
		return list
	})
}

func modeMutants() []mutant {
	list := []mutant{
		{"search-mode-auto-said", "the mode of a search is always auto",
			editSearchBody(func(_, o map[string]any) { o["mode"] = protocol.ModeAuto }),
			[]string{"search-mode"}, nil},
		{"search-mode-ran-said", "the mode of a search is the mode that ran",
			editSearchBody(func(_, o map[string]any) { o["mode"] = o["effective_mode"] }),
			[]string{"search-mode-default"}, nil},
		{"search-effective-mode-lost", "a search has no effective_mode",
			editSearchBody(func(_, o map[string]any) { delete(o, "effective_mode") }),
			[]string{"search-effective-mode"}, []string{"search-effective-mode-*"}},
		{"search-effective-mode-auto", "the effective_mode of a search is auto",
			editSearchBody(func(request, o map[string]any) {
				if request["mode"] == protocol.ModeAuto {
					o["effective_mode"] = protocol.ModeAuto
				}
			}), []string{"search-effective-mode-concrete"}, nil},
		{"search-effective-mode-other", "the effective_mode of a search in bm25 is hybrid",
			editSearchBody(func(request, o map[string]any) {
				if request["mode"] == protocol.ModeBM25 {
					o["effective_mode"] = protocol.ModeHybrid
				}
			}), []string{"search-effective-mode-bm25"}, nil},
		{"search-mode-number-tolerated", "a search whose mode is not a string runs in auto", dropValue("mode", 1.0),
			[]string{"search-mode-number-400"}, nil},
		{"search-components-text", "the component_scores are strings",
			editEachChunk(func(c map[string]any) { c["component_scores"] = map[string]any{"bm25": "1.5"} }),
			[]string{"search-components"}, nil},
		{"search-explanation-lost", "a search ignores explain",
			editSearchRequest(func(o map[string]any) { delete(o, "explain") }), []string{"search-explanation"}, nil},
		{"search-explanation-always", "a search always returns an explanation",
			editSearchRequest(func(o map[string]any) { o["explain"] = true }),
			[]string{"search-explanation-not-asked"}, nil},
		{"search-degraded-silent", "a search in hybrid runs in bm25 without a reason",
			runAsBM25(protocol.ModeHybrid, func(o map[string]any) {
				o["mode"] = protocol.ModeHybrid
			}), []string{"search-mode-hybrid-honest"}, nil},
	}
	list = append(list,
		rejectMode(protocol.ModeAuto, "search-effective-mode*"),
		rejectMode(protocol.ModeBM25, "search-mode", "search-effective-mode-bm25", "search-components"))
	for _, mode := range protocol.EffectiveModes {
		if mode == protocol.ModeBM25 {
			continue
		}
		list = append(list,
			mutant{"search-" + mode + "-lies", "a search in " + mode + " runs in bm25 and claims " + mode,
				runAsBM25(mode, func(o map[string]any) {
					o["mode"], o["effective_mode"] = mode, mode
				}), []string{"search-mode-" + mode + "-honest"}, nil})
	}
	return list
}

// rejectMode rejects searches in one mode. alsoFails are other checks that use it.
func rejectMode(mode string, alsoFails ...string) mutant {
	return mutant{"search-" + mode + "-refused", "a search in " + mode + " is rejected with 400",
		editSearchAnswer(func(request map[string]any, a *captured) {
			if request["mode"] == mode {
				a.ReplaceWith(400, "{}")
			}
		}), []string{"search-mode-" + mode + "-200"}, append(alsoFails, "search-mode-default")}
}

// runAsBM25 runs searches in a mode as bm25, and changes the responses.
func runAsBM25(mode string, change func(o map[string]any)) wrapper {
	return replace(route("POST /search"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		asked := bodyObject(r)["mode"] == mode
		if asked {
			editBody(r, func(o map[string]any) { o["mode"] = protocol.ModeBM25 })
		}
		a := capture(next, r)
		if asked {
			a.Edit(change)
		}
		a.Send(w, r)
	})
}

func highlightMutants() []mutant {
	spans := func(change func(text string, span map[string]any)) wrapper {
		return editEachChunk(func(c map[string]any) {
			list, _ := c["highlights"].([]any)
			for _, s := range list {
				change(c["text"].(string), s.(map[string]any))
			}
		})
	}
	return []mutant{
		{"highlights-lost", "chunks have no highlights",
			editEachChunk(func(c map[string]any) { delete(c, "highlights") }), []string{"search-highlights"}, nil},
		{"highlights-beyond", "highlights end after the text",
			spans(func(_ string, s map[string]any) { s["end"] = s["end"].(float64) + 100 }),
			[]string{"search-highlights-in-text"}, []string{"search-highlights-code-points"}},
		{"highlights-bytes", "the offsets of highlights are in bytes", spans(func(text string, s map[string]any) {
			for _, name := range []string{"start", "end"} {
				s[name] = len(string([]rune(text)[:int(s[name].(float64))]))
			}
		}), []string{"search-highlights-code-points"}, []string{"search-highlights-in-text"}},
		{"text-escaped", "the texts of chunks are HTML-escaped",
			editEachChunk(func(c map[string]any) { c["text"] = html.EscapeString(c["text"].(string)) }),
			[]string{"search-text-verbatim"}, []string{"search-highlights-*"}},
		{"text-marked", "the texts of chunks have markup around matches", editEachChunk(func(c map[string]any) {
			c["text"] = strings.ReplaceAll(c["text"].(string), "walrus", "<b>walrus</b>")
		}), []string{"search-text-verbatim"}, []string{"search-highlights-*"}},
	}
}
