package harness

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"evalctl/daemon/protocol"
)

// How long the last document may take to be found: searchableWithin, and
// timeToIndex more for each document, since a daemon may have a model embed them.
const (
	searchableWithin = 30 * time.Second
	timeToIndex      = 25 * time.Millisecond
)

// probe searches and returns the chunks. Of a query longer than one may be, the
// beginning is searched for.
func probe(ctx context.Context, e *Endpoint, brain, query string, d Dialect, topK int) ([]Chunk, error) {
	if r := []rune(query); len(r) > protocol.MaxSearchQuery {
		query = string(r[:protocol.MaxSearchQuery])
	}
	o, err := e.call(ctx, request{
		method: http.MethodPost, path: brainPath(brain) + "/search", contentType: protocol.TypeJSON,
		body: d.encode(body{"query": query, "top_k": topK, "mode": protocol.ModeAuto}, nil),
	})
	if err != nil {
		return nil, err
	}
	return chunksOf(o, "chunks", "hits")
}

// awaitSearchable polls until one of paths is found, because a daemon may index
// after it has answered, or keep a search waiting for longer than a call may take.
// known is all that was written, last the document written
// last, for errors.
func awaitSearchable(ctx context.Context, e *Endpoint, brain string, d Dialect, known catalogue, last string, paths []string, query string) error {
	start, within := time.Now(), searchableWithin+time.Duration(len(known))*timeToIndex
	wait := 5 * time.Millisecond
	for {
		chunks, err := probe(ctx, e, brain, query, d, protocol.MaxAskTopK)
		f, ok := errors.AsType[*Failure](err)
		if err != nil && !errors.Is(err, errNoAnswer) && (!ok || !f.retry) {
			return fmt.Errorf("search for the seeded document %s: %w", last, err)
		}
		for _, c := range chunks {
			// A document that stands behind another of the same text is found too.
			for _, name := range append([]string{c.Path, c.DocumentID}, c.Duplicates...) {
				if slices.Contains(paths, known.name(name)) {
					return nil
				}
			}
		}
		var asked time.Duration // the wait that the daemon asks for
		if ok {
			asked = f.retryAfter
		}
		switch over := time.Since(start)+asked > within; {
		case over && err != nil:
			return fmt.Errorf("document %s was written but could not be searched for within %v: %w", last, within, err)
		case over:
			return fmt.Errorf("document %s was written but is not found after %v (the last search gave %d chunks); does the daemon index %s?",
				last, within, len(chunks), SeedRoot)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(max(wait, asked)):
		}
		wait = min(2*wait, 250*time.Millisecond)
	}
}

// probeOf chooses the document whose being found shows that the corpus can be
// searched, and the words to find it by. It is the one with the most words that
// no other has, then the one with the most different words, then the last one.
func probeOf(docs []Doc) (index int, query string) {
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

// wordsOf is the words of a text as searches see them.
func wordsOf(text []byte) iter.Seq[[]byte] {
	return bytes.FieldsFuncSeq(bytes.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// probeWords is the passage of 40 words with the most own words, of several the
// last one: the end of a text sets it apart better than its front matter would.
func probeWords(doc Doc, own func(word []byte) bool) string {
	const most = 40
	words := strings.Fields(strings.ToValidUTF8(string(doc.Data), " "))
	owned := make([]int, len(words)+1) // how many own words stand before each
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
