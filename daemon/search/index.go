// Package search ranks passages of documents. An Index splits documents into chunks and keeps them
// in memory. A Searcher answers queries over an Index in every mode.
//
// It does not depend on storage or the wire: callers put documents into an Index, and rebuild it
// when they need to.
package search

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"evalctl/daemon/language"
	"evalctl/daemon/search/document"
	"evalctl/daemon/search/vector"
)

// parameters are the parameters of BM25, see score.go and queryTerms. docs/dev/ranking.md explains
// their values.
type parameters struct {
	k1 float64 // saturation of repeated terms, > 0
	b  float64 // discount of long texts, in (0, 1]
	// slack is a number of terms by which texts may differ with little effect on their scores: a
	// short turn of a conversation is not a better answer for being shorter.
	slack float64
	// beyond is the share of b by which whole documents longer than the average chunk are
	// discounted, in [0, 1].
	beyond float64
	scope  float64 // discount of documents of many pieces
	k3     float64 // how far the occurrences of a term in a query add to its weight
	letter float64 // weight of a letter of a script without spaces, where a pair has weight 1
}

var defaultParameters = parameters{k1: 1.6, b: 1, slack: 10, beyond: 0.5, scope: 0.1, k3: 8, letter: 0.2}

// weights are the weights of the further features, where the score of BM25F has weight 1.
// docs/dev/ranking.md reports what each of them adds.
type weights struct {
	neighbours float64 // see addNeighbours
	feedback   float64 // of the best word that the query lacks, see feedback
	emphasis   float64 // of the best word that it has, see feedback
	language   float64 // see addLanguage
	date       float64 // see addDates
	reply      float64 // see addReplies
}

var defaultWeights = weights{neighbours: 0.2, feedback: 0.2, emphasis: 3, language: 0.3, date: 0.4, reply: 0.3}

// Options tune an Index. Zero values mean the defaults.
type Options struct {
	// ChunkSize is the largest size of a chunk, see document.Split, from document.MinChunkSize to
	// document.MaxChunkSize bytes; 0 means 1600. Chunks of texts whose letters take several bytes
	// have the same number of letters.
	ChunkSize int
	// Language is the language of documents that do not name theirs. With None it is detected.
	Language language.Language
}

// Index ranks chunks by BM25F and further features, all in memory; see score.go and features. It
// counts terms in the fields text, title, path and labels.
//
// It is safe for concurrent use: searches run concurrently, and every search that begins after Put
// or Delete has returned sees the change. Scores depend only on the present documents, never on the
// changes that led to them.
type Index struct {
	parameters
	weights   weights
	chunkSize int
	language  language.Language // see Options

	// A writer holds writing from beginning to end, and mu only while it applies its change. So a
	// writer may read the fields below without mu.
	writing   sync.Mutex
	mu        sync.RWMutex
	docs      map[string]*entry // by path
	order     order
	chunks    []chunk             // by chunk number; a deleted one keeps its number until compact
	extents   []extent            // of the text, by chunk number
	traits    []traits            // by chunk number
	vectors   vector.Rows         // by chunk number; a deleted one is among the waiting
	live      int                 // chunks not deleted
	languages [language.Count]int // chunks not deleted, by the language of their document
	unspaced  int                 // those in languages without spaces
	total     uint64              // terms of the texts of live chunks
	postings  []postings          // by term number
	tallies   tallies
	// blocks hold the memory that lists of postings, and the strings of a snapshot, are parts of. A
	// list that grows is copied. A block stays in memory as long as one of its parts is in use.
	blocks blocks
	vocabulary

	scratch sync.Pool // of *scratch, see borrow
}

// New returns an empty index. Nil options mean the defaults.
func New(opts *Options) *Index {
	opts = cmp.Or(opts, &Options{})
	return &Index{
		parameters: defaultParameters,
		weights:    defaultWeights,
		chunkSize:  document.ChunkSize(opts.ChunkSize),
		language:   opts.Language,
		docs:       map[string]*entry{},
		vocabulary: vocabulary{numbers: map[string]uint32{}},
		tallies:    newTallies(),
	}
}

// Len returns the number of documents, including those without a chunk.
func (ix *Index) Len() int {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return len(ix.docs)
}

// Source returns the Source of the document at path, and whether there is one.
func (ix *Index) Source(path string) (source string, ok bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	if doc := ix.docs[path]; doc != nil {
		return doc.Source, true
	}
	return "", false
}

// Paths returns the path of every document, in no particular order.
func (ix *Index) Paths() []string {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return slices.Collect(maps.Keys(ix.docs))
}

// Chunks returns the number of chunks.
func (ix *Index) Chunks() int {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.live
}

// Embedded returns how many chunks of the document at path have a vector.
func (ix *Index) Embedded(path string) int {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	n := 0
	if doc := ix.docs[path]; doc != nil {
		for i := range doc.count {
			if ix.vectors.Has(doc.first + i) {
				n++
			}
		}
	}
	return n
}

func (ix *Index) chunkID(n uint32) string {
	return document.ChunkID(ix.chunks[n].doc.Path, int(ix.chunks[n].ordinal))
}

// chunksOf returns the chunks of doc, in order.
func (ix *Index) chunksOf(doc *entry) []chunk {
	if doc.count == 0 {
		return nil // first is not set
	}
	return ix.chunks[doc.first : doc.first+doc.count]
}

// accepts reports whether keep accepts the document of a chunk. A nil keep accepts all documents
// but generated ones.
func (ix *Index) accepts(keep func(*document.Document) bool, chunk uint32) bool {
	if keep == nil {
		return ix.traits[chunk]&(present|generated) == present
	}
	return ix.traits[chunk]&present > 0 && keep(&ix.chunks[chunk].doc.Document)
}

// compareChunks orders live chunks by path and position.
func (ix *Index) compareChunks(a, b uint32) int {
	x, y := &ix.chunks[a], &ix.chunks[b]
	return cmp.Or(cmp.Compare(x.doc.Path, y.doc.Path), cmp.Compare(x.ordinal, y.ordinal))
}
