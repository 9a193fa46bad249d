package seed

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	"evalctl/daemon/protocol"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/printable"
	"evalctl/internal/retry"
)

// The time limit for the last document to be found: searchableWithin, plus timeToIndex for each
// document, since a daemon may have a model embed them. While the daemon reports pending work that
// decreases, each decrease restarts searchableWithin.
const (
	searchableWithin = 30 * time.Second
	timeToIndex      = 25 * time.Millisecond
)

// Await polls until a search finds one of docs. They may have been written in any order or in
// another form; the query is chosen as in Seed. written is the number of documents written to the
// brain in all, on which the time limit depends. documents returns the paths of the documents, in
// docs or not, to which a chunk belongs. A chunk with text of the document also counts, since a
// daemon may return one of several equal texts. hint is appended to the error if nothing is found
// in time.
func (b *Brain) Await(
	ctx context.Context, docs []dataset.Doc, written int,
	documents func(result.Chunk) []string, hint string,
) error {
	i, query := probeOf(docs)
	paths := sameText(docs, i)
	one := probe{
		doc: docs[i].Path, query: query, written: written, hint: hint,
		found: func(c result.Chunk) bool {
			return c.Text != "" && bytes.Contains(docs[i].Data, []byte(c.Text)) ||
				slices.ContainsFunc(documents(c), func(p string) bool { return slices.Contains(paths, p) })
		},
	}
	if _, ok := b.store.(target.Notices); ok {
		missing, err := b.awaitAll(ctx, []probe{one})
		if err == nil {
			b.Lost(Loss{missing, 1})
		}
		return err
	}
	return b.await(ctx, one)
}

// awaitSearchable polls until a search finds the corpus. docs are all documents, docs[last] was
// written last, and query should find it.
func (b *Brain) awaitSearchable(
	ctx context.Context, docs []dataset.Doc, last int, query string,
) error {
	known := dataset.PathsOf(docs)
	one := func(i int, query string) probe {
		twins := sameText(docs, i)
		return probe{
			doc: docs[i].Path, query: query, written: known.Len(),
			found: func(c result.Chunk) bool { return found(c, known, twins) || nameless(c, docs[i]) },
			hint:  fmt.Sprintf("does the daemon index %s?", result.SeedRoot),
		}
	}
	if _, ok := b.store.(target.Notices); !ok {
		return b.await(ctx, one(last, query))
	}
	words, _ := usesOf(docs)
	var probes []probe
	for _, i := range spread(len(docs), mostProbes) {
		probes = append(probes, one(i, probeWords(docs[i], words.own)))
	}
	missing, err := b.awaitAll(ctx, probes)
	switch {
	case err != nil:
		return err
	case missing == len(probes):
		return fmt.Errorf("none of %d documents that were written is found by its own words after %v without any; "+
			"check with evalctl target check that the target finds what it is told", missing, searchableWithin)
	}
	b.Lost(Loss{missing, len(probes)})
	return nil
}

// nameless reports whether a chunk without a document name contains text of doc or is contained in
// it. Only words are compared, not the space between them.
func nameless(c result.Chunk, doc dataset.Doc) bool {
	words := func(text string) string { return " " + strings.Join(strings.Fields(text), " ") + " " }
	text, whole := words(c.Text), words(string(doc.Data))
	return c.Path == "" && c.DocumentID == "" && strings.TrimSpace(text) != "" &&
		(strings.Contains(whole, text) || strings.Contains(text, whole))
}

// probe is a document whose discovery shows that a brain can be searched.
type probe struct {
	doc     string // its path
	query   string // finds it
	written int    // documents in the brain
	found   func(result.Chunk) bool
	hint    string // what to check if it is not found
}

// await polls until a search finds the probe. A daemon may index after it has answered a write, or
// delay a search beyond the time limit of a call.
func (b *Brain) await(ctx context.Context, p probe) error {
	start := time.Now()
	within := searchableWithin + time.Duration(p.written)*timeToIndex
	progress := start // the end of the time that has been well spent
	pending, wait := 0, 5*time.Millisecond
	for {
		chunks, err := b.Search(ctx, p.query, protocol.MaxAskTopK)
		f, ok := errors.AsType[*target.Failure](err)
		if err != nil && !errors.Is(err, target.ErrNoAnswer) && (!ok || !f.Retryable()) {
			return fmt.Errorf("search for the seeded document %s: %w", p.doc, err)
		}
		if slices.ContainsFunc(chunks, p.found) {
			return nil
		}
		var asked time.Duration // the wait that the daemon asks for
		if ok {
			asked = f.RetryAfter()
			if n := f.Pending(); n > 0 && (pending == 0 || n < pending) {
				pending, progress = n, time.Now()
			}
		}
		spent := time.Since(start)
		over := spent+asked > within
		switch stalled := time.Since(progress)+asked > searchableWithin; {
		case over && !stalled:
		case over && pending > 0 && err != nil:
			return fmt.Errorf("document %s was written but could not be searched for within %v, and the %d passages "+
				"that the daemon has to prepare first did not become fewer for %v: %w",
				p.doc, spent.Round(time.Second), pending, searchableWithin, err)
		case over && err != nil:
			return fmt.Errorf("document %s was written but could not be searched for within %v: %w",
				p.doc, within, err)
		case over:
			return fmt.Errorf("document %s was written but is not found after %v (%s); %s", p.doc, within, whatFound(chunks), p.hint)
		}
		if err := retry.Sleep(ctx, max(wait, asked)); err != nil {
			return err
		}
		wait = min(2*wait, 250*time.Millisecond)
	}
}

// whatFound describes what a search returned instead of a document. The names show whether the
// daemon renames documents.
func whatFound(chunks []result.Chunk) string {
	if len(chunks) == 0 {
		return "the last search returned no chunk"
	}
	name := cmp.Or(chunks[0].Path, chunks[0].DocumentID)
	return fmt.Sprintf("the best match of the last search has the path %.100q, and it must be the one that was written", name)
}

// sameText returns the paths of the documents with the same text as docs[i]. A search may return
// any of them.
func sameText(docs []dataset.Doc, i int) []string {
	var paths []string
	for _, doc := range docs {
		if bytes.Equal(doc.Data, docs[i].Data) {
			paths = append(paths, doc.Path)
		}
	}
	return paths
}

// found reports whether a chunk belongs to a document in paths, as itself or as a duplicate.
func found(c result.Chunk, known *dataset.Paths, paths []string) bool {
	for _, name := range append([]string{c.Path, c.DocumentID}, c.Duplicates...) {
		if slices.Contains(paths, known.Name(name)) {
			return true
		}
	}
	return false
}

// probeOf chooses the document to search for, and its query. It is the document with the most words
// that no other document has. Ties are broken by the number of different words, then in favor of
// the last document.
func probeOf(docs []dataset.Doc) (index int, query string) {
	uses, different := usesOf(docs)
	own := make([]int, len(docs))
	for _, u := range uses {
		if u.first == u.last {
			own[u.first]++
		}
	}
	for i := range docs {
		if cmp.Or(cmp.Compare(own[i], own[index]), cmp.Compare(different[i], different[index])) >= 0 {
			index = i
		}
	}
	return index, probeWords(docs[index], uses.own)
}

// uses has the first and last document of each word.
type uses map[string]struct{ first, last int }

// usesOf returns the uses of all words, and the number of different words in each document.
func usesOf(docs []dataset.Doc) (all uses, different []int) {
	all, different = uses{}, make([]int, len(docs))
	for i, doc := range docs {
		for w := range wordsOf(doc.Data) {
			u, seen := all[string(w)]
			if seen && u.last == i {
				continue
			}
			different[i]++
			if !seen {
				u.first = i
			}
			u.last = i
			all[string(w)] = u
		}
	}
	return all, different
}

// own reports whether exactly one document has a word.
func (u uses) own(word []byte) bool {
	of := u[string(word)]
	return of.first == of.last
}

// wordsOf yields the words of a text as a search would split them.
func wordsOf(text []byte) iter.Seq[[]byte] {
	return bytes.FieldsFuncSeq(bytes.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
}

// probeWords returns the passage of 40 words with the most words for which own is true. Of equal
// ones it returns the last, because the end of a text is more specific than its front matter.
func probeWords(doc dataset.Doc, own func(word []byte) bool) string {
	const most = 40
	words := strings.Fields(strings.ToValidUTF8(string(doc.Data), " "))
	owned := make([]int, len(words)+1) // the number of own words before each
	for i, field := range words {
		owned[i+1] = owned[i]
		for w := range wordsOf([]byte(field)) {
			if own(w) {
				owned[i+1]++
			}
		}
	}
	start := 0
	for i := range max(0, len(words)-most+1) {
		if owned[i+most]-owned[i] >= owned[start+most]-owned[start] {
			start = i
		}
	}
	return printable.First(strings.Join(words[start:min(start+most, len(words))], " "), 1000)
}
