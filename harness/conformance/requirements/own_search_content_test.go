package requirements

import (
	"errors"
	"fmt"
	"strings"
)

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

// searchHighlightChecks use a text with markup whose characters have one to four bytes.
func searchHighlightChecks() []check {
	const text = "🦜🦜 Pépé ça & <em>walrus</em> <script>alert(1)</script> naïve walrus."
	zoo := seeds + "zoo.md"
	eachWalrus := func(judge func(object) error) []step {
		return []step{
			put(zoo, text), awaitFound("walrus", zoo),
			inspect(searchOf(object{"query": "walrus"}), 200, eachChunk(judge)),
		}
	}
	return []check{
		should("search-highlights", "2", "A chunk that contains a word of the query has highlights.",
			putNotes, inspect(plainSearch, 200, eachChunk(hasField("highlights", isNonEmptyArray)))),
		should("search-highlights-in-text", "2", "Highlights are non-empty spans within the text.",
			eachWalrus(eachHighlight(func([]rune) error { return nil }))...),
		should("search-highlights-code-points", "2",
			"The offsets of highlights are in code points and enclose the words that matched.",
			eachWalrus(eachHighlight(func(span []rune) error {
				if got := string(span); got != "walrus" {
					return fmt.Errorf("want the span walrus, got %q", got)
				}
				return nil
			}))...),
		should("search-text-verbatim", "2", "The text of a chunk is neither marked up nor escaped.",
			eachWalrus(func(c object) error {
				if got, _ := c["text"].(string); strings.TrimSpace(got) != text {
					return fmt.Errorf("want the text %q, got %q", text, got)
				}
				return nil
			})...),
	}
}

// eachHighlight judges the text that each highlight of a chunk encloses. Highlights must be
// non-empty and lie within the chunk's text.
func eachHighlight(judge func(span []rune) error) func(object) error {
	return func(c object) error {
		highlights, _ := c["highlights"].([]any)
		if len(highlights) == 0 {
			return optional("the chunk has no highlights")
		}
		body, _ := c["text"].(string)
		text := []rune(body)
		for _, item := range highlights {
			o, _ := item.(object)
			start, end, err := span(o, "start", "end")
			switch {
			case err != nil:
			case start == end:
				err = errors.New("want non-empty spans")
			case end > len(text):
				err = fmt.Errorf("want spans within the %d characters of the text, got the end %d", len(text), end)
			default:
				err = judge(text[start:end])
			}
			if err != nil {
				return fmt.Errorf("highlights: %w", err)
			}
		}
		return nil
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
