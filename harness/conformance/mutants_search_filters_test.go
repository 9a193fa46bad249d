package conformance

import (
	"net/http"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
)

// saying changes the body of searches.
func editSearchRequest(change func(o map[string]any)) wrapper {
	return before(route("POST /search"), func(r *http.Request) { editBody(r, change) })
}

// filtering changes the filters of searches.
func editFilters(change func(filters map[string]any)) wrapper {
	return editSearchRequest(func(o map[string]any) {
		if filters, ok := o["filters"].(map[string]any); ok {
			change(filters)
		}
	})
}

// answering changes what a search with some body is answered.
func editSearchAnswer(change func(said map[string]any, a *captured)) wrapper {
	return replace(route("POST /search"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		said := bodyObject(r)
		a := capture(next, r)
		change(said, a)
		a.send(w, r)
	})
}

// found changes the chunks of searches.
func editChunks(change func(said map[string]any, chunks []any) []any) wrapper {
	return editSearchAnswer(func(said map[string]any, a *captured) {
		a.edit(func(o map[string]any) {
			if list, ok := o["chunks"].([]any); ok {
				o["chunks"] = change(said, list)
			}
		})
	})
}

func pathOfChunk(chunk any) string { return chunk.(map[string]any)["path"].(string) }

// tolerates takes a value away before the daemon can refuse it.
func dropValue(name string, value any) wrapper {
	return editSearchRequest(func(o map[string]any) {
		if o[name] == value {
			delete(o, name)
		}
	})
}

func filterMutants() []mutant {
	return slices.Concat(scopeMutants(), sortMutants(), questionDateMutants(), documentFilterMutants(), dateFilterMutants(), filterRequestMutants())
}

func scopeMutants() []mutant {
	list := []mutant{
		{"search-scope-tolerated", "an unknown scope means all", dropValue("scope", "galactic"), []string{"search-scope-unknown-400"}, nil},
		{"search-scope-number-tolerated", "a scope that is no string means all", dropValue("scope", 1.0), []string{"search-scope-number-400"}, nil},
		{"search-scope-all-narrow", "the scope all is the memory", editSearchRequest(func(o map[string]any) {
			if o["scope"] == protocol.ScopeAll {
				o["filters"] = map[string]any{"path_prefix": "memory/"}
			}
		}), []string{"search-scope-all"}, nil},
	}
	for _, scope := range []string{protocol.ScopeGlobal, protocol.ScopeProject, protocol.ScopeAgent} {
		list = append(list, mutant{"search-scope-" + scope + "-ignored", "the scope " + scope + " is all", dropValue("scope", scope),
			[]string{"search-scope-" + scope}, nil})
	}
	return list
}

func sortMutants() []mutant {
	// asked changes the order of searches that ask for one.
	asked := func(sort string, change func([]any) []any) wrapper {
		return editChunks(func(said map[string]any, list []any) []any {
			if said["sort"] != sort || len(list) < 2 {
				return list
			}
			return change(list)
		})
	}
	return []mutant{
		{"search-sort-tolerated", "an unknown order means relevance", dropValue("sort", "alphabet"), []string{"search-sort-unknown-400"}, nil},
		{"search-sort-relevance-reversed", "sorted by relevance, the worst chunk comes first", asked(protocol.SortRelevance, func(list []any) []any { slices.Reverse(list); return list }),
			[]string{"search-sort-relevance"}, nil},
		{"search-sort-oldest", "sorted by recency, the oldest document comes first", asked(protocol.SortRecency, func(list []any) []any {
			list[0], list[1] = list[1], list[0]
			return list
		}), []string{"search-sort-recency"}, nil},
		{"search-sort-undated-first", "sorted by recency, undated documents come first", asked(protocol.SortRecency, func(list []any) []any {
			last := len(list) - 1
			return slices.Concat(list[last:], list[:last])
		}),
			[]string{"search-sort-recency-undated"}, nil},
		{"search-sort-ties-ignored", "equals are not sorted by recency", editSearchRequest(func(o map[string]any) {
			if o["sort"] == protocol.SortRelevanceThenRecency {
				delete(o, "sort")
			}
		}), []string{"search-sort-relevance-then-recency"}, nil},
	}
}

func questionDateMutants() []mutant {
	return []mutant{
		{"question-date-ignored", "question_date is ignored where it is a day", editSearchRequest(func(o map[string]any) {
			if o["question_date"] == "2024-03-31" {
				delete(o, "question_date")
			}
		}), []string{"search-question-date-later"}, nil},
		{"question-date-dated-only", "with a question_date undated documents are left out", editSearchRequest(func(o map[string]any) {
			if o["question_date"] == "2024-03-31" {
				o["filters"] = map[string]any{"date_from": "0001-01-02"}
			}
		}), []string{"search-question-date-undated"}, nil},
		{"question-date-day-start", "question_date is the beginning of its day", editSearchRequest(func(o map[string]any) {
			if day, _ := o["question_date"].(string); len(day) == len("2024-03-02") {
				o["question_date"] = day + "T00:00:00Z"
			}
		}), []string{"search-question-date-same-day"}, nil},
		{"question-date-time-cut", "the time of day of a question_date is ignored", editSearchRequest(func(o map[string]any) {
			if at, _ := o["question_date"].(string); strings.Contains(at, "T") {
				o["question_date"], _, _ = strings.Cut(at, "T")
			}
		}), []string{"search-question-date-time"}, nil},
		{"question-date-snake-only", "questionDate is an unknown key", editSearchRequest(func(o map[string]any) { delete(o, "questionDate") }),
			[]string{"search-question-date-camel-case"}, nil},
		{"question-date-tolerated", "a question_date that is no date is ignored", dropValue("question_date", "yesterday"), []string{"search-question-date-invalid-400"}, nil},
	}
}

func documentFilterMutants() []mutant {
	ignored := func(name string) wrapper {
		return editFilters(func(filters map[string]any) {
			if len(filters) == 1 {
				delete(filters, name)
			}
		})
	}
	lone := func(name, breaks string, key string, caught string, spread ...string) mutant {
		return mutant{name, breaks, ignored(key), []string{caught}, spread}
	}
	onGet := func(name string) wrapper {
		return before(route("GET /search"), func(r *http.Request) { setQuery(r, name, "") })
	}
	return []mutant{
		lone("filter-path-prefix-ignored", "path_prefix is ignored", "path_prefix", "search-filter-path-prefix"),
		lone("filter-paths-ignored", "paths is ignored", "paths", "search-filter-paths", "search-filters-fill-top-k", "search-filter-paths-*"),
		lone("filter-session-ids-ignored", "session_ids is ignored", "session_ids", "search-filter-session-ids"),
		{"filter-tags-ignored", "tags is ignored", editFilters(func(filters map[string]any) {
			if list, ok := filters["tags"].([]any); ok && len(list) == 1 && len(filters) == 1 {
				delete(filters, "tags")
			}
		}), []string{"search-filter-tags"}, []string{"search-filter-tags-number-400"}},
		{"filter-tags-any", "one of the tags is enough", editFilters(func(filters map[string]any) {
			if list, ok := filters["tags"].([]any); ok && len(list) == 2 {
				filters["tags"] = list[:1]
			}
		}), []string{"search-filter-tags-all"}, nil},
		{"filters-any", "one of the filters is enough", editFilters(func(filters map[string]any) {
			if filters["tags"] != nil {
				delete(filters, "path_prefix")
			}
		}), []string{"search-filters-all-hold"}, nil},
		{"filters-late", "top_k counts before the filters", replace(route("POST /search"), filterAfterTopK), []string{"search-filters-fill-top-k"},
			[]string{"search-filter-paths*"}},
		{"filters-snake-only", "pathPrefix is no filter", editFilters(func(filters map[string]any) {
			if filters["path_prefix"] == nil {
				delete(filters, "pathPrefix")
			}
		}), []string{"search-filters-camel-case"}, nil},
		{"search-generated-found", "generated documents are found unasked", editSearchRequest(func(o map[string]any) {
			if o["filters"] == nil {
				o["filters"] = map[string]any{"include_generated": true}
			}
		}), []string{"search-generated-hidden"}, nil},
		lone("search-generated-never", "include_generated is ignored", "include_generated", "search-generated-shown"),
		{"search-get-path-prefix-ignored", "GET /search ignores path_prefix", onGet("path_prefix"), []string{"search-get-path-prefix"}, nil},
		{"search-get-tags-ignored", "GET /search ignores tags", onGet("tags"), []string{"search-get-tags"}, nil},
	}
}

// filteredLate applies paths to what a search without it finds.
func filterAfterTopK(w http.ResponseWriter, r *http.Request, next http.Handler) {
	filters, _ := bodyObject(r)["filters"].(map[string]any)
	wanted, _ := filters["paths"].([]any)
	if len(wanted) == 1 {
		editBody(r, func(o map[string]any) { delete(o, "filters") })
	}
	a := capture(next, r)
	if len(wanted) == 1 {
		a.edit(func(o map[string]any) {
			list, _ := o["chunks"].([]any)
			o["chunks"] = slices.DeleteFunc(list, func(c any) bool { return pathOfChunk(c) != wanted[0] })
		})
	}
	a.send(w, r)
}

func dateFilterMutants() []mutant {
	changed := func(name string, is, becomes any) wrapper {
		return editFilters(func(filters map[string]any) {
			if filters[name] == is && len(filters) == 1 {
				delete(filters, name)
				if becomes != nil {
					filters[name] = becomes
				}
			}
		})
	}
	return []mutant{
		{"filter-date-from-ignored", "date_from is ignored", changed("date_from", "2024-04-10", nil), []string{"search-filter-date-from"}, nil},
		{"filter-date-to-ignored", "date_to is ignored", changed("date_to", "2024-03-31", nil), []string{"search-filter-date-to"}, nil},
		{"filter-date-to-day-start", "date_to is the beginning of its day", changed("date_to", "2024-03-02", "2024-03-02T00:00:00Z"), []string{"search-filter-date-to-day"}, nil},
		{"filter-date-undated", "undated documents are in every range of dates", changed("date_from", "2020-01-01", nil), []string{"search-filter-date-undated"}, nil},
		{"filter-date-tolerated", "a date that does not exist is ignored", changed("date_from", "2024-02-30", nil), []string{"search-filter-date-invalid-400"}, nil},
		{"filter-range-tolerated", "a range that ends before it begins finds nothing", after(route("POST /search"), func(_ *http.Request, a *captured) {
			if a.status == 400 && strings.Contains(a.body.String(), "before date_from") {
				a.replaceWith(200, `{"chunks":[]}`)
			}
		}), []string{"search-filter-range-inverted-400"}, nil},
	}
}

func filterRequestMutants() []mutant {
	dropped := func(name string) wrapper { return editFilters(func(filters map[string]any) { delete(filters, name) }) }
	return []mutant{
		{"filters-empty-refused", "filters without a key are 400", editSearchAnswer(func(said map[string]any, a *captured) {
			if filters, ok := said["filters"].(map[string]any); ok && len(filters) == 0 {
				a.replaceWith(400, `{"title":"No filters"}`)
			}
		}), []string{"search-filters-empty"}, nil},
		{"filters-unknown-ignored", "unknown filters are ignored", dropped("colour"), []string{"search-filters-unknown-400"}, nil},
		{"filters-array-ignored", "filters that are no object are ignored", editSearchRequest(func(o map[string]any) {
			if _, ok := o["filters"].([]any); ok {
				delete(o, "filters")
			}
		}), []string{"search-filters-array-400"}, nil},
		{"filter-text-as-list", "one path may stand for a list of them", editFilters(func(filters map[string]any) {
			if path, ok := filters["paths"].(string); ok {
				filters["paths"] = []any{path}
			}
		}), []string{"search-filter-paths-text-400"}, nil},
		{"filter-tags-as-text", "numbers are taken as tags", editFilters(func(filters map[string]any) {
			if list, ok := filters["tags"].([]any); ok && list[0] == 1.0 {
				filters["tags"] = []any{"1"}
			}
		}), []string{"search-filter-tags-number-400"}, nil},
		{"filter-paths-cut", "a list of paths is cut", editFilters(func(filters map[string]any) {
			if list, ok := filters["paths"].([]any); ok && len(list) > 100 {
				filters["paths"] = list[:100]
			}
		}), []string{"search-filter-paths-many-400"}, nil},
		{"filters-first-spelling", "of two spellings of a filter one wins", editFilters(func(filters map[string]any) {
			if filters["path_prefix"] != nil {
				delete(filters, "pathPrefix")
			}
		}), []string{"search-filters-disagree-400"}, nil},
		{"filter-paths-none-ignored", "no path at all is every path", editFilters(func(filters map[string]any) {
			if list, ok := filters["paths"].([]any); ok && len(list) == 0 {
				delete(filters, "paths")
			}
		}), []string{"search-filter-paths-none"}, nil},
	}
}
