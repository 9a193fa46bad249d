package requirements

import (
	"context"
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

// chunks returns the chunks found by a search. Without them the check is not judged, since the
// specification leaves open in which field they are.
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

// awaitSearch waits until a search finds a document, or does not.
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
	return []check{
		must("search-200", "4.4", "POST /search returns 200.", expect(plainSearch, 200)),
		must("search-finds", "4.4", "A search finds a document that contains the words of the query.",
			put(kettle, "# Kitchen\n\nThe kettle is green.\n"), awaitFound("kettle", kettle)),
		must("search-snake-case", "2", "The keys of the response to a search are in snake_case.",
			putNotes, inspect(plainSearch, 200, bodyInSnakeCase)),
		should("search-json", "4.4", "The media type of the response to a search is application/json.",
			inspect(plainSearch, 200, hasMediaType(protocol.TypeJSON))),
		must("search-only-documents", "2",
			"A search finds only documents that were written: files that the daemon adds begin with an underscore.",
			putNotes, inspect(enveloped(plainSearch), 200, chunksMatch(func(chunks []object) error {
				return noOwnFiles(pathsOf(chunks), func(p string) bool {
					return p == "" || p == kettle || p == parrot || isGenerated(p)
				})
			}))),
		should("search-chunk-path", "4.1", "A chunk found by a search has a path.",
			put(kettle, "The kettle is green."), setup(awaitAnyPath("kettle")),
			inspect(plainSearch, 200, eachChunk(hasField("path", isNonEmptyString)))),
		should("search-chunk-score", "4.1", "A chunk found by a search has a score.",
			putNotes, inspect(plainSearch, 200, eachChunk(hasField("score", isNumber)))),
	}
}

func searchModeChecks() []check {
	in := func(mode any) request { return searchOf(object{"query": "kettle", "mode": mode}) }
	var checks []check
	for _, mode := range []string{protocol.ModeAuto, protocol.ModeBM25} {
		checks = append(checks, should("search-mode-"+mode+"-200", "4.4",
			"A search in the mode "+mode+" returns 200.", expect(in(mode), 200)))
	}
	return checks
}

// searchingForOne requires a key of value 1 to limit the number of chunks that a search returns.
func searchingForOne(key string) []step {
	return []step{
		putNotes, put(seeds+"both.md", "The parrot sits on the kettle."), awaitFound("sits", seeds+"both.md"),
		inspect(searchOf(object{"query": "parrot kettle", key: 1}), 200, chunkCount(1)),
	}
}

func searchRequestChecks() []check {
	symbols := `"*" AND (NEAR OR -) 🦜 \ ' ;--` + "\u0000"
	return []check{
		should("search-top-k", "4.1", "top_k limits the number of chunks that a search returns.", searchingForOne("top_k")...),
		should("search-symbols", "4.1", "A search for symbols returns 200 or 400.",
			expect(searchOf(object{"query": symbols}), 0, statusIn(200, 400))),
	}
}

// renamed is the kettle's new path in the following checks.
const renamed = seeds + "new.md"

// The changes that a search must reflect. Whether they have an effect at all is left to other
// checks.
var (
	moved    = setup(rename(kettle, renamed), expectContent(renamed, kettleNote), expectAbsent(kettle))
	appended = setup(appendTo(kettle, "\nThe toaster is red.\n"), expectContent(kettle, kettleNote+"\nThe toaster is red.\n"))
)

func searchFreshnessChecks() []check {
	return []check{
		must("search-updated", "1", "A search finds an updated document by its new content.",
			putNotes, written(kettle, "The teapot is blue."), awaitFound("teapot", kettle)),
		must("search-appended", "1", "A search finds a document by appended content.",
			putNotes, appended, awaitFound("toaster", kettle)),
		must("search-deleted", "1", "A search does not find a deleted document.",
			putNotes, removed(kettle), awaitSearch("kettle", kettle, false)),
		must("search-renamed", "1", "A search finds a renamed document under its new path only.",
			putNotes, moved, awaitFound("kettle", renamed), awaitSearch("kettle", kettle, false)),
		must("search-batch", "1", "A search finds a document that was written by a batch.",
			setup(batch(writeOp(kettle, "The kettle is green.")), expectContent(kettle, "The kettle is green.")), awaitFound("kettle", kettle)),
		must("search-other-brain", "1", "A search does not find documents of another brain.",
			putNotes, inOtherBrain(func(ctx context.Context, c *client) error {
				got, err := c.searchPaths(ctx, "kettle")
				if err == nil && len(got) > 0 {
					err = brokenf("want no paths, got %q", got)
				}
				return err
			})),
	}
}
