package search

import "sync"

// Default constants of BM25, see Index. They are a compromise, chosen on the
// tasks of BenchmarkQuality: a smaller B suits single turns of conversation, a
// larger one long and short texts mixed.
const (
	DefaultK1 = 1.2
	DefaultB  = 0.85
)

// Options tune an Index. Zero values mean the defaults.
type Options struct {
	K1        float64 // saturation of repeated terms, > 0
	B         float64 // how much long chunks are discounted, in (0, 1]
	ChunkSize int     // see Split
}

// Index ranks chunks by BM25 (Robertson and Zaragoza, "The Probabilistic
// Relevance Framework: BM25 and Beyond", 2009), all in memory. For a chunk of
// length dl (in terms) out of n chunks with average length avgdl, the score is
// the sum over the distinct terms of the query of
//
//	ln(1 + (n-df+0.5)/(df+0.5)) · tf·(k1+1) / (tf + k1·(1-b+b·dl/avgdl))
//
// where the title, tags and heading path of a chunk count as part of it.
//
// It is safe for concurrent use: searches run side by side, and a change is
// visible to every search that starts after Put or Delete returned. Scores
// depend on the documents present only, never on the changes that led to them.
type Index struct {
	k1, b     float64
	chunkSize int

	// writing is held by a writer from beginning to end, mu only while it
	// applies its change. So a writer may read the fields below without mu.
	writing sync.Mutex
	mu      sync.RWMutex
	docs    map[string][]uint32 // chunk numbers, by path
	chunks  []chunk             // by chunk number; a deleted one keeps its number until compact
	lengths []uint32            // number of terms, by chunk number
	live    int                 // chunks not deleted
	total   uint64              // sum of the lengths of live chunks
	terms   map[string]*postings
	words   map[string]string // terms of words met so far

	scratch sync.Pool // of *scratch
}

// New makes an empty index.
func New(opts *Options) *Index {
	ix := &Index{
		k1:    DefaultK1,
		b:     DefaultB,
		docs:  map[string][]uint32{},
		terms: map[string]*postings{},
		words: map[string]string{},
	}
	if opts != nil {
		ix.chunkSize = opts.ChunkSize
		if opts.K1 != 0 {
			ix.k1 = opts.K1
		}
		if opts.B != 0 {
			ix.b = opts.B
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

// Put adds a document, in place of the one with the same path. The caller may
// not modify its Tags and Metadata afterwards.
func (ix *Index) Put(doc Document) {
	ix.writing.Lock()
	defer ix.writing.Unlock()
	c := ix.counter()
	old := ix.count(c, ix.docs[doc.Path])
	var added []counted
	for _, ch := range Split(doc, ix.chunkSize) {
		added = append(added, c.count(chunk{&doc, uint32(ch.Ordinal), ch.Text, ch.HeadingPath}))
	}

	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.remove(doc.Path, old)
	ix.add(doc.Path, added)
	ix.learn(c)
	ix.compact()
}

// Delete removes the document of that path, if there is one.
func (ix *Index) Delete(path string) {
	ix.writing.Lock()
	defer ix.writing.Unlock()
	numbers, ok := ix.docs[path]
	if !ok {
		return
	}
	old := ix.count(ix.counter(), numbers)

	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.remove(path, old)
	ix.compact()
}

// count counts the terms of chunks in the index once more: cheaper than
// keeping them beside the postings.
func (ix *Index) count(c *counter, numbers []uint32) []counted {
	out := make([]counted, 0, len(numbers))
	for _, n := range numbers {
		out = append(out, c.count(ix.chunks[n]))
	}
	return out
}
