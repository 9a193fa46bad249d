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
)

// How long the last document may take to be found: searchableWithin, and timeToIndex more for each
// document, since a daemon may have a model embed them.
const (
	searchableWithin = 30 * time.Second
	timeToIndex      = 25 * time.Millisecond
)

// awaitSearchable polls until a search finds the corpus, because a daemon may index after it has
// answered a write, or keep a search waiting for longer than a call may take. docs are all the
// documents, docs[last] was written last, and query finds it.
func (b *remoteBrain) awaitSearchable(
	ctx context.Context, docs []dataset.Doc, last int, query string,
) error {
	known, doc := dataset.PathsOf(docs), docs[last].Path
	twins := sameText(docs, last)
	start, within := time.Now(), searchableWithin+time.Duration(len(known))*timeToIndex
	wait := 5 * time.Millisecond
	for {
		chunks, err := b.search(ctx, query, protocol.MaxAskTopK)
		f, ok := errors.AsType[*target.Failure](err)
		if err != nil && !errors.Is(err, target.ErrNoAnswer) && (!ok || !f.Retryable()) {
			return fmt.Errorf("search for the seeded document %s: %w", doc, err)
		}
		if found(chunks, known, twins) {
			return nil
		}
		var asked time.Duration // the wait that the daemon asks for
		if ok {
			asked = f.RetryAfter()
		}
		switch over := time.Since(start)+asked > within; {
		case over && err != nil:
			return fmt.Errorf("document %s was written but could not be searched for within %v: %w",
				doc, within, err)
		case over:
			return fmt.Errorf("document %s was written but is not found after %v "+
				"(the last search returned %d chunks); does the daemon index %s?",
				doc, within, len(chunks), result.SeedRoot)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(max(wait, asked)):
		}
		wait = min(2*wait, 250*time.Millisecond)
	}
}

// sameText returns the paths of the documents with the same text as docs[i], any of which a search
// may return.
func sameText(docs []dataset.Doc, i int) []string {
	var paths []string
	for _, doc := range docs {
		if bytes.Equal(doc.Data, docs[i].Data) {
			paths = append(paths, doc.Path)
		}
	}
	return paths
}

// found reports whether one of paths is among the documents of chunks. A document that is reported
// as the duplicate of another counts too.
func found(chunks []result.Chunk, known dataset.Paths, paths []string) bool {
	for _, c := range chunks {
		for _, name := range append([]string{c.Path, c.DocumentID}, c.Duplicates...) {
			if slices.Contains(paths, known.Name(name)) {
				return true
			}
		}
	}
	return false
}

// probeOf chooses the document to search for, which shows that the corpus can be searched, and the
// words to find it by. It is the document with the most words that no other has; of several, the one with
// the most different words; of several, the last one.
func probeOf(docs []dataset.Doc) (index int, query string) {
	type use struct{ first, last int }
	uses := map[string]use{}
	different, own := make([]int, len(docs)), make([]int, len(docs))
	for i, doc := range docs {
		for w := range wordsOf(doc.Data) {
			u, seen := uses[string(w)]
			if seen && u.last == i {
				continue
			}
			different[i]++
			if !seen {
				u.first = i
			}
			u.last = i
			uses[string(w)] = u
		}
	}
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
	return index, probeWords(docs[index], func(word []byte) bool {
		u := uses[string(word)]
		return u.first == u.last
	})
}

// wordsOf yields the words of a text as searches see them.
func wordsOf(text []byte) iter.Seq[[]byte] {
	return bytes.FieldsFuncSeq(bytes.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
}

// probeWords returns the passage of 40 words with the most words for which own is true. Of several
// it is the last one, because the end of a text is more specific than its front matter.
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
	r := []rune(strings.Join(words[start:min(start+most, len(words))], " "))
	return string(r[:min(len(r), 1000)])
}
