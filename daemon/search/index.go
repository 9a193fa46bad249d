package search

import (
	"maps"
	"slices"
	"sync"
)

// Default constants of BM25, see score and docs/retrieval.md.
const (
	// defaultK1 is in the middle of the usual range, 1.2 to 2.
	defaultK1 = 1.5
	// defaultB discounts a long text in full: lengthSlack is what spares short ones.
	defaultB = 1.0
)

// Options tune an Index. Zero values mean the defaults.
type Options struct {
	ChunkSize int // see Split

	k1 float64 // saturation of repeated terms, > 0
	b  float64 // how much long chunks are discounted, in (0, 1]
}

// Index ranks chunks by BM25F and further evidence, all in memory: see score and
// evidence. Terms count in the fields text, title, path and labels.
//
// It is safe for concurrent use: searches run side by side, and a change is
// visible to every search that starts after Put or Delete returned. Scores
// depend on the documents present only, never on the changes that led to them.
type Index struct {
	k1, b     float64
	weights   weights
	chunkSize int

	// writing is held by a writer from beginning to end, mu only while it
	// applies its change. So a writer may read the fields below without mu.
	writing     sync.Mutex
	mu          sync.RWMutex
	docs        map[string]*entry // by path
	order       order
	chunks      []chunk            // by chunk number; a deleted one keeps its number until compact
	textLengths []uint32           // number of terms of the text, by chunk number
	vectors     vectors            // by chunk number, as far as they are known
	live        int                // chunks not deleted
	totals      [fieldCount]uint64 // sums of the lengths of live chunks, by field
	postings    []postings         // by term number
	vocabulary

	scratch sync.Pool // of *scratch
}

// New makes an empty index.
func New(opts *Options) *Index {
	ix := &Index{
		k1:         defaultK1,
		b:          defaultB,
		weights:    defaultWeights,
		chunkSize:  defaultChunkSize,
		docs:       map[string]*entry{},
		vocabulary: newVocabulary(),
	}
	if opts != nil {
		if opts.ChunkSize != 0 {
			ix.chunkSize = max(opts.ChunkSize, MinChunkSize)
		}
		if opts.k1 != 0 {
			ix.k1 = opts.k1
		}
		if opts.b != 0 {
			ix.b = opts.b
		}
	}
	ix.scratch.New = func() any { return &scratch{} }
	return ix
}

// Len gives the number of documents, those without a chunk included.
func (ix *Index) Len() int {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return len(ix.docs)
}

// Source gives the Source of the document at path, and whether there is one.
func (ix *Index) Source(path string) (source string, ok bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	doc, ok := ix.docs[path]
	if !ok {
		return "", false
	}
	return doc.Source, true
}

// Paths gives the path of every document, in no order.
func (ix *Index) Paths() []string {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return slices.Collect(maps.Keys(ix.docs))
}

// Chunks gives the number of chunks.
func (ix *Index) Chunks() int {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.live
}

// Put adds documents, each in place of the one with the same path; of several
// with one path the last one stays. Many at once are worked on by all
// processors. Searches see each document whole, but may see them one by one. The
// caller may not modify Tags and Metadata afterwards.
func (ix *Index) Put(docs ...Document) {
	ix.writing.Lock()
	defer ix.writing.Unlock()
	for batch := range slices.Chunk(docs, maxBatch) {
		ix.putBatch(batch)
	}
}

// maxBatch bounds how many documents are analysed before they are added, and so
// how long a search waits for that.
const maxBatch = 256

func (ix *Index) putBatch(docs []Document) {
	analyses := ix.analyse(docs)
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for _, a := range analyses {
		ix.addTerms(a)
	}
	for i := range docs { // in their order
		doc := analyses[i%len(analyses)].docs[i/len(analyses)]
		if old := ix.docs[doc.Path]; old != nil {
			ix.remove(old)
		}
		ix.add(doc.entry, doc.chunks)
	}
	ix.compact()
}

// Delete removes the document of that path, if there is one.
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
