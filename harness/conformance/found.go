package conformance

import (
	"context"
	"fmt"
	"slices"
)

// foundChecks are about which documents a search finds by which words, and
// from when on.
func foundChecks() []check {
	return slices.Concat(freshSearch(), atOnceChecks(), kindChecks(), sameTextChecks())
}

func freshSearch() []check {
	return []check{
		must("search-updated", "1", "A search finds what a document was changed to.",
			notes, put(kettle, "The teapot is blue."), finds("teapot", kettle, true)),
		must("search-appended", "1", "A search finds what was appended.", notes, appendTo(kettle, "\nThe toaster is red.\n"), finds("toaster", kettle, true)),
		must("search-deleted", "1", "A search does not find what was deleted.", notes, remove(kettle), finds("kettle", kettle, false)),
		must("search-renamed", "1", "A search finds a renamed document under its new path.",
			notes, rename(kettle, seeds+"new.md"), finds("kettle", seeds+"new.md", true), finds("kettle", kettle, false)),
		must("search-batch", "1", "A search finds what a batch wrote.", batch(writeOp(kettle, "The kettle is green.")), finds("kettle", kettle, true)),
		must("search-other-brain", "1", "A search finds nothing of another brain.", notes, elsewhere(func(ctx context.Context, t *trial) error {
			got, err := t.found(ctx, "kettle")
			if err == nil && len(got) > 0 {
				err = fmt.Errorf("want nothing, got %q", got)
			}
			return err
		})),
	}
}

// atOnceChecks want the first search after a change to see it.
func atOnceChecks() []check {
	search := func(query string) request { return searchOf(object{"query": query}) }
	return []check{
		should("search-at-once-put", "1", "The first search after a PUT sees it.", notes, put(kettle, "The teapot is blue."), sees(search("teapot"), []string{kettle}, nil)),
		should("search-at-once-append", "1", "The first search after an append sees it.",
			notes, appendTo(kettle, "\nThe toaster is red.\n"), sees(search("toaster"), []string{kettle}, nil)),
		should("search-at-once-batch", "1", "The first search after a batch sees it.",
			notes, batch(writeOp(seeds+"a.md", "An oven."), deleteOp(kettle)), sees(search("oven kettle"), []string{seeds + "a.md"}, []string{kettle})),
		should("search-at-once-rename", "1", "The first search after a rename sees it.",
			notes, rename(kettle, seeds+"new.md"), sees(search("kettle"), []string{seeds + "new.md"}, []string{kettle})),
		should("search-at-once-delete", "1", "The first search after a DELETE sees it.", notes, remove(kettle), sees(search("kettle"), nil, []string{kettle})),
	}
}

// kindChecks are about kinds of documents and of words.
func kindChecks() []check {
	found := func(path, text, query string) []step { return []step{put(path, text), finds(query, path, true)} }
	return []check{
		should("search-text-document", "1", "A search finds .txt documents.", found(seeds+"pump.txt", "The pump is rusty.", "pump")...),
		should("search-json-document", "1", "A search finds .json documents.", found(seeds+"pump.json", `{"machine": "pump", "state": "rusty"}`, "pump")...),
		should("search-anywhere", "1", "A search finds documents in any folder.", found("garden/shed/pump.md", "The pump is rusty.", "pump")...),
		should("search-accents", "1", "A search finds words with accents.", notes, finds("Pépé", parrot, true)),
		should("search-folding-document", "1", "A word without accents finds the one with them.", found(seeds+"cafe.md", "We met in the café.", "cafe")...),
		should("search-folding-query", "1", "A word with accents finds the one without.", found(seeds+"cafe.md", "We met in the cafe.", "café")...),
		should("search-folding-composed", "1", "An accent may be a character of its own.", found(seeds+"cafe.md", "We met in the cafe\u0301.", "caf\u00e9")...),
		should("search-case", "1", "A search takes upper and lower case alike.", notes, finds("KETTLE", kettle, true)),
		should("search-stemming", "1", "A search finds other forms of a word.", found(seeds+"train.md", "The train was whistling.", "whistles")...),
	}
}

// sameTextChecks: chunks may stand for others of the same text, if they say so.
func sameTextChecks() []check {
	one, two := seeds+"one.md", seeds+"two.md"
	twins := []step{put(one, "The badger digs a tunnel.\n"), put(two, "The badger digs a tunnel.\n"), put(seeds+"last.md", "The heron waits.\n"), finds("heron", seeds+"last.md", true)}
	badger := searchOf(object{"query": "badger"})
	return []check{
		should("search-same-text", "1", "Of documents with the same text each is found, or another one names it in duplicates.",
			append(twins, answers(badger, 200, func(r *response) error {
				found, duplicates, err := r.twins()
				if err == nil && found+duplicates < 2 {
					err = fmt.Errorf("want 2 documents among the chunks and their duplicates, got %d and %d", found, duplicates)
				}
				return err
			}))...),
		should("search-collapsed", "1", "collapsed counts the chunks that others of the same text stand for.", append(twins, answers(badger, 200, func(r *response) error {
			_, duplicates, err := r.twins()
			if err != nil {
				return err
			}
			if duplicates == 0 {
				return notJudged{"no chunk names a duplicate"}
			}
			return key("collapsed", is(float64(duplicates)))(r)
		}))...),
		should("search-similar-text", "1", "Documents whose texts differ in a word are found both.",
			library("badger", one, "The badger digs a long tunnel.\n", two, "The badger digs a wide tunnel.\n"), sees(badger, []string{one, two}, nil)),
	}
}

// twins counts chunks and the duplicates that they name: by an id, or as an
// object with the document's path or id.
func (r *response) twins() (found, duplicates int, err error) {
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
