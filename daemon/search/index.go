// Package search ranks passages of documents. An Index splits documents into chunks and keeps them in
// memory, and a Searcher answers queries over an Index in every mode.
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
)

// parameters are those of BM25, see score and queryTerms. docs/dev/ranking.md explains their values.
type parameters struct {
	k1 float64 // saturation of repeated terms, > 0
	b  float64 // discount of long texts, in (0, 1]
	// slack is a number of terms by which texts may differ with little effect on their scores: a
	// short turn of a conversation is not a better answer because it is shorter.
	slack float64
	// beyond is the share of b by which whole documents are discounted that are longer than the
	// average chunk, in [0, 1].
	beyond float64
	scope  float64 // discount of documents of many pieces
	k3     float64 // how far the occurrences of a term in a query add to its weight
}

var defaultParameters = parameters{k1: 1.6, b: 1, slack: 10, beyond: 0.5, scope: 0.1, k3: 8}

// Options tune an Index. Zero values mean the defaults.
type Options struct {
	// ChunkSize is the largest size of a chunk, see document.Split, from document.MinChunkSize to
	// document.MaxChunkSize bytes; 0 means 1600.
	// Texts whose letters take several bytes have chunks of as many letters.
	ChunkSize int
	// Language is that of documents which do not name theirs; None has it detected.
	Language language.Language
}

// Index ranks chunks by BM25F and further features, all in memory; see score and features. Terms
// are counted in the fields text, title, path and labels.
//
// It is safe for concurrent use: searches run concurrently, and a change is visible to every search
// that begins after Put or Delete has returned. Scores depend only on the documents that are
// present, never on the changes that led to them.
type Index struct {
	parameters
	weights   weights
	chunkSize int
	language  language.Language // see Options

	// writing is held by a writer from beginning to end, mu only while it applies its change. So a
	// writer may read the fields below without mu.
	writing   sync.Mutex
	mu        sync.RWMutex
	docs      map[string]*entry // by path
	order     order
	chunks    []chunk             // by chunk number; a deleted one keeps its number until compact
	extents   []extent            // of the text, by chunk number
	traits    []traits            // by chunk number
	vectors   vectors             // by chunk number
	live      int                 // chunks not deleted
	languages [language.Count]int // documents, by language
	totals    [fieldCount]uint64  // sums of the lengths of live chunks, by field
	postings  []postings          // by term number
	tallies   tallies
	// blocks are what lists of postings, and the strings of a snapshot, are parts of. A list that
	// grows is copied, and the block stays in memory as long as one of its parts is in use.
	blocks blocks
	vocabulary

	scratch sync.Pool // of *scratch
	buffers sync.Pool // of *buffers
}

// New returns an empty index. Nil options mean the defaults.
func New(opts *Options) *Index {
	opts = cmp.Or(opts, &Options{})
	ix := &Index{
		parameters: defaultParameters,
		weights:    defaultWeights,
		chunkSize:  document.ChunkSize(opts.ChunkSize),
		language:   opts.Language,
		docs:       map[string]*entry{},
		vocabulary: newVocabulary(),
		tallies:    newTallies(),
	}
	ix.buffers.New = func() any { return &buffers{} }
	ix.scratch.New = func() any { return &scratch{} }
	return ix
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
	doc, ok := ix.docs[path]
	if !ok {
		return "", false
	}
	return doc.Source, true
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

// Put adds documents. Each replaces the document with the same path; of several with one path, the
// last is kept. Many documents at once are analysed on all processors. A search sees each document
// whole, but may see some of the documents and not yet the others. The caller must not modify Tags
// and Metadata afterwards.
func (ix *Index) Put(docs ...document.Document) {
	ix.writing.Lock()
	defer ix.writing.Unlock()
	for batch := range slices.Chunk(docs, maxBatch) {
		ix.putBatch(batch)
	}
}

// maxBatch bounds the number of documents that are added together, and so the time for which a
// search waits for them.
const maxBatch = 256

func (ix *Index) putBatch(docs []document.Document) {
	analyses := ix.analyse(docs)
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for _, a := range analyses {
		ix.addTerms(a)
	}
	for i := range docs { // in their original order
		doc := analyses[i%len(analyses)].docs[i/len(analyses)]
		if old := ix.docs[doc.Path]; old != nil {
			ix.remove(old)
		}
		ix.add(doc.entry, doc.chunks)
	}
	ix.compact()
}

// Delete removes the document with that path, if there is one.
func (ix *Index) Delete(path string) {
	ix.writing.Lock()
	defer ix.writing.Unlock()
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if old := ix.docs[path]; old != nil {
		ix.remove(old)
		ix.compact()
	}
}
