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

// Index ranks chunks by BM25F, all in memory: see score. Terms count in the
// fields text, title, path and labels.
//
// It is safe for concurrent use: searches run side by side, and a change is
// visible to every search that starts after Put or Delete returned. Scores
// depend on the documents present only, never on the changes that led to them.
type Index struct {
	k1, b     float64
	chunkSize int

	// writing is held by a writer from beginning to end, mu only while it
	// applies its change. So a writer may read the fields below without mu.
	writing  sync.Mutex
	mu       sync.RWMutex
	docs     map[string]*entry // by path
	order    order
	chunks   []chunk   // by chunk number; a deleted one keeps its number until compact
	weighted []float32 // weightedLength, by chunk number
	vectors  vectors
	live     int                // chunks not deleted
	totals   [fieldCount]uint64 // sums of the lengths of live chunks, by field
	postings []postings         // by term number
	vocabulary

	scratch sync.Pool // of *scratch
}

// New makes an empty index.
func New(opts *Options) *Index {
	ix := &Index{
		k1:         DefaultK1,
		b:          DefaultB,
		docs:       map[string]*entry{},
		vocabulary: newVocabulary(),
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
	c := counter{numberer: newNumberer(&ix.vocabulary)}
	e := &entry{Document: doc}
	var chunks []counted
	for _, ch := range Split(doc, ix.chunkSize) {
		chunks = append(chunks, c.count(chunk{doc: e, ordinal: uint32(ch.Ordinal), text: ch.Text, headings: ch.HeadingPath}))
	}

	ix.mu.Lock()
	defer ix.mu.Unlock()
	if old := ix.docs[doc.Path]; old != nil {
		ix.remove(old)
	}
	ix.learn(c.numberer)
	ix.add(e, chunks)
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
