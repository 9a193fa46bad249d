package requirements

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"evalctl/daemon/protocol"
)

const (
	// indexedWithin is how long a daemon may take to index a document.
	indexedWithin = 10 * time.Second
	// seeds is a folder that all known daemons index.
	seeds = "raw/documents/"

	kettle = seeds + "kettle.md"
	parrot = seeds + "parrot.md"

	kettleNote = "# Kitchen\n\nThe kettle is green.\n"
)

func searchOf(fields object) request { return brainRequest("POST", "/search").withJSON(fields) }

// chunks returns the chunks found by a search. Without them the check is not judged, since
// search-chunks covers that.
func (r *response) chunks() ([]object, error) {
	o, err := r.object()
	if err != nil {
		return nil, err
	}
	list, ok := o["chunks"].([]any)
	if !ok {
		return nil, unjudgedError{ReasonObserve, because(`has no field "chunks"`, "want an array of chunks, got %s", excerpt(r.body))}
	}
	return objects(list)
}

// chunksMatch judges the chunks found by a search.
func chunksMatch(judge func([]object) error) assertion {
	return func(r *response) error {
		chunks, err := r.chunks()
		if err != nil {
			return err
		}
		return judge(chunks)
	}
}

// eachChunk judges every chunk found by a search, and requires at least one.
func eachChunk(judge func(object) error) assertion {
	return chunksMatch(func(chunks []object) error {
		if len(chunks) == 0 {
			return inResult("found nothing", "want at least one chunk, got none")
		}
		return each(chunks, judge)
	})
}

// chunkCount requires a search to find exactly n chunks.
func chunkCount(n int) assertion {
	return chunksMatch(func(chunks []object) error {
		if len(chunks) != n {
			return inResult("returned another number of chunks", "want %d chunks, got %q", n, pathsOf(chunks))
		}
		return nil
	})
}

// searchPaths returns the paths that a search finds.
func (c *client) searchPaths(ctx context.Context, query string) ([]string, error) {
	return c.pathsFound(ctx, searchOf(object{"query": query, "top_k": 20, "topK": 20}), unobservable, hasStatus(200))
}

// pathsFound returns the paths of the chunks in a response that assertions accept.
func (c *client) pathsFound(ctx context.Context, r request, assertions ...assertion) ([]string, error) {
	res, err := c.get(ctx, r, 0, assertions...)
	if err != nil {
		return nil, err
	}
	chunks, err := res.chunks()
	return pathsOf(chunks), against(err)
}

// searchingFor looks for the paths that a search finds.
func searchingFor(query string) func(context.Context, *client) ([]string, error) {
	return func(ctx context.Context, c *client) ([]string, error) { return c.searchPaths(ctx, query) }
}

// awaitFound waits until a search finds a document, because a daemon may index it after the
// response to the write.
func awaitFound(query, path string) step { return awaitSearch(query, path, true) }

// awaitNotFound waits until a search does not find a document.
func awaitNotFound(query, path string) step { return awaitSearch(query, path, false) }

func awaitSearch(query, path string, want bool) step {
	what := "does not find a document"
	if !want {
		what = "finds a document that is gone"
	}
	return await(indexedWithin, searchingFor(query), func(got []string) bool { return slices.Contains(got, path) == want },
		func(c *client, got []string) error {
			return c.afterChange(contradiction{c.trail().last.about(inResult(what,
				"search for %q: want %s among the paths: %v, got %q: %w", query, path, want, got, errSilence))})
		})
}

// awaitAnyPath waits until a search finds any document.
func awaitAnyPath(query string) step {
	return await(indexedWithin, searchingFor(query), func(got []string) bool { return len(got) > 0 },
		func(*client, []string) error {
			return brokenf("search for %q: want a document, got none: %w", query, errSilence)
		})
}

// putNotes writes two documents and waits until searches find them.
var putNotes = setup(
	put(kettle, kettleNote),
	put(parrot, "# Pets\n\nThe parrot is called Pépé 🦜 and likes nuts.\n"),
	awaitFound("kettle", kettle), awaitFound("parrot", parrot),
)

// plainSearch is a search for the kettle of putNotes.
var plainSearch = searchOf(object{"query": "kettle"})

func searchResponseChecks() []check {
	field := func(name string, m matcher) []step {
		return []step{putNotes, inspect(plainSearch, 200, jsonField(name, m))}
	}
	chunkField := func(name string, m matcher) []step {
		return []step{putNotes, inspect(plainSearch, 200, eachChunk(hasField(name, m)))}
	}
	return []check{
		must("search-200", "4.4", "POST /search returns 200.", expect(plainSearch, 200)),
		must("search-finds", "4.4", "A search finds a document that contains the words of the query.",
			put(kettle, "# Kitchen\n\nThe kettle is green.\n"), awaitFound("kettle", kettle)),
		must("search-snake-case", "2", "The keys of the response to a search are in snake_case.",
			putNotes, inspect(plainSearch, 200, bodyInSnakeCase)),
		should("search-json", "4.4", "The media type of the response to a search is application/json.",
			inspect(plainSearch, 200, hasMediaType(protocol.TypeJSON))),
		should("search-query", "4.1", "A search returns its query.", field("query", equals("kettle"))...),
		should("search-brain-id", "4.1", "A search returns the id of its brain.", putNotes, lazily(func(c *client) step {
			return inspect(plainSearch, 200, jsonField("brain_id", equals(c.brain)))
		})),
		should("search-took-ms", "4.1", "A search returns its duration in took_ms.", field("took_ms", isNumber)...),
		should("search-chunks", "4.1", "The chunks of a search are an array.",
			putNotes, inspect(asSent(plainSearch), 200, hasEnvelope(searchShape), jsonField("chunks", isArray))),
		must("search-only-documents", "2",
			"A search finds only documents that were written: files that the daemon adds begin with an underscore.",
			putNotes, inspect(enveloped(plainSearch), 200, chunksMatch(func(chunks []object) error {
				return noOwnFiles(pathsOf(chunks), func(p string) bool { return p == "" || p == kettle || p == parrot })
			}))),
		should("search-chunks-empty", "4.1", "The chunks of a search without results are an empty array, not null.",
			inspect(plainSearch, 200, jsonField("chunks", isArray))),
		should("search-chunk-path", "4.1", "A chunk found by a search has a path.",
			put(kettle, "The kettle is green."), setup(awaitAnyPath("kettle")),
			inspect(plainSearch, 200, eachChunk(hasField("path", isNonEmptyString)))),
		should("search-chunk-score", "4.1", "A chunk found by a search has a score.", chunkField("score", isNumber)...),
		should("search-chunk-text", "2", "A chunk found by a search has a text.",
			chunkField("text", isNonEmptyString)...),
		should("search-chunk-id", "2", "A chunk found by a search has a chunk_id.",
			chunkField("chunk_id", isNonEmptyString)...),
		should("search-chunk-document-id", "2", "A chunk found by a search has a document_id.",
			chunkField("document_id", isNonEmptyString)...),
		should("search-chunk-brain-id", "2", "A chunk found by a search has a brain_id.",
			chunkField("brain_id", isNonEmptyString)...),
		should("search-chunk-metadata", "2", "A chunk found by a search has metadata.",
			chunkField("metadata", isObject)...),
		should("search-scores-descend", "4.1", "A search returns chunks in descending order of their scores.",
			put(seeds+"both.md", "The parrot sits on the kettle."), putNotes,
			inspect(searchOf(object{"query": "parrot kettle", "top_k": 10}), 200, scoresDescend)),
	}
}

func scoresDescend(r *response) error {
	chunks, err := r.chunks()
	if err != nil {
		return err
	}
	var scores []float64
	for _, c := range chunks {
		s, _ := c["score"].(float64)
		scores = append(scores, s)
	}
	descending := slices.IsSortedFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
	if len(scores) < 2 || !descending {
		return fmt.Errorf("want several scores in descending order, got %v", scores)
	}
	return nil
}

func searchRequestChecks() []check {
	one := func(name string) []step {
		return []step{
			putNotes, put(seeds+"both.md", "The parrot sits on the kettle."), awaitFound("sits", seeds+"both.md"),
			inspect(searchOf(object{"query": "parrot kettle", name: 1}), 200, chunkCount(1)),
		}
	}
	rejected := func(fields object) step { return expect(searchOf(fields), 400) }
	kettleWith := func(name string, v any) request { return searchOf(object{"query": "kettle", name: v}) }
	symbols := `"*" AND (NEAR OR -) 🦜 \ ' ;--` + "\u0000"
	return []check{
		should("search-top-k", "4.1", "top_k limits the number of chunks that a search returns.", one("top_k")...),
		should("search-top-k-camel-case", "4.1", "A search accepts topK in place of top_k.", one("topK")...),
		should("search-spellings-agree", "4.1", "A search may have both spellings of a key with the same value.",
			expect(searchOf(object{"query": "kettle", "top_k": 2, "topK": 2}), 200)),
		should("search-spellings-disagree-400", "4.1",
			"A search that has both spellings of a key with different values is rejected with 400.",
			rejected(object{"query": "kettle", "top_k": 2, "topK": 3})),
		should("search-unknown-key", "4.1", "Unknown keys of a search are ignored.",
			expect(kettleWith("colour", "red"), 200)),
		should("search-get", "4.4", "GET /search?q= runs a search.",
			expect(brainRequest("GET", "/search", "q", "kettle", "top_k", "3"), 200,
				jsonField("query", equals("kettle")))),
		should("search-query-missing-400", "4.1", "A search without a query is rejected with 400.",
			rejected(object{"top_k": 3})),
		should("search-query-number-400", "4.1", "A search whose query is not a string is rejected with 400.",
			rejected(object{"query": 5})),
		should("search-top-k-text-400", "4.1", "A search whose top_k is not a number is rejected with 400.",
			rejected(object{"query": "kettle", "top_k": "many"})),
		should("search-json-invalid-400", "7.1", "A search that is not valid JSON is rejected with 400 and a Problem.",
			expect(postJSON("/search", `{"query":`), 400, isProblem)),
		should("search-brain-missing", "4.4",
			"A search in a brain that does not exist returns 404, or 403 with a token.",
			expectNoBrain(plainSearch)),
		should("search-symbols", "4.1", "A search for symbols returns 200 or 400.",
			expect(searchOf(object{"query": symbols}), 0, statusIn(200, 400))),
		should("search-candidate-k-200", "8", "The candidate_k of a search may be 1,000.",
			expect(kettleWith("candidate_k", protocol.MaxCandidateK), 200)),
		should("search-candidate-k-400", "8", "A search with a candidate_k of 1,001 is rejected with 400.",
			expect(kettleWith("candidate_k", protocol.MaxCandidateK+1), 400)),
		should("search-rerank-top-n-200", "8", "The rerank_top_n of a search may be 200.",
			expect(kettleWith("rerank_top_n", protocol.MaxRerankTopN), 200)),
		should("search-rerank-top-n-400", "8", "A search with a rerank_top_n of 201 is rejected with 400.",
			expect(kettleWith("rerank_top_n", protocol.MaxRerankTopN+1), 400)),
	}
}
