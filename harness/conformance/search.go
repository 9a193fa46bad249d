package conformance

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"evalctl/daemon/protocol"
)

const (
	// indexedWithin is how long a document may take to be found.
	indexedWithin = 10 * time.Second
	// seeds is a folder that every daemon in the field indexes.
	seeds = "raw/documents/"

	kettle = seeds + "kettle.md"
	parrot = seeds + "parrot.md"
)

func searchOf(fields object) request { return at("POST", "/search").json(fields) }

// chunks gives what a search found. Some daemons call it hits.
func (r *response) chunks() ([]object, error) {
	o, err := r.object()
	if err != nil {
		return nil, err
	}
	list, _ := o["chunks"].([]any)
	if list == nil {
		list, _ = o["hits"].([]any)
	}
	var chunks []object
	for _, item := range list {
		c, ok := item.(object)
		if !ok {
			return nil, fmt.Errorf("want every chunk to be an object, got %s", clip(encode(item)))
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

// found gives the paths that a search for a query finds.
func (t *trial) found(ctx context.Context, query string) ([]string, error) {
	res, err := t.do(ctx, searchOf(object{"query": query, "top_k": 20, "topK": 20}))
	if err != nil {
		return nil, err
	}
	if err := res.judge(200, nil); err != nil {
		return nil, err
	}
	chunks, err := res.chunks()
	return paths(chunks), err
}

// finds waits until a search for a query finds a document, or no longer does,
// because a daemon may index after it has answered.
func finds(query, path string, want bool) step {
	return func(ctx context.Context, t *trial) error {
		var got []string
		done, err := poll(ctx, indexedWithin, func() (_ bool, err error) {
			got, err = t.found(ctx, query)
			return slices.Contains(got, path) == want, err
		})
		if err == nil && !done {
			err = fmt.Errorf("search for %q: want %s among the paths: %v, got %q", query, path, want, got)
		}
		return err
	}
}

// notes seeds two documents and waits until they are found.
func notes(ctx context.Context, t *trial) error {
	return t.take(ctx, []step{
		put(kettle, "# Kitchen\n\nThe kettle is green.\n"), put(parrot, "# Pets\n\nThe parrot is called Pépé 🦜 and likes nuts.\n"),
		finds("kettle", kettle, true), finds("parrot", parrot, true),
	})
}

func searchChecks() []check {
	return slices.Concat(answerOfSearch(), modeChecks(), highlightChecks(), requestOfSearch(), filterChecks(), foundChecks())
}

func answerOfSearch() []check {
	plain := searchOf(object{"query": "kettle"})
	said := func(name string, v value) []step { return []step{notes, answers(plain, 200, key(name, v))} }
	every := func(name string, v value) []step {
		return []step{notes, answers(plain, 200, eachChunk(func(c object) error { return judgeKey(c, name, v) }))}
	}
	return []check{
		must("search-200", "4.4", "POST /search answers 200.", answers(plain, 200)),
		must("search-finds", "4.4", "A search finds the document that holds its words.", notes),
		must("search-snake-case", "2", "The keys of a search's answer are in snake_case.", notes, answers(plain, 200, inSnakeCase)),
		should("search-json", "4.4", "A search answers application/json.", answers(plain, 200, mediaType(protocol.TypeJSON))),
		should("search-query", "4.1", "A search answers with its query.", said("query", is("kettle"))...),
		should("search-brain-id", "4.1", "A search answers with its brain.", notes, func(ctx context.Context, t *trial) error {
			return answers(plain, 200, key("brain_id", is(t.brain)))(ctx, t)
		}),
		should("search-took-ms", "4.1", "A search says how long it took.", said("took_ms", isNumber)...),
		should("search-chunks", "4.1", "chunks of a search is an array.", said("chunks", isArray)...),
		should("search-chunks-empty", "4.1", "chunks of a search is an empty array, not null, when nothing is found.", answers(plain, 200, key("chunks", isArray))),
		should("search-chunk-path", "4.1", "A chunk of a search has a path.", every("path", isText)...),
		should("search-chunk-score", "4.1", "A chunk of a search has a score.", every("score", isNumber)...),
		should("search-chunk-text", "2", "A chunk of a search has a text.", every("text", isText)...),
		should("search-chunk-id", "2", "A chunk of a search has a chunk_id.", every("chunk_id", isText)...),
		should("search-chunk-document-id", "2", "A chunk of a search has a document_id.", every("document_id", isText)...),
		should("search-chunk-brain-id", "2", "A chunk of a search has a brain_id.", every("brain_id", isText)...),
		should("search-chunk-metadata", "2", "A chunk of a search has metadata.", every("metadata", isObject)...),
		should("search-scores-descend", "4.1", "A search gives the best chunk first.",
			put(seeds+"both.md", "The parrot sits on the kettle."), notes, answers(searchOf(object{"query": "parrot kettle", "top_k": 10}), 200, scoresDescend)),
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
	if len(scores) < 2 || !slices.IsSortedFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) }) {
		return fmt.Errorf("want several scores, none above the one before it, got %v", scores)
	}
	return nil
}

func requestOfSearch() []check {
	one := func(name string) []step {
		return []step{notes, put(seeds+"both.md", "The parrot sits on the kettle."), finds("sits", seeds+"both.md", true),
			answers(searchOf(object{"query": "parrot kettle", name: 1}), 200, func(r *response) error {
				chunks, err := r.chunks()
				if err == nil && len(chunks) != 1 {
					err = fmt.Errorf("want 1 chunk, got %q", paths(chunks))
				}
				return err
			})}
	}
	refused400 := func(fields object) step { return answers(searchOf(fields), 400) }
	return []check{
		should("search-top-k", "4.1", "top_k bounds how many chunks a search gives.", one("top_k")...),
		should("search-top-k-camel-case", "4.1", "A search understands topK as top_k.", one("topK")...),
		should("search-spellings-agree", "4.1", "A search may have both spellings of a key when they say the same.",
			answers(searchOf(object{"query": "kettle", "top_k": 2, "topK": 2}), 200)),
		should("search-spellings-disagree-400", "4.1", "A search whose two spellings of a key say different things is 400.",
			refused400(object{"query": "kettle", "top_k": 2, "topK": 3})),
		should("search-unknown-key", "4.1", "Unknown keys of a search are ignored.", answers(searchOf(object{"query": "kettle", "colour": "red"}), 200)),
		should("search-get", "4.4", "GET /search?q= searches too.", answers(at("GET", "/search", "q", "kettle", "top_k", "3"), 200, key("query", is("kettle")))),
		should("search-query-missing-400", "4.1", "A search without a query is 400.", refused400(object{"top_k": 3})),
		should("search-query-number-400", "4.1", "A search whose query is no string is 400.", refused400(object{"query": 5})),
		should("search-top-k-text-400", "4.1", "A search whose top_k is no number is 400.", refused400(object{"query": "kettle", "top_k": "many"})),
		should("search-json-invalid-400", "7.1", "A search that is not JSON is 400, with a Problem.", answers(jsonTo("/search", `{"query":`), 400, problem)),
		should("search-brain-missing", "4.4", "A search in a brain that does not exist is 404, or 403 with a token.",
			lacksBrain("POST", "/search", func(r request) request { return r.json(object{"query": "kettle"}) })),
		should("search-symbols", "4.1", "A search for symbols is 200 or 400.",
			answers(searchOf(object{"query": `"*" AND (NEAR OR -) 🦜 \ ' ;--` + "\u0000"}), 0, oneOf(200, 400))),
		should("search-candidate-k-200", "8", "A search may ask for 1,000 candidates.", answers(walrus(object{"candidate_k": protocol.MaxCandidateK}), 200)),
		should("search-candidate-k-400", "8", "A search for 1,001 candidates is 400.", answers(walrus(object{"candidate_k": protocol.MaxCandidateK + 1}), 400)),
		should("search-rerank-top-n-200", "8", "A search may have 200 chunks reranked.", answers(walrus(object{"rerank_top_n": protocol.MaxRerankTopN}), 200)),
		should("search-rerank-top-n-400", "8", "A search with 201 chunks to rerank is 400.", answers(walrus(object{"rerank_top_n": protocol.MaxRerankTopN + 1}), 400)),
	}
}
