package requirements

import (
	"cmp"
	"fmt"
	"slices"

	"evalctl/daemon/protocol"
)

func ownSearchResponseChecks() []check {
	field := func(name string, m matcher) []step {
		return []step{putNotes, inspect(plainSearch, 200, jsonField(name, m))}
	}
	chunkField := func(name string, m matcher) []step {
		return []step{putNotes, inspect(plainSearch, 200, eachChunk(hasField(name, m)))}
	}
	return []check{
		should("search-query", "4.1", "A search returns its query.", field("query", equals("kettle"))...),
		should("search-brain-id", "4.1", "A search returns the id of its brain.", putNotes, lazily(func(c *client) step {
			return inspect(plainSearch, 200, jsonField("brain_id", equals(c.brain)))
		})),
		should("search-took-ms", "4.1", "A search returns its duration in took_ms.", field("took_ms", isNumber)...),
		should("search-chunks", "4.1", "The chunks of a search are an array.",
			putNotes, inspect(asSent(plainSearch), 200, jsonField("chunks", isArray))),
		should("search-chunks-empty", "4.1", "The chunks of a search without results are an empty array, not null.",
			inspect(plainSearch, 200, jsonField("chunks", isArray))),
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

func ownSearchRequestChecks() []check {
	rejected := func(fields object) step { return expect(searchOf(fields), 400) }
	kettleWith := func(name string, v any) request { return searchOf(object{"query": "kettle", name: v}) }
	return []check{
		should("search-top-k-camel-case", "4.1", "A search accepts topK in place of top_k.", searchingForOne("topK")...),
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
