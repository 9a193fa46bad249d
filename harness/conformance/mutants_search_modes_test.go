package conformance

import (
	"html"
	"net/http"
	"strings"

	"evalctl/daemon/protocol"
)

// amended changes what searches are answered, knowing what they said.
func editSearchBody(change func(said, o map[string]any)) wrapper {
	return editSearchAnswer(func(said map[string]any, a *captured) {
		if !a.failed() {
			a.edit(func(o map[string]any) { change(said, o) })
		}
	})
}

// everyChunk changes every chunk of a search.
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
		{"search-mode-auto-said", "a search says auto whatever was asked", editSearchBody(func(_, o map[string]any) { o["mode"] = protocol.ModeAuto }),
			[]string{"search-mode"}, nil},
		{"search-mode-ran-said", "a search that asks for no mode says the one that ran", editSearchBody(func(_, o map[string]any) { o["mode"] = o["effective_mode"] }),
			[]string{"search-mode-default"}, nil},
		{"search-effective-mode-lost", "a search does not say what ran", editSearchBody(func(_, o map[string]any) { delete(o, "effective_mode") }),
			[]string{"search-effective-mode"}, []string{"search-effective-mode-*"}},
		{"search-effective-mode-auto", "what ran is auto", editSearchBody(func(said, o map[string]any) {
			if said["mode"] == protocol.ModeAuto {
				o["effective_mode"] = protocol.ModeAuto
			}
		}), []string{"search-effective-mode-concrete"}, nil},
		{"search-effective-mode-other", "bm25 is said to be hybrid", editSearchBody(func(said, o map[string]any) {
			if said["mode"] == protocol.ModeBM25 {
				o["effective_mode"] = protocol.ModeHybrid
			}
		}), []string{"search-effective-mode-bm25"}, nil},
		{"search-mode-number-tolerated", "a mode that is no string means auto", dropValue("mode", 1.0), []string{"search-mode-number-400"}, nil},
		{"search-components-text", "component_scores are text", editEachChunk(func(c map[string]any) { c["component_scores"] = map[string]any{"bm25": "1.5"} }),
			[]string{"search-components"}, nil},
		{"search-explanation-lost", "explain is ignored", editSearchRequest(func(o map[string]any) { delete(o, "explain") }), []string{"search-explanation"}, nil},
		{"search-explanation-always", "a search explains itself unasked", editSearchRequest(func(o map[string]any) { o["explain"] = true }),
			[]string{"search-explanation-not-asked"}, nil},
		{"search-degraded-silent", "hybrid is bm25 and no reason is given", runAsBM25(protocol.ModeHybrid, func(o map[string]any) {
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
		list = append(list, mutant{"search-" + mode + "-lies", "the mode " + mode + " is bm25 in secret", runAsBM25(mode, func(o map[string]any) {
			o["mode"], o["effective_mode"] = mode, mode
		}), []string{"search-mode-" + mode + "-honest"}, nil})
	}
	return list
}

// refusesMode breaks one mode; the checks that spread names meet it too.
func rejectMode(mode string, spread ...string) mutant {
	return mutant{"search-" + mode + "-refused", "the mode " + mode + " is 400", editSearchAnswer(func(said map[string]any, a *captured) {
		if said["mode"] == mode {
			a.replaceWith(400, "{}")
		}
	}), []string{"search-mode-" + mode + "-200"}, append(spread, "search-mode-default")}
}

// standsIn answers searches in a mode by bm25, and says so as say does.
func runAsBM25(mode string, say func(o map[string]any)) wrapper {
	return replace(route("POST /search"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		asked := bodyObject(r)["mode"] == mode
		if asked {
			editBody(r, func(o map[string]any) { o["mode"] = protocol.ModeBM25 })
		}
		a := capture(next, r)
		if asked {
			a.edit(say)
		}
		a.send(w, r)
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
		{"highlights-lost", "chunks have no highlights", editEachChunk(func(c map[string]any) { delete(c, "highlights") }), []string{"search-highlights"}, nil},
		{"highlights-beyond", "highlights go on behind the text", spans(func(_ string, s map[string]any) { s["end"] = s["end"].(float64) + 100 }),
			[]string{"search-highlights-in-text"}, []string{"search-highlights-code-points"}},
		{"highlights-bytes", "highlights count bytes", spans(func(text string, s map[string]any) {
			for _, name := range []string{"start", "end"} {
				s[name] = len(string([]rune(text)[:int(s[name].(float64))]))
			}
		}), []string{"search-highlights-code-points"}, []string{"search-highlights-in-text"}},
		{"text-escaped", "texts are escaped for HTML", editEachChunk(func(c map[string]any) { c["text"] = html.EscapeString(c["text"].(string)) }),
			[]string{"search-text-verbatim"}, []string{"search-highlights-*"}},
		{"text-marked", "words that were found are marked in the text", editEachChunk(func(c map[string]any) {
			c["text"] = strings.ReplaceAll(c["text"].(string), "walrus", "<b>walrus</b>")
		}), []string{"search-text-verbatim"}, []string{"search-highlights-*"}},
	}
}
