package search

import "math"

// chunk is what a hit is made of.
type chunk struct {
	doc      *Document // nil once deleted
	ordinal  uint32
	text     string
	headings string
}

// postings are the places of one term.
type postings struct {
	list []posting // by chunk number, deleted chunks included
	live int       // document frequency: how many are of live chunks
}

type posting struct {
	chunk, tf uint32
}

// add gives the chunks of a new document numbers. Called with mu held for
// writing, as are remove and compact.
func (ix *Index) add(path string, added []counted) {
	numbers := make([]uint32, 0, len(added))
	for _, a := range added {
		n := uint32(len(ix.chunks))
		numbers = append(numbers, n)
		ix.chunks = append(ix.chunks, a.chunk)
		ix.lengths = append(ix.lengths, a.length)
		ix.live++
		ix.total += uint64(a.length)
		for _, t := range a.terms {
			p := ix.terms[t.term]
			if p == nil {
				p = &postings{}
				ix.terms[t.term] = p
			}
			p.list = append(p.list, posting{n, t.tf})
			p.live++
		}
	}
	ix.docs[path] = numbers
}

// remove marks the chunks of a document as deleted; old holds their terms.
func (ix *Index) remove(path string, old []counted) {
	for i, n := range ix.docs[path] {
		ix.chunks[n] = chunk{}
		ix.live--
		ix.total -= uint64(old[i].length)
		for _, t := range old[i].terms {
			ix.terms[t.term].live--
		}
	}
	delete(ix.docs, path)
}

// gone is the number of a chunk that compact drops.
const gone = math.MaxUint32

// compact drops deleted chunks and numbers the others anew, in the same order,
// once more than a quarter is deleted: its cost is then a constant for each
// deletion.
func (ix *Index) compact() {
	if deleted := len(ix.chunks) - ix.live; deleted*4 <= len(ix.chunks) {
		return
	}
	renumber := make([]uint32, len(ix.chunks))
	chunks := make([]chunk, 0, ix.live)
	lengths := make([]uint32, 0, ix.live)
	for n, c := range ix.chunks {
		renumber[n] = gone
		if c.doc != nil {
			renumber[n] = uint32(len(chunks))
			chunks = append(chunks, c)
			lengths = append(lengths, ix.lengths[n])
		}
	}
	ix.chunks, ix.lengths = chunks, lengths
	for _, numbers := range ix.docs {
		for i, n := range numbers {
			numbers[i] = renumber[n]
		}
	}
	for term, p := range ix.terms {
		if p.live == 0 {
			delete(ix.terms, term)
			continue
		}
		p.list = renumbered(p, renumber)
	}
}

func renumbered(p *postings, renumber []uint32) []posting {
	list := make([]posting, 0, p.live)
	for _, at := range p.list {
		if n := renumber[at.chunk]; n != gone {
			list = append(list, posting{n, at.tf})
		}
	}
	return list
}
