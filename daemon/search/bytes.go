package search

import "unsafe"

// Memory in bytes that the runtime adds to a value: for an entry of a map, with its key and its
// share of empty slots, and for rounding up an allocation.
const (
	mapEntry = 40
	rounding = 16
)

// Bytes estimates the memory of the index in bytes. It visits every document and every term.
func (ix *Index) Bytes() int64 {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	sum, read := 0, 0
	for _, doc := range ix.docs {
		sum += doc.bytes()
		if doc.read {
			read = ix.blocks.texts + ix.blocks.documents*entrySize
		}
	}
	sum += read
	sum += cap(ix.chunks)*int(unsafe.Sizeof(chunk{})) + cap(ix.extents)*2 + cap(ix.traits) + ix.vectors.Bytes()
	sum += 4*cap(ix.blocks.chunks) + cap(ix.blocks.tallies)
	for i := range ix.chunks {
		ch := &ix.chunks[i]
		sum += len(ch.headings)
		if ch.doc != nil && !ch.doc.read {
			sum += len(ch.sequence) + rounding/2
		}
	}
	for i := range ix.postings {
		if p := &ix.postings[i]; !within(p.chunks, ix.blocks.chunks) {
			sum += 4*cap(p.chunks) + cap(p.tallies)
		}
	}
	sum += cap(ix.postings) * int(unsafe.Sizeof(postings{}))
	for _, name := range ix.names {
		sum += len(name) + rounding/2 + 16 + mapEntry // as an element of names and as a key
	}
	for _, words := range ix.words {
		sum += len(words) * (mapEntry + rounding)
	}
	return int64(sum)
}

func (doc *entry) bytes() int {
	text := func(s string) int {
		if doc.read {
			return 0
		}
		return len(s) + rounding/2
	}
	sum := mapEntry + text(doc.Path) + text(doc.Title) + text(doc.Source) + text(doc.Text)
	for _, tag := range doc.Tags {
		sum += 16 + text(tag)
	}
	for key, value := range doc.Metadata {
		sum += mapEntry + rounding/2 + text(key)
		if s, ok := value.(string); ok {
			sum += rounding/2 + text(s)
		}
	}
	if !doc.read {
		sum += entrySize
	}
	return sum
}

const entrySize = int(unsafe.Sizeof(entry{}))
