package search

import "evalctl/daemon/search/document"

// traits are what most searches need to know of a chunk's document. They take one byte, where the
// document is far away in memory.
type traits uint8

const (
	present traits = 1 << iota // not deleted
	generated
	dated
)

func traitsOf(d *document.Document) traits {
	t := present
	if d.Generated {
		t |= generated
	}
	if !d.Date.IsZero() {
		t |= dated
	}
	return t
}

// accepts reports whether keep accepts the document of a chunk. A nil keep accepts all documents but
// generated ones.
func (ix *Index) accepts(keep func(*document.Document) bool, chunk uint32) bool {
	if keep == nil {
		return ix.traits[chunk]&(present|generated) == present
	}
	return ix.traits[chunk]&present > 0 && keep(&ix.chunks[chunk].doc.Document)
}
