package search

import (
	"time"
	"unicode/utf8"
)

// DefaultTopK is how many hits a query without TopK gets.
const DefaultTopK = 10

// Query asks for the passages that fit a text best.
type Query struct {
	Text   string
	TopK   int       // most hits returned; 0 means DefaultTopK
	Before time.Time // zero = no limit; else documents dated after it are left out, undated ones stay
}

// Result answers a query.
type Result struct {
	Hits  []Hit    // best first; ties by path, then by position in the document
	Terms []string // the index terms that were searched for, without duplicates
}

// Hit is one chunk that contains a term of the query.
type Hit struct {
	ChunkID     string // path#ordinal
	Path        string
	Title       string
	HeadingPath string // "" outside any heading
	Text        string // the chunk, verbatim
	Score       float64
	Date        time.Time // zero = undated
	Tags        []string
	Metadata    map[string]any // shared by all hits of the document: read only
	Highlights  []Span         // the words of Text that match a term, in order
}

// Span is the half-open range [Start, End) of a text, in Unicode code points.
type Span struct {
	Start, End int
}

// Search returns the best chunks for a query. A chunk is found by any one of
// the query's terms; a term said twice counts once; a query of stop words finds
// nothing. Hits is never nil.
func (ix *Index) Search(q Query) Result {
	terms, wanted := []string{}, map[string]bool{}
	for _, t := range Terms(q.Text) {
		if !wanted[t] {
			terms, wanted[t] = append(terms, t), true
		}
	}
	k := q.TopK
	if k <= 0 {
		k = DefaultTopK
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	res := Result{Hits: []Hit{}, Terms: terms}
	for _, c := range ix.best(terms, k, q.Before) {
		res.Hits = append(res.Hits, ix.hit(c, wanted))
	}
	return res
}

func (ix *Index) hit(c candidate, wanted map[string]bool) Hit {
	chunk := ix.chunks[c.chunk]
	return Hit{
		ChunkID:     chunkID(chunk.doc.Path, int(chunk.ordinal)),
		Path:        chunk.doc.Path,
		Title:       chunk.doc.Title,
		HeadingPath: chunk.headings,
		Text:        chunk.text,
		Score:       c.score,
		Date:        chunk.doc.Date,
		Tags:        chunk.doc.Tags,
		Metadata:    chunk.doc.Metadata,
		Highlights:  ix.highlights(chunk.text, wanted),
	}
}

// highlights finds the words of text whose term is wanted.
func (ix *Index) highlights(text string, wanted map[string]bool) []Span {
	var spans []Span
	offset, point := 0, 0 // the same place in bytes and in code points
	for start, end := nextWord(text, 0); end > start; start, end = nextWord(text, end) {
		if !wanted[ix.wordTerm(text[start:end])] {
			continue
		}
		point += utf8.RuneCountInString(text[offset:start])
		length := utf8.RuneCountInString(text[start:end])
		spans = append(spans, Span{point, point + length})
		offset, point = end, point+length
	}
	return spans
}
