package requirements

import (
	"evalctl/daemon/protocol"
)

func ownWriteLimitChecks() []check {
	const most = protocol.MaxWriteBytes
	return []check{
		should("limits-put-over-413", "8", "PUT rejects a body of 2,097,153 bytes with 413.",
			lazily(func(*client) step { return expect(putOf("a.md", textOfSize(most+1)), 413) })),
		should("limits-append-over-413", "8", "Append rejects a body of 2,097,153 bytes with 413.",
			lazily(func(*client) step { return expect(appendOf("a.md", textOfSize(most+1)), 413) })),
		should("limits-put-chunked-413", "8", "PUT rejects a chunked body above the limit with 413.",
			lazily(func(*client) step {
				r := putOf("a.md", textOfSize(most+1))
				r.chunked = true
				return expect(r, 413)
			})),
	}
}

func ownBatchLimitChecks() []check {
	return []check{
		should("limits-batch-8mib-over-413", "8", "A batch with 8,388,609 bytes of content is rejected with 413.",
			lazily(func(*client) step { return expect(largeOps(eachOp+1), 413) })),
		should("limits-batch-1025-ops-413", "8", "A batch of 1,025 ops is rejected with 413.",
			lazily(func(*client) step { return expect(manyOps(protocol.MaxBatchOps+1), 413) })),
	}
}

func ownListingLimitChecks() []check {
	return []check{
		should("limits-listing-over-whole", "8", "A listing of 10,001 items is complete or rejected with 413.",
			longListing(protocol.MaxListItems+1, true)),
	}
}

func ownSearchLimitChecks() []check {
	const chars, chunks = protocol.MaxSearchQuery, protocol.MaxSearchTopK
	query := func(text string) request { return searchOf(object{"query": text}) }
	topK := func(k int) request { return searchOf(object{"query": "kettle", "top_k": k}) }
	return []check{
		should("limits-search-query-400", "8", "A query of 4,097 characters is rejected with 400.",
			expect(query(kettleText(chars+1)), 400)),
		should("limits-search-query-empty-400", "8", "An empty query is rejected with 400.", expect(query(""), 400)),
		should("limits-search-top-k-400", "8", "A search with a top_k of 101 is rejected with 400.",
			expect(topK(chunks+1), 400)),
		should("limits-search-top-k-negative-400", "8", "A search with a negative top_k is rejected with 400.",
			expect(topK(-1), 400)),
		should("limits-search-top-k-zero-400", "8", "A search with a top_k of 0 is rejected with 400.",
			expect(topK(0), 400)),
	}
}

func ownAskLimitChecks() []check {
	const chars, chunks = protocol.MaxAskQuery, protocol.MaxAskTopK
	ask := func(fields object) request { return brainRequest("POST", "/ask").withJSON(fields) }
	question := func(text string) request { return ask(object{"question": text}) }
	topK := func(k int) request { return ask(object{"question": "kettle", "top_k": k}) }
	return []check{
		should("limits-ask-query-400", "8", "A question of 8,193 characters is rejected with 400.",
			expect(question(kettleText(chars+1)), 400)),
		should("limits-ask-query-empty-400", "8", "An empty question is rejected with 400.", expect(question(""), 400)),
		should("limits-ask-top-k-400", "8", "An ask with a top_k of 51 is rejected with 400.",
			expect(topK(chunks+1), 400)),
		should("limits-ask-top-k-zero-400", "8", "An ask with a top_k of 0 is rejected with 400.",
			expect(topK(0), 400)),
	}
}
