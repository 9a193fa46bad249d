package conformance

import (
	"net/http"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
)

func filterMutants() []mutant {
	return slices.Concat(scopeMutants(), sortMutants(), questionDateMutants(), documentFilterMutants(),
		dateFilterMutants(), filterRequestMutants())
}

func scopeMutants() []mutant {
	list := []mutant{
		{"search-scope-tolerated", "a search in an unknown scope uses all documents", dropValue("scope", "galactic"),
			[]string{"search-scope-unknown-400"}, nil},
		{"search-scope-number-tolerated", "a search whose scope is not a string uses all documents",
			dropValue("scope", 1.0), []string{"search-scope-number-400"}, nil},
		{"search-scope-all-narrow", "the scope all covers only the memory folder",
			editSearchRequest(func(o map[string]any) {
				if o["scope"] == protocol.ScopeAll {
					o["filters"] = map[string]any{"path_prefix": "memory/"}
				}
			}), []string{"search-scope-all"}, nil},
	}
	for _, scope := range []string{protocol.ScopeGlobal, protocol.ScopeProject, protocol.ScopeAgent} {
		list = append(list,
			mutant{"search-scope-" + scope + "-ignored", "a search in the scope " + scope + " uses all documents",
				dropValue("scope", scope),
				[]string{"search-scope-" + scope}, nil})
	}
	return list
}

func sortMutants() []mutant {
	// asked changes the chunks of searches with a certain sort.
	asked := func(sort string, change func([]any) []any) wrapper {
		return editChunks(func(request map[string]any, list []any) []any {
			if request["sort"] != sort || len(list) < 2 {
				return list
			}
			return change(list)
		})
	}
	return []mutant{
		{"search-sort-tolerated", "a search with an unknown sort is sorted by relevance", dropValue("sort", "alphabet"),
			[]string{"search-sort-unknown-400"}, nil},
		{"search-sort-relevance-reversed", "sorted by relevance, chunks are in ascending order of their scores",
			asked(protocol.SortRelevance, func(list []any) []any { slices.Reverse(list); return list }),
			[]string{"search-sort-relevance"}, nil},
		{"search-sort-oldest", "sorted by recency, the newest document comes second",
			asked(protocol.SortRecency, func(list []any) []any {
				list[0], list[1] = list[1], list[0]
				return list
			}), []string{"search-sort-recency"}, nil},
		{"search-sort-undated-first", "sorted by recency, undated documents come first",
			asked(protocol.SortRecency, func(list []any) []any {
				last := len(list) - 1
				return slices.Concat(list[last:], list[:last])
			}),
			[]string{"search-sort-recency-undated"}, nil},
		{"search-sort-ties-ignored", "chunks with equal scores are not sorted by recency",
			editSearchRequest(func(o map[string]any) {
				if o["sort"] == protocol.SortRelevanceThenRecency {
					delete(o, "sort")
				}
			}), []string{"search-sort-relevance-then-recency"}, nil},
	}
}

func questionDateMutants() []mutant {
	return []mutant{
		{"question-date-ignored", "a search ignores a question_date without a time",
			editSearchRequest(func(o map[string]any) {
				if o["question_date"] == "2024-03-31" {
					delete(o, "question_date")
				}
			}), []string{"search-question-date-later"}, nil},
		{"question-date-dated-only", "a search with a question_date excludes undated documents",
			editSearchRequest(func(o map[string]any) {
				if o["question_date"] == "2024-03-31" {
					o["filters"] = map[string]any{"date_from": "0001-01-02"}
				}
			}), []string{"search-question-date-undated"}, nil},
		{"question-date-day-start", "a question_date without a time means the day before",
			editSearchRequest(func(o map[string]any) {
				if o["question_date"] == "2024-03-02" {
					o["question_date"] = "2024-03-01"
				}
			}), []string{"search-question-date-same-day"}, nil},
		{"question-date-time-cut", "a search ignores a question_date that has a time",
			editSearchRequest(func(o map[string]any) {
				if at, _ := o["question_date"].(string); strings.Contains(at, "T") {
					delete(o, "question_date")
				}
			}), []string{"search-question-date-time"}, nil},
		{"question-date-snake-only", "a search ignores questionDate",
			editSearchRequest(func(o map[string]any) { delete(o, "questionDate") }),
			[]string{"search-question-date-camel-case"}, nil},
		{"question-date-tolerated", "a search ignores a question_date that is not a date",
			dropValue("question_date", "yesterday"), []string{"search-question-date-invalid-400"}, nil},
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
	onlyFilter := func(name, defect, key, caughtBy string, alsoFails ...string) mutant {
		return mutant{name, defect, ignored(key), []string{caughtBy}, alsoFails}
	}
	onGet := func(name string) wrapper {
		return before(route("GET /search"), func(r *http.Request) { setQuery(r, name, "") })
	}
	return []mutant{
		onlyFilter("filter-path-prefix-ignored", "a search ignores the filter path_prefix", "path_prefix",
			"search-filter-path-prefix"),
		onlyFilter("filter-paths-ignored", "a search ignores the filter paths", "paths", "search-filter-paths",
			"search-filters-fill-top-k", "search-filter-paths-*"),
		onlyFilter("filter-session-ids-ignored", "a search ignores the filter session_ids", "session_ids",
			"search-filter-session-ids"),
		{"filter-tags-ignored", "a search ignores the filter tags", editFilters(func(filters map[string]any) {
			if list, ok := filters["tags"].([]any); ok && len(list) == 1 && len(filters) == 1 {
				delete(filters, "tags")
			}
		}), []string{"search-filter-tags"}, []string{"search-filter-tags-number-400"}},
		{"filter-tags-any", "only one of several tags has to match", editFilters(func(filters map[string]any) {
			if list, ok := filters["tags"].([]any); ok && len(list) == 2 {
				filters["tags"] = list[:1]
			}
		}), []string{"search-filter-tags-all"}, nil},
		{"filters-any", "only one of several filters has to match", editFilters(func(filters map[string]any) {
			if filters["tags"] != nil {
				delete(filters, "path_prefix")
			}
		}), []string{"search-filters-all-hold"}, nil},
		{"filters-late", "a search applies filters after top_k", replace(route("POST /search"), filterAfterTopK),
			[]string{"search-filters-fill-top-k"},
			[]string{"search-filter-paths*"}},
		{"filters-snake-only", "a search ignores the filter pathPrefix", editFilters(func(filters map[string]any) {
			if filters["path_prefix"] == nil {
				delete(filters, "pathPrefix")
			}
		}), []string{"search-filters-camel-case"}, nil},
		{"search-generated-found", "a search finds generated documents without include_generated",
			editSearchRequest(func(o map[string]any) {
				if o["filters"] == nil {
					o["filters"] = map[string]any{"include_generated": true}
				}
			}), []string{"search-generated-hidden"}, nil},
		onlyFilter("search-generated-never", "a search ignores include_generated", "include_generated",
			"search-generated-shown"),
		{"search-get-path-prefix-ignored", "GET /search ignores path_prefix", onGet("path_prefix"),
			[]string{"search-get-path-prefix"}, nil},
		{"search-get-tags-ignored", "GET /search ignores tags", onGet("tags"), []string{"search-get-tags"}, nil},
	}
}

// filterAfterTopK applies the filter paths to the results of a search without filters.
func filterAfterTopK(w http.ResponseWriter, r *http.Request, next http.Handler) {
	filters, _ := bodyObject(r)["filters"].(map[string]any)
	wanted, _ := filters["paths"].([]any)
	if len(wanted) == 1 {
		editBody(r, func(o map[string]any) { delete(o, "filters") })
	}
	a := capture(next, r)
	if len(wanted) == 1 {
		a.Edit(func(o map[string]any) {
			list, _ := o["chunks"].([]any)
			o["chunks"] = slices.DeleteFunc(list, func(c any) bool { return pathOfChunk(c) != wanted[0] })
		})
	}
	a.Send(w, r)
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
		{"filter-date-from-ignored", "a search ignores the filter date_from", changed("date_from", "2024-04-10", nil),
			[]string{"search-filter-date-from"}, nil},
		{"filter-date-to-ignored", "a search ignores the filter date_to", changed("date_to", "2024-03-31", nil),
			[]string{"search-filter-date-to"}, nil},
		{"filter-date-to-day-start", "a date_to without a time means the beginning of that day",
			changed("date_to", "2024-03-02", "2024-03-02T00:00:00Z"), []string{"search-filter-date-to-day"}, nil},
		{"filter-date-undated", "a filter by date includes undated documents", changed("date_from", "2020-01-01", nil),
			[]string{"search-filter-date-undated"}, nil},
		{"filter-date-tolerated", "a search ignores a filter with a date that does not exist",
			changed("date_from", "2024-02-30", nil), []string{"search-filter-date-invalid-400"}, nil},
		{"filter-range-tolerated", "a filter whose date_to is earlier than its date_from finds nothing",
			after(route("POST /search"), func(_ *http.Request, a *captured) {
				if a.Status == 400 && strings.Contains(a.Body.String(), "before date_from") {
					a.ReplaceWith(200, `{"chunks":[]}`)
				}
			}), []string{"search-filter-range-inverted-400"}, nil},
	}
}

func filterRequestMutants() []mutant {
	dropped := func(name string) wrapper { return editFilters(func(filters map[string]any) { delete(filters, name) }) }
	return []mutant{
		{"filters-empty-refused", "a search with an empty filters object is rejected with 400",
			editSearchAnswer(func(request map[string]any, a *captured) {
				if filters, ok := request["filters"].(map[string]any); ok && len(filters) == 0 {
					a.ReplaceWith(400, `{"title":"No filters"}`)
				}
			}), []string{"search-filters-empty"}, nil},
		{"filters-unknown-ignored", "a search ignores unknown filters", dropped("colour"),
			[]string{"search-filters-unknown-400"}, nil},
		{"filters-array-ignored", "a search ignores filters that are not an object",
			editSearchRequest(func(o map[string]any) {
				if _, ok := o["filters"].([]any); ok {
					delete(o, "filters")
				}
			}), []string{"search-filters-array-400"}, nil},
		{"filter-text-as-list", "a string is accepted as a list of one path", editFilters(func(filters map[string]any) {
			if path, ok := filters["paths"].(string); ok {
				filters["paths"] = []any{path}
			}
		}), []string{"search-filter-paths-text-400"}, nil},
		{"filter-tags-as-text", "numbers are accepted as tags", editFilters(func(filters map[string]any) {
			if list, ok := filters["tags"].([]any); ok && list[0] == 1.0 {
				filters["tags"] = []any{"1"}
			}
		}), []string{"search-filter-tags-number-400"}, nil},
		{"filter-paths-cut", "a list of paths is truncated", editFilters(func(filters map[string]any) {
			if list, ok := filters["paths"].([]any); ok && len(list) > 100 {
				filters["paths"] = list[:100]
			}
		}), []string{"search-filter-paths-many-400"}, nil},
		{"filters-first-spelling", "of two spellings of a filter, one is ignored",
			editFilters(func(filters map[string]any) {
				if filters["path_prefix"] != nil {
					delete(filters, "pathPrefix")
				}
			}), []string{"search-filters-disagree-400"}, nil},
		{"filter-paths-none-ignored", "an empty list of paths selects all documents",
			editFilters(func(filters map[string]any) {
				if list, ok := filters["paths"].([]any); ok && len(list) == 0 {
					delete(filters, "paths")
				}
			}), []string{"search-filter-paths-none"}, nil},
	}
}
