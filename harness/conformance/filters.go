package conformance

import (
	"context"
	"fmt"
	"slices"

	"evalctl/daemon/protocol"
)

// Notes about one animal: who asks for it sees what filters leave. The one
// that fits best is not the newest.
const (
	march   = seeds + "march.md"
	april   = seeds + "april.md"
	undated = seeds + "undated.md"

	marchText   = "---\ndate: 2024-03-02T18:00:00Z\ntags: [sea, north]\nsession_id: s-march\n---\n\nThe walrus meets another walrus.\n"
	aprilText   = "---\ndate: 2024-04-10\ntags: [sea]\nsession_id: s-april\n---\n\nThe walrus swims from the harbour to the distant island.\n"
	undatedText = "Walrus, walrus, walrus!\n"
)

// library seeds documents, given as path, text pairs, and waits until a word
// that all hold finds each.
func library(word string, docs ...string) step {
	return func(ctx context.Context, t *trial) error {
		var steps []step
		for i := 0; i < len(docs); i += 2 {
			steps = append(steps, put(docs[i], docs[i+1]))
		}
		for i := 0; i < len(docs); i += 2 {
			steps = append(steps, finds(word, docs[i], true))
		}
		return t.take(ctx, steps)
	}
}

var walruses = library("walrus", march, marchText, april, aprilText, undated, undatedText)

// walrus is a search for what all of them hold, with more keys.
func walrus(more object) request {
	fields := object{"query": "walrus"}
	for name, v := range more {
		fields[name] = v
	}
	return searchOf(fields)
}

// sees wants some documents among the chunks and others not.
func sees(r request, in, out []string) step {
	return answers(r, 200, func(r *response) error {
		chunks, err := r.chunks()
		if err != nil {
			return err
		}
		got := paths(chunks)
		for _, p := range in {
			if !slices.Contains(got, p) {
				return fmt.Errorf("want %s among the paths, got %q", p, got)
			}
		}
		for _, p := range out {
			if slices.Contains(got, p) {
				return fmt.Errorf("want %s not among the paths, got %q", p, got)
			}
		}
		return nil
	})
}

// ordered wants one document's chunk before another's.
func ordered(r request, first, second string) step {
	return answers(r, 200, func(r *response) error {
		chunks, err := r.chunks()
		if err != nil {
			return err
		}
		got := paths(chunks)
		a, b := slices.Index(got, first), slices.Index(got, second)
		if a < 0 || b < 0 || a > b {
			return fmt.Errorf("want %s before %s, got %q", first, second, got)
		}
		return nil
	})
}

func filterChecks() []check {
	return slices.Concat(scopeChecks(), sortChecks(), questionDateChecks(), documentFilterChecks(), dateFilterChecks(), filterRequestChecks())
}

func scopeChecks() []check {
	path := map[string]string{"": seeds + "walrus.md", "global": "memory/global/walrus.md", "project": "memory/project/zoo/walrus.md", "agent": "memory/agent/walrus.md"}
	everywhere := library("walrus", path[""], "A walrus in the attic.", path["global"], "A walrus in the kitchen.",
		path["project"], "A walrus in the garden.", path["agent"], "A walrus in the cellar.")
	var checks []check
	for _, scope := range []string{protocol.ScopeGlobal, protocol.ScopeProject, protocol.ScopeAgent} {
		var others []string
		for other, p := range path {
			if other != scope {
				others = append(others, p)
			}
		}
		slices.Sort(others)
		checks = append(checks, should("search-scope-"+scope, "4.1", "A search in the scope "+scope+" finds only what lies below memory/"+scope+"/.",
			everywhere, sees(walrus(object{"scope": scope}), []string{path[scope]}, others)))
	}
	return append(checks,
		should("search-scope-all", "4.1", "A search in the scope all finds every document.", everywhere,
			sees(walrus(object{"scope": protocol.ScopeAll}), []string{path[""], path["global"], path["project"], path["agent"]}, nil)),
		should("search-scope-unknown-400", "4.1", "A search in an unknown scope is 400.", answers(walrus(object{"scope": "galactic"}), 400)),
		should("search-scope-number-400", "4.1", "A search whose scope is no string is 400.", answers(walrus(object{"scope": 1}), 400)),
	)
}

func sortChecks() []check {
	older, newer := seeds+"pond.md", seeds+"reed.md"
	equals := library("otter", older, "---\ndate: 2024-01-01\n---\n\nThe otter likes amber.\n", newer, "---\ndate: 2024-02-01\n---\n\nThe otter likes coral.\n")
	return []check{
		should("search-sort-relevance", "4.1", "Sorted by relevance, no chunk fits better than the one before it.",
			walruses, answers(walrus(object{"sort": protocol.SortRelevance}), 200, scoresDescend)),
		should("search-sort-recency", "4.1", "Sorted by recency, the newest document comes first.",
			walruses, ordered(walrus(object{"sort": protocol.SortRecency}), april, march)),
		should("search-sort-recency-undated", "4.1", "Sorted by recency, undated documents come after dated ones.",
			walruses, ordered(walrus(object{"sort": protocol.SortRecency}), march, undated)),
		should("search-sort-relevance-then-recency", "4.1", "Sorted by relevance and then recency, of two chunks that fit alike the newer comes first.",
			equals, answers(searchOf(object{"query": "otter", "sort": protocol.SortRelevanceThenRecency}), 200, newerOfEquals(newer))),
		should("search-sort-unknown-400", "4.1", "A search in an unknown order is 400.", answers(walrus(object{"sort": "alphabet"}), 400)),
	}
}

// newerOfEquals wants the newer of two chunks first, unless the other fits
// better.
func newerOfEquals(newer string) want {
	return func(r *response) error {
		chunks, err := r.chunks()
		if err != nil {
			return err
		}
		if len(chunks) != 2 {
			return fmt.Errorf("want 2 chunks, got %q", paths(chunks))
		}
		a, _ := chunks[0]["score"].(float64)
		b, _ := chunks[1]["score"].(float64)
		if a < b || a == b && chunks[0]["path"] != newer {
			return fmt.Errorf("want the better first, of equals the newer: got %q with scores %v, %v", paths(chunks), a, b)
		}
		return nil
	}
}

func questionDateChecks() []check {
	asked := func(date string) request { return walrus(object{"question_date": date}) }
	return []check{
		should("search-question-date-later", "4.1", "A search with a question_date leaves out what is dated later.",
			walruses, sees(asked("2024-03-31"), []string{march}, []string{april})),
		should("search-question-date-undated", "4.1", "A search with a question_date keeps undated documents.",
			walruses, sees(asked("2024-03-31"), []string{undated}, nil)),
		should("search-question-date-same-day", "4.1", "A question_date without a time of day is the end of that day.",
			walruses, sees(asked("2024-03-02"), []string{march}, nil)),
		should("search-question-date-time", "4.1", "A question_date may have a time of day and an offset.",
			walruses, sees(asked("2024-03-02T19:30:00+02:00"), []string{undated}, []string{march}), sees(asked("2024-03-02T20:30:00+02:00"), []string{march}, nil)),
		should("search-question-date-camel-case", "4.1", "A search understands questionDate as question_date.",
			walruses, sees(walrus(object{"questionDate": "2024-03-31"}), []string{march}, []string{april})),
		should("search-question-date-invalid-400", "4.1", "A search whose question_date is no date is 400.", answers(asked("yesterday"), 400)),
	}
}

func filtered(filters any) request { return walrus(object{"filters": filters}) }

func documentFilterChecks() []check {
	left := func(filters object, in []string, out ...string) []step {
		return []step{walruses, sees(filtered(filters), in, out)}
	}
	hidden := seeds + "_walrus.md"
	withHidden := []step{put(hidden, "A generated walrus."), walruses}
	return []check{
		should("search-filter-path-prefix", "4.1", "path_prefix leaves the documents whose paths begin with it.",
			left(object{"path_prefix": seeds + "ma"}, []string{march}, april, undated)...),
		should("search-filter-paths", "4.1", "paths leaves the documents that it names.",
			left(object{"paths": []string{april, undated}}, []string{april, undated}, march)...),
		should("search-filter-tags", "4.1", "tags leaves the documents that have the tag.", left(object{"tags": []string{"sea"}}, []string{march, april}, undated)...),
		should("search-filter-tags-all", "4.1", "A document has all the tags of a filter.", left(object{"tags": []string{"sea", "north"}}, []string{march}, april)...),
		should("search-filter-session-ids", "4.1", "session_ids leaves the documents of those sessions.",
			left(object{"session_ids": []string{"s-april", "s-none"}}, []string{april}, march, undated)...),
		should("search-filters-all-hold", "4.1", "A document passes every filter that is given.",
			left(object{"tags": []string{"sea"}, "path_prefix": seeds + "ap"}, []string{april}, march)...),
		should("search-filters-fill-top-k", "4.1", "top_k counts what the filters leave.",
			walruses, sees(walrus(object{"top_k": 1, "topK": 1, "filters": object{"paths": []string{april}}}), []string{april}, nil)),
		should("search-filters-camel-case", "4.1", "A filter may be spelled in camelCase.", left(object{"pathPrefix": seeds + "ma"}, []string{march}, april)...),
		should("search-generated-hidden", "2", "A search does not find generated documents.", append(withHidden, sees(walrus(nil), []string{march}, []string{hidden}))...),
		should("search-generated-shown", "2", "With include_generated a search finds generated documents.",
			append(withHidden, sees(filtered(object{"include_generated": true}), []string{march, hidden}, nil))...),
		should("search-get-path-prefix", "4.4", "GET /search takes path_prefix.",
			walruses, sees(at("GET", "/search", "q", "walrus", "path_prefix", seeds+"ma"), []string{march}, []string{april})),
		should("search-get-tags", "4.4", "GET /search takes tags, separated by commas.",
			walruses, sees(at("GET", "/search", "q", "walrus", "tags", "sea,north"), []string{march}, []string{april})),
	}
}

func dateFilterChecks() []check {
	left := func(filters object, in []string, out ...string) []step {
		return []step{walruses, sees(filtered(filters), in, out)}
	}
	return []check{
		should("search-filter-date-from", "4.1", "date_from leaves what is dated then or later.", left(object{"date_from": "2024-04-10"}, []string{april}, march)...),
		should("search-filter-date-to", "4.1", "date_to leaves what is dated then or earlier.", left(object{"date_to": "2024-03-31"}, []string{march}, april)...),
		should("search-filter-date-to-day", "4.1", "date_to without a time of day is the end of that day.", left(object{"date_to": "2024-03-02"}, []string{march})...),
		should("search-filter-date-undated", "4.1", "Undated documents are in no range of dates.", left(object{"date_from": "2020-01-01"}, []string{march, april}, undated)...),
		should("search-filter-date-invalid-400", "4.1", "A filter by a date that does not exist is 400.", answers(filtered(object{"date_from": "2024-02-30"}), 400)),
		should("search-filter-range-inverted-400", "4.1", "A range of dates that ends before it begins is 400.",
			answers(filtered(object{"date_from": "2024-04-01", "date_to": "2024-03-01"}), 400)),
	}
}

func filterRequestChecks() []check {
	refused := func(filters any) step { return answers(filtered(filters), 400) }
	many := make([]string, protocol.MaxFilterValues+1)
	for i := range many {
		many[i] = fmt.Sprintf("%s%d.md", seeds, i)
	}
	return []check{
		should("search-filters-empty", "4.1", "Filters without a key leave everything.", walruses, sees(filtered(object{}), []string{march, april, undated}, nil)),
		should("search-filters-unknown-400", "4.1", "A filter that does not exist is 400.", refused(object{"colour": "red"})),
		should("search-filters-array-400", "4.1", "Filters that are no object are 400.", refused([]string{march})),
		should("search-filter-paths-text-400", "4.1", "A filter whose paths are no array is 400.", refused(object{"paths": march})),
		should("search-filter-tags-number-400", "4.1", "A filter whose tags are no strings is 400.", refused(object{"tags": []int{1}})),
		should("search-filter-paths-many-400", "8", "A filter with 257 paths is 400.", refused(object{"paths": many})),
		should("search-filters-disagree-400", "4.1", "Filters whose two spellings of a key say different things are 400.",
			refused(object{"path_prefix": "a/", "pathPrefix": "b/"})),
		should("search-filter-paths-none", "4.1", "A filter by no path at all finds nothing or is refused.", walruses,
			answers(filtered(object{"paths": []string{}}), 0, func(r *response) error {
				if r.status >= 400 {
					return nil
				}
				chunks, err := r.chunks()
				if err == nil && len(chunks) > 0 {
					err = fmt.Errorf("want no chunks, got %q", paths(chunks))
				}
				return err
			})),
	}
}
