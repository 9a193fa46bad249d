package search

import (
	"math"
	"unicode/utf8"

	"evalctl/daemon/language"
)

// The score of a chunk by its words is its score in BM25F. For n chunks, it is the sum over the
// terms of a query of
//
//	weight · ln(1 + (n-df+0.5)/(df+0.5)) · (k1+1) · tf/(tf+k1)
//
// where weight is the weight of the term in the query, and df the number of chunks that contain the
// term in any field. tf is the sum of its occurrences in the fields, weighted by fieldWeights.
// Occurrences in the text are divided by
//
//	norm = 1 - b + b·(length+slack)/(average+slack)
//
// for a text of length terms. The part of a whole document's norm above 1 is multiplied by beyond:
// such a text is long because its author had more to say, but a piece is as long as it was cut. For
// a piece, length+slack is multiplied by 1 + scope·ln(pieces of the document), because each piece
// is another chance to find the document (Robertson and Zaragoza, "The Probabilistic Relevance
// Framework: BM25 and Beyond", 2009, section 3.6; slack, beyond and scope are additions).

// fieldWeights are the weights of an occurrence in each field. A title names the subject of its
// document. A path says little more than the title: folders are shared, and the file name is often
// the title.
var fieldWeights = [fieldCount]float64{textField: 1, titleField: 2, pathField: 0.25, labelsField: 1}

// extent returns the extent of the text of a chunk.
func (ix *Index) extent(ch *chunk) extent {
	length, pieces := float64(ch.length), ch.doc.count
	if ch.doc.Language == language.Code {
		return extent(2*length) + 1
	}
	if pieces == 1 {
		return extent(2 * length)
	}
	more := (length + ix.slack) * ix.scope * math.Log(float64(pieces))
	return extent(2*math.Round(length+more)) + 1
}

// lengthNorm computes norm, as defined above, without branches, which would be predicted badly. The
// norm is the lower of two lines. The second line depends on whether the text is a piece.
type lengthNorm struct {
	line  line
	other [2]line
}

type line struct{ fixed, perTerm float64 }

func (ix *Index) lengthNorm() lengthNorm {
	average := float64(ix.total) / float64(max(ix.live, 1))
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

// gain returns the most that a term can add to a score.
func (ix *Index) gain(term uint32) float64 {
	df, n := ix.postings[term].live, ix.population(term)
	if n == ix.live {
		return idf(n, df) * (ix.k1 + 1)
	}
	return idf(n, df) * idf(ix.live, 1) / idf(n, 1) * (ix.k1 + 1)
}

// population returns the number of chunks among which a term is frequent or rare. The letters and
// pairs of a script without spaces are compared only with the chunks in its languages, unless more
// chunks contain them. These languages have no list of function words: only frequency shows them,
// and among chunks in other languages nothing is frequent.
func (ix *Index) population(term uint32) int {
	if ix.unspaced == 0 || ix.names[term][0] < utf8.RuneSelf {
		return ix.live
	}
	n := 0
	for l, chunks := range ix.languages {
		if chunks > 0 && language.Language(l).Spells(ix.names[term]) {
			n += chunks
		}
	}
	if n < ix.postings[term].live {
		return ix.live
	}
	return n
}

// gains caches idf, whose logarithm takes longer than everything else about a rare term.
type gains struct {
	live int
	idf  [256]float64 // by document frequency
}

// gainOf is Index.gain with the memory of a search.
func (g *gains) gainOf(ix *Index, term uint32) float64 {
	df := ix.postings[term].live
	if df >= len(g.idf) || ix.population(term) != ix.live {
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

// idf returns the weight of a term found in df of n chunks. It is positive even if all of them
// contain the term.
func idf(n, df int) float64 {
	return math.Log1p((float64(n-df) + 0.5) / (float64(df) + 0.5))
}

// saturated returns the share of its gain that a term adds if it occurs tf times.
func (ix *Index) saturated(tf float64) float64 {
	return tf / (tf + ix.k1)
}
