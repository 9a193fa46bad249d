package search

import "unsafe"

// Memory that the runtime adds to a value, in bytes: for an entry of a map, with its key and its
// share of empty slots, and for rounding up an allocation.
const (
	mapEntry = 40
	rounding = 16
)

// Bytes estimates the memory that the index takes, in bytes. It visits every document and every
// term.
func (ix *Index) Bytes() int64 {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	sum := 0
	for _, doc := range ix.docs {
		sum += doc.bytes()
	}
	sum += cap(ix.chunks)*int(unsafe.Sizeof(chunk{})) + cap(ix.textLengths)*4 + ix.vectors.bytes()
	for i := range ix.chunks {
		ch := &ix.chunks[i]
		sum += 4*cap(ch.sequence) + len(ch.headings)
	}
	for i := range ix.postings {
		sum += 8 * cap(ix.postings[i].list)
	}
	sum += cap(ix.postings) * int(unsafe.Sizeof(postings{}))
	for _, name := range ix.names {
		sum += len(name) + rounding/2 + 16 + mapEntry // as an element of names and as a key
	}
	return int64(sum + len(ix.words)*(mapEntry+rounding))
}

func (doc *entry) bytes() int {
	sum := int(unsafe.Sizeof(*doc)) + mapEntry +
		len(doc.Path) + len(doc.Title) + len(doc.Source) + len(doc.Text) + 4*rounding/2
	for _, tag := range doc.Tags {
		sum += 16 + len(tag) + rounding/2
	}
	for key, value := range doc.Metadata {
		sum += mapEntry + len(key) + rounding
		if s, ok := value.(string); ok {
			sum += len(s) + rounding
		}
	}
	return sum
}
