package requirements

import (
	"fmt"
	"maps"
	"slices"

	"evalctl/daemon/protocol"
)

// Documents about one animal, so that a search shows which ones a filter selects. The most relevant
// one is not the newest.
const (
	march   = seeds + "march.md"
	april   = seeds + "april.md"
	undated = seeds + "undated.md"

	marchText = "---\ndate: 2024-03-02T18:00:00Z\ntags: [sea, north]\nsession_id: s-march\n---\n\n" +
		"The walrus meets another walrus.\n"
	aprilText = "---\ndate: 2024-04-10\ntags: [sea]\nsession_id: s-april\n---\n\n" +
		"The walrus swims from the harbour to the distant island.\n"
	undatedText = "Walrus, walrus, walrus!\n"
)

// putSearchable writes documents, given as paths and contents in turn, and waits until a search for
// a word that all of them contain finds each.
func putSearchable(word string, docs ...string) step {
	var puts, found []step
	for pair := range slices.Chunk(docs, 2) {
		puts = append(puts, put(pair[0], pair[1]))
		found = append(found, awaitFound(word, pair[0]))
	}
	return setup(append(puts, found...)...)
}

var putWalruses = putSearchable("walrus", march, marchText, april, aprilText, undated, undatedText)

// walrusSearch searches for the word that all documents of putWalruses contain. more adds fields.
func walrusSearch(more object) request {
	fields := object{"query": "walrus"}
	maps.Copy(fields, more)
	return searchOf(fields)
}

func filteredSearch(filters any) request { return walrusSearch(object{"filters": filters}) }

// expectPaths requires the chunks of a search to have certain paths and not to have others.
func expectPaths(r request, included, excluded []string) step {
	return observe(r, 200, chunksMatch(func(chunks []object) error {
		got := pathsOf(chunks)
		for _, p := range included {
			if !slices.Contains(got, p) {
				return inResult("does not find a document", "want %s among the paths, got %q", p, got)
			}
		}
		for _, p := range excluded {
			if slices.Contains(got, p) {
				return inResult("finds what it should not", "want %s not among the paths, got %q", p, got)
			}
		}
		return nil
	}))
}

// expectOrder requires a chunk of one document before a chunk of another.
func expectOrder(r request, first, second string) step {
	return observe(r, 200, chunksMatch(func(chunks []object) error {
		got := pathsOf(chunks)
		a, b := slices.Index(got, first), slices.Index(got, second)
		if a < 0 || b < 0 || a > b {
			return fmt.Errorf("want %s before %s, got %q", first, second, got)
		}
		return nil
	}))
}

// selects requires filters to select some documents of putWalruses and not others.
func selects(filters object, included []string, excluded ...string) []step {
	return []step{putWalruses, expectPaths(filteredSearch(filters), included, excluded)}
}

// newerFirstOnTie requires two chunks in descending order of their scores, and the one at the path
// newer first if the scores are equal.
func newerFirstOnTie(newer string) assertion {
	return chunksMatch(func(chunks []object) error {
		if len(chunks) != 2 {
			return fmt.Errorf("want 2 chunks, got %q", pathsOf(chunks))
		}
		a, _ := chunks[0]["score"].(float64)
		b, _ := chunks[1]["score"].(float64)
		if a < b || a == b && chunks[0]["path"] != newer {
			return fmt.Errorf("want the higher score first, or %s if they are equal: got %q with scores %v, %v",
				newer, pathsOf(chunks), a, b)
		}
		return nil
	})
}

func searchScopeChecks() []check {
	path := map[string]string{
		"": seeds + "walrus.md", "global": "memory/global/walrus.md",
		"project": "memory/project/zoo/walrus.md", "agent": "memory/agent/walrus.md",
	}
	everywhere := putSearchable("walrus", path[""], "A walrus in the attic.",
		path["global"], "A walrus in the kitchen.", path["project"], "A walrus in the garden.",
		path["agent"], "A walrus in the cellar.")
	var checks []check
	for _, scope := range []string{protocol.ScopeGlobal, protocol.ScopeProject, protocol.ScopeAgent} {
		selected := walrusSearch(object{"scope": scope})
		others := maps.Clone(path)
		delete(others, scope)
		checks = append(checks, should("search-scope-"+scope, "4.1",
			"A search in the scope "+scope+" finds only documents below memory/"+scope+"/.", everywhere,
			expectPaths(selected, []string{path[scope]}, slices.Sorted(maps.Values(others)))))
	}
	return append(checks,
		should("search-scope-all", "4.1", "A search in the scope all finds documents in every folder.", everywhere,
			expectPaths(walrusSearch(object{"scope": protocol.ScopeAll}), slices.Sorted(maps.Values(path)), nil)),
		should("search-scope-unknown-400", "4.1", "A search in an unknown scope is rejected with 400.",
			expect(walrusSearch(object{"scope": "galactic"}), 400)),
		should("search-scope-number-400", "4.1", "A search whose scope is not a string is rejected with 400.",
			expect(walrusSearch(object{"scope": 1}), 400)),
	)
}

func searchSortChecks() []check {
	older, newer := seeds+"pond.md", seeds+"reed.md"
	equallyRelevant := putSearchable("otter",
		older, "---\ndate: 2024-01-01\n---\n\nThe otter likes amber.\n",
		newer, "---\ndate: 2024-02-01\n---\n\nThe otter likes coral.\n")
	sorted := func(order string) request { return walrusSearch(object{"sort": order}) }
	return []check{
		should("search-sort-relevance", "4.1", "Sorted by relevance, chunks are in descending order of their scores.",
			putWalruses, inspect(sorted(protocol.SortRelevance), 200, scoresDescend)),
		should("search-sort-recency", "4.1", "Sorted by recency, chunks of newer documents come first.",
			putWalruses, expectOrder(sorted(protocol.SortRecency), april, march)),
		should("search-sort-recency-undated", "4.1",
			"Sorted by recency, chunks of undated documents come after chunks of dated ones.",
			putWalruses, expectOrder(sorted(protocol.SortRecency), march, undated)),
		should("search-sort-relevance-then-recency", "4.1",
			"Sorted by relevance then recency, chunks with equal scores are in descending order of their dates.",
			equallyRelevant,
			inspect(searchOf(object{"query": "otter", "sort": protocol.SortRelevanceThenRecency}), 200,
				newerFirstOnTie(newer))),
		should("search-sort-unknown-400", "4.1", "A search with an unknown sort is rejected with 400.",
			expect(sorted("alphabet"), 400)),
	}
}

func searchQuestionDateChecks() []check {
	asOf := func(date string) request { return walrusSearch(object{"question_date": date}) }
	return []check{
		should("search-question-date-later", "4.1",
			"A search with a question_date excludes documents with a later date.",
			putWalruses, expectPaths(asOf("2024-03-31"), []string{march}, []string{april})),
		should("search-question-date-undated", "4.1", "A search with a question_date includes undated documents.",
			putWalruses, expectPaths(asOf("2024-03-31"), []string{undated}, nil)),
		should("search-question-date-same-day", "4.1", "A question_date without a time means the end of that day.",
			putWalruses, expectPaths(asOf("2024-03-02"), []string{march}, nil)),
		should("search-question-date-time", "4.1", "A question_date may have a time and an offset.", putWalruses,
			expectPaths(asOf("2024-03-01T19:30:00+02:00"), []string{undated}, []string{march}),
			expectPaths(asOf("2024-03-02T20:30:00+02:00"), []string{march}, nil)),
		should("search-question-date-camel-case", "4.1", "A search accepts questionDate in place of question_date.",
			putWalruses,
			expectPaths(walrusSearch(object{"questionDate": "2024-03-31"}), []string{march}, []string{april})),
		should("search-question-date-invalid-400", "4.1",
			"A search whose question_date is not a date is rejected with 400.", expect(asOf("yesterday"), 400)),
	}
}

func searchDocumentFilterChecks() []check {
	hidden := seeds + "_walrus.md"
	putHidden := put(hidden, "A generated walrus.")
	shown := filteredSearch(object{"include_generated": true})
	onlyApril := walrusSearch(object{"top_k": 1, "topK": 1, "filters": object{"paths": []string{april}}})
	return []check{
		should("search-filter-path-prefix", "4.1",
			"The filter path_prefix selects documents whose path has that prefix.",
			selects(object{"path_prefix": seeds + "ma"}, []string{march}, april, undated)...),
		should("search-filter-paths", "4.1", "The filter paths selects documents with one of those paths.",
			selects(object{"paths": []string{april, undated}}, []string{april, undated}, march)...),
		should("search-filter-tags", "4.1", "The filter tags selects documents with that tag.",
			selects(object{"tags": []string{"sea"}}, []string{march, april}, undated)...),
		should("search-filter-tags-all", "4.1", "The filter tags with several tags selects documents with all of them.",
			selects(object{"tags": []string{"sea", "north"}}, []string{march}, april)...),
		should("search-filter-session-ids", "4.1", "The filter session_ids selects documents of one of those sessions.",
			selects(object{"session_ids": []string{"s-april", "s-none"}}, []string{april}, march, undated)...),
		should("search-filters-all-hold", "4.1", "Several filters select documents that match all of them.",
			selects(object{"tags": []string{"sea"}, "path_prefix": seeds + "ap"}, []string{april}, march)...),
		should("search-filters-fill-top-k", "4.1", "A search applies filters before top_k.",
			putWalruses, expectPaths(onlyApril, []string{april}, nil)),
		should("search-filters-camel-case", "4.1", "The keys of filters may be in camelCase.",
			selects(object{"pathPrefix": seeds + "ma"}, []string{march}, april)...),
		should("search-generated-hidden", "2", "A search does not find generated documents.",
			putHidden, putWalruses, expectPaths(walrusSearch(nil), []string{march}, []string{hidden})),
		should("search-generated-shown", "2", "With include_generated, a search finds generated documents.",
			putHidden, putWalruses, expectPaths(shown, []string{march, hidden}, nil)),
		should("search-get-path-prefix", "4.4", "GET /search accepts path_prefix.", putWalruses,
			expectPaths(brainRequest("GET", "/search", "q", "walrus", "path_prefix", seeds+"ma"),
				[]string{march}, []string{april})),
		should("search-get-tags", "4.4", "GET /search accepts tags, separated by commas.", putWalruses,
			expectPaths(brainRequest("GET", "/search", "q", "walrus", "tags", "sea,north"),
				[]string{march}, []string{april})),
	}
}

func searchDateFilterChecks() []check {
	return []check{
		should("search-filter-date-from", "4.1",
			"The filter date_from selects documents with that date or a later one.",
			selects(object{"date_from": "2024-04-10"}, []string{april}, march)...),
		should("search-filter-date-to", "4.1", "The filter date_to selects documents with that date or an earlier one.",
			selects(object{"date_to": "2024-03-31"}, []string{march}, april)...),
		should("search-filter-date-to-day", "4.1", "A date_to without a time means the end of that day.",
			selects(object{"date_to": "2024-03-02"}, []string{march})...),
		should("search-filter-date-undated", "4.1", "A filter by date excludes undated documents.",
			selects(object{"date_from": "2020-01-01"}, []string{march, april}, undated)...),
		should("search-filter-date-invalid-400", "4.1",
			"A filter with a date that does not exist is rejected with 400.",
			expect(filteredSearch(object{"date_from": "2024-02-30"}), 400)),
		should("search-filter-range-inverted-400", "4.1",
			"A filter whose date_to is earlier than its date_from is rejected with 400.",
			expect(filteredSearch(object{"date_from": "2024-04-01", "date_to": "2024-03-01"}), 400)),
	}
}

func searchFilterRequestChecks() []check {
	rejected := func(filters any) step { return expect(filteredSearch(filters), 400) }
	many := make([]string, protocol.MaxFilterValues+1)
	for i := range many {
		many[i] = fmt.Sprintf("%s%d.md", seeds, i)
	}
	nothingOrError := func(r *response) error {
		if r.status >= 400 {
			return nil
		}
		return chunkCount(0)(r)
	}
	return []check{
		should("search-filters-empty", "4.1", "An empty filters object selects all documents.",
			selects(object{}, []string{march, april, undated})...),
		should("search-filters-unknown-400", "4.1", "A search with an unknown filter is rejected with 400.",
			rejected(object{"colour": "red"})),
		should("search-filters-array-400", "4.1", "A search whose filters are not an object is rejected with 400.",
			rejected([]string{march})),
		should("search-filter-paths-text-400", "4.1", "A filter whose paths are not an array is rejected with 400.",
			rejected(object{"paths": march})),
		should("search-filter-tags-number-400", "4.1", "A filter whose tags are not strings is rejected with 400.",
			rejected(object{"tags": []int{1}})),
		should("search-filter-paths-many-400", "8", "A filter with 257 paths is rejected with 400.",
			rejected(object{"paths": many})),
		should("search-filters-disagree-400", "4.1",
			"A filter that has both spellings of a key with different values is rejected with 400.",
			rejected(object{"path_prefix": "a/", "pathPrefix": "b/"})),
		should("search-filter-paths-none", "4.1", "A search with an empty list of paths finds nothing or is rejected.",
			putWalruses, expect(filteredSearch(object{"paths": []string{}}), 0, nothingOrError)),
	}
}
