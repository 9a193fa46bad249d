package requirements

import (
	"context"
	"fmt"
)

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
			putNotes, removed(kettle), awaitNotFound("kettle", kettle)),
		must("search-renamed", "1", "A search finds a renamed document under its new path only.",
			putNotes, moved, awaitFound("kettle", renamed), awaitNotFound("kettle", kettle)),
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

// searchImmediateChecks require the first search after a change to reflect it.
func searchImmediateChecks() []check {
	search := func(query string) request { return searchOf(object{"query": query}) }
	added := seeds + "a.md"
	return []check{
		should("search-at-once-put", "1", "The first search after a PUT reflects it.",
			putNotes, written(kettle, "The teapot is blue."), expectPaths(search("teapot"), []string{kettle}, nil)),
		should("search-at-once-append", "1", "The first search after an append reflects it.",
			putNotes, appended,
			expectPaths(search("toaster"), []string{kettle}, nil)),
		should("search-at-once-batch", "1", "The first search after a batch reflects it.",
			putNotes, setup(batch(writeOp(added, "An oven."), deleteOp(kettle)), expectContent(added, "An oven."), expectAbsent(kettle)),
			expectPaths(search("oven kettle"), []string{added}, []string{kettle})),
		should("search-at-once-rename", "1", "The first search after a rename reflects it.",
			putNotes, moved, expectPaths(search("kettle"), []string{renamed}, []string{kettle})),
		should("search-at-once-delete", "1", "The first search after a DELETE reflects it.",
			putNotes, removed(kettle), expectPaths(search("kettle"), nil, []string{kettle})),
	}
}

// searchMatchingChecks are about document types and forms of words.
func searchMatchingChecks() []check {
	found := func(path, text, query string) []step { return []step{put(path, text), awaitFound(query, path)} }
	cafe := seeds + "cafe.md"
	return []check{
		should("search-text-document", "1", "A search finds .txt documents.",
			found(seeds+"pump.txt", "The pump is rusty.", "pump")...),
		should("search-json-document", "1", "A search finds .json documents.",
			found(seeds+"pump.json", `{"machine": "pump", "state": "rusty"}`, "pump")...),
		should("search-anywhere", "1", "A search finds documents in any folder.",
			found("garden/shed/pump.md", "The pump is rusty.", "pump")...),
		should("search-accents", "1", "A search finds words with accents.", putNotes, awaitFound("Pépé", parrot)),
		should("search-folding-document", "1", "A query without an accent matches the accented word in a document.",
			found(cafe, "We met in the café.", "cafe")...),
		should("search-folding-query", "1", "A query with an accent matches the unaccented word in a document.",
			found(cafe, "We met in the cafe.", "café")...),
		should("search-folding-composed", "1",
			"A composed character in a query matches its decomposed form in a document.",
			found(cafe, "We met in the cafe\u0301.", "caf\u00e9")...),
		should("search-case", "1", "A search is case-insensitive.", putNotes, awaitFound("KETTLE", kettle)),
		should("search-stemming", "1", "A search matches other inflections of a word.",
			found(seeds+"train.md", "The train was whistling.", "whistles")...),
	}
}

// searchDuplicateChecks allow a search to collapse chunks with the same text if it reports that.
func searchDuplicateChecks() []check {
	one, two, last := seeds+"one.md", seeds+"two.md", seeds+"last.md"
	badger := searchOf(object{"query": "badger"})
	withTwins := func(assert assertion) []step {
		return []step{
			put(one, "The badger digs a tunnel.\n"), put(two, "The badger digs a tunnel.\n"),
			put(last, "The heron waits.\n"), setup(awaitFound("heron", last)), inspect(badger, 200, assert),
		}
	}
	return []check{
		should("search-same-text", "1",
			"A search returns all documents with the same text, as chunks or as duplicates of a chunk.",
			withTwins(func(r *response) error {
				found, duplicates, err := r.countDuplicates()
				if err == nil && found+duplicates < 2 {
					err = fmt.Errorf("want 2 documents among the chunks and their duplicates, got %d and %d",
						found, duplicates)
				}
				return err
			})...),
		should("search-collapsed", "1", "The collapsed of a search is the number of duplicates of all chunks.",
			withTwins(func(r *response) error {
				_, duplicates, err := r.countDuplicates()
				if err != nil {
					return err
				}
				if duplicates == 0 {
					return optional("no chunk has duplicates")
				}
				return jsonField("collapsed", equals(float64(duplicates)))(r)
			})...),
		should("search-similar-text", "1", "A search returns both of two documents whose texts differ in one word.",
			put(one, "The badger digs a long tunnel.\n"), put(two, "The badger digs a wide tunnel.\n"),
			put(last, "The heron waits.\n"), setup(awaitFound("heron", last)),
			expectPaths(badger, []string{one, two}, nil)),
	}
}

// countDuplicates counts the chunks and their duplicates. A duplicate is an id, or an object with
// the path or the id of the document.
func (r *response) countDuplicates() (found, duplicates int, err error) {
	chunks, err := r.chunks()
	for _, c := range chunks {
		list, _ := c["duplicates"].([]any)
		for _, d := range list {
			o, _ := d.(map[string]any)
			for _, name := range []any{d, o["path"], o["document_id"]} {
				if s, ok := name.(string); ok && s != "" {
					duplicates++
					break
				}
			}
		}
	}
	return len(chunks), duplicates, err
}
