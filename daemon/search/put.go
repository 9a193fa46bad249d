package search

import (
	"slices"

	"evalctl/daemon/language"
	"evalctl/daemon/search/document"
)

// Put adds documents. Each replaces the document with the same path. If several have one path, the
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

// maxBatch bounds the number of documents that are added together, and so how long a search waits
// for them.
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

// add adds a new document to the index. Called with mu held for writing, as are remove and compact.
func (ix *Index) add(doc *entry, chunks []countedChunk) {
	doc.first, doc.count = uint32(len(ix.chunks)), uint32(len(chunks))
	ix.postings = append(ix.postings, make([]postings, len(ix.names)-len(ix.postings))...)
	ix.vectors.Grow(len(chunks))
	var buf []byte
	for i, c := range chunks {
		c.sequence, buf = encodeSequence(buf, c.words)
		ix.chunks = append(ix.chunks, c.chunk)
		ix.extents = append(ix.extents, ix.extent(&c.chunk))
		ix.traits = append(ix.traits, traitsOf(&doc.Document))
		ix.live++
		ix.total += uint64(c.length)
		for _, t := range c.terms {
			p := &ix.postings[t.term]
			p.chunks = append(withRoom(p.chunks), doc.first+uint32(i))
			p.tallies = append(withRoom(p.tallies), ix.tallies.number(t.counts))
			p.live++
		}
	}
	ix.docs[doc.Path] = doc
	ix.countLanguage(doc.Language, len(chunks))
	ix.order.insert(doc)
}

// countLanguage adds chunks of documents in a language, or removes them.
func (ix *Index) countLanguage(l language.Language, chunks int) {
	ix.languages[l] += chunks
	if l.Unspaced() {
		ix.unspaced += chunks
	}
}

// remove marks the chunks of a document as deleted.
func (ix *Index) remove(doc *entry) {
	chunks := ix.chunksOf(doc)
	for i := range chunks {
		ch := &chunks[i]
		ix.vectors.Remove(doc.first + uint32(i))
		ix.live--
		ix.total -= uint64(ch.length)
		for _, t := range ch.distinctTerms() {
			ix.postings[t].live--
		}
		*ch = chunk{}
		ix.traits[doc.first+uint32(i)] = 0
	}
	delete(ix.docs, doc.Path)
	ix.countLanguage(doc.Language, -len(chunks))
	ix.order.remove(doc)
}
