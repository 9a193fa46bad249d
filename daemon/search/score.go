package search

import "math"

// The score of a chunk by its words is that of BM25F. For n chunks, it is the sum over the terms of
// a query of
//
//	weight · ln(1 + (n-df+0.5)/(df+0.5)) · (k1+1) · tf/(tf+k1)
//
// where weight is that of the term in the query, df is the number of chunks that contain the term
// in any field, and tf is the sum of its occurrences in the fields, weighted by fieldWeights, those
// in the text divided by
//
//	norm = 1 - b + b·(length+slack)/(average+slack)
//
// for a text of length terms. Of the norm of a whole document, what exceeds 1 is multiplied by
// beyond: such a text is long because its author had more to say, but a piece is as long as it was
// cut. For a piece, length+slack is multiplied by 1 + scope·ln(pieces of the document), because a
// document has as many chances to be found as it has pieces (Robertson and Zaragoza, "The
// Probabilistic Relevance Framework: BM25 and Beyond", 2009, section 3.6; slack, beyond and scope
// are additions).

// fieldWeights are the weights of an occurrence in each field. A title names the subject of its
// document. A path says little that the title does not: folders are shared, and the file name is
// often the title.
var fieldWeights = [fieldCount]float64{textField: 1, titleField: 2, pathField: 0.25, labelsField: 1}

// extent returns the extent of a text of length terms, which is one of the pieces of a document.
func (ix *Index) extent(length uint16, pieces uint32) extent {
	if pieces == 1 {
		return extent(2 * length)
	}
	more := (float64(length) + ix.slack) * ix.scope * math.Log(float64(pieces))
	return extent(2*math.Round(float64(length)+more)) + 1
}

// lengthNorm computes norm, as defined above, without branches, which would be predicted badly:
// it is the lower of two lines, of which the second one depends on whether the text is a piece.
type lengthNorm struct {
	line  line
	other [2]line
}

type line struct{ fixed, perTerm float64 }

func (ix *Index) lengthNorm() lengthNorm {
	average := float64(ix.totals[textField]) / float64(max(ix.live, 1))
	perTerm := ix.b / (average + ix.slack)
	l := line{1 - ix.b + perTerm*ix.slack, perTerm}
	beyond := line{1 - ix.beyond + ix.beyond*l.fixed, ix.beyond * perTerm}
	return lengthNorm{line: l, other: [2]line{beyond, l}}
}

func (n *lengthNorm) of(e extent) float64 {
	length, other := float64(e/2), n.other[e%2]
	return min(n.line.fixed+n.line.perTerm*length, other.fixed+other.perTerm*length)
}

// weightedCount returns tf, as defined above. Nearly all postings count the text alone.
func weightedCount(counts tally, norm float64) float64 {
	tf := fieldWeights[textField] * float64(counts[textField]) / norm
	if counts[titleField]|counts[pathField]|counts[labelsField] == 0 {
		return tf
	}
	for field := textField + 1; field < fieldCount; field++ {
		tf += fieldWeights[field] * float64(counts[field])
	}
	return tf
}

// tally returns the tally of a term in a chunk, which has the given number.
func (ix *Index) tally(term, chunk uint32, number uint8) tally {
	if number != uncounted {
		return ix.tallies.list[number]
	}
	return ix.chunks[chunk].count(term)
}

// gain returns the limit of what a term can add to a score.
func (ix *Index) gain(term uint32) float64 {
	return idf(ix.live, ix.postings[term].live) * (ix.k1 + 1)
}

// gains remembers idf, whose logarithm takes longer than all else that is done with a rare term.
type gains struct {
	live int
	idf  [256]float64 // by document frequency
}

// gainOf is Index.gain with the memory of a search.
func (g *gains) gainOf(ix *Index, term uint32) float64 {
	df := ix.postings[term].live
	if df >= len(g.idf) {
		return ix.gain(term)
	}
	if g.live != ix.live {
		*g = gains{live: ix.live}
	}
	if g.idf[df] == 0 {
		g.idf[df] = idf(ix.live, df)
	}
	return g.idf[df] * (ix.k1 + 1)
}

// idf returns the weight of a term that is found in df of n chunks. It is positive even for a term
// that all of them contain.
func idf(n, df int) float64 {
	return math.Log1p((float64(n-df) + 0.5) / (float64(df) + 0.5))
}

// saturated returns the share of its gain that a term adds if it occurs tf times.
func (ix *Index) saturated(tf float64) float64 {
	return tf / (tf + ix.k1)
}
