package search

import "time"

// maxDuplicates bounds Hit.Duplicates.
const maxDuplicates = 20

// Result is the answer to a query.
type Result struct {
	// Hits are in the order that the query asks for. Ties are broken by path, then by position in
	// the document, but hits to which a reranker gives the same score stay in fused order.
	Hits []Hit
	// Mode is the mode that ran, never auto.
	Mode Mode
	// Fusion is how the legs were combined; nil if there was one leg.
	Fusion *FusionRun
	// Degraded is the reason why a lower mode ran, empty if the requested mode ran.
	Degraded string
	// Explanation is nil unless the query asked for it.
	Explanation *Explanation
}

// Hit is one chunk that matches the query.
type Hit struct {
	ChunkID     string // path#ordinal
	Path        string
	Title       string
	HeadingPath string // "" outside any heading
	Text        string // the chunk, verbatim
	// Score is the value by which hits are sorted by relevance. Depending on the mode, it is the
	// score of BM25, the cosine, or the score of the fusion or the reranker. Hits that the reranker
	// did not score continue downwards from its lowest score. Except for recency, sorting by score
	// with ties by path keeps the order. Where equal hits are in another order, each score is
	// lowered to the next smaller number, and Components hold the original. Scores of different
	// queries are not comparable.
	Score      float64
	Date       time.Time // zero = undated
	Tags       []string
	Metadata   map[string]any // shared by all hits of the document; do not modify
	Highlights []Span         // the words of Text that match a term, in order
	// Nearest is set if no term of the query is in the index. It has the similar terms that were
	// searched for instead, by missing term.
	Nearest map[string][]string
	// Components are the parts of the score, and the scores and ranks of the legs, by name: bm25
	// (by the words alone), neighbours, feedback, language, date, bm25_rank, vector, vector_rank,
	// fusion, rerank, rerank_rank.
	Components map[string]float64
	// Duplicates are the other candidates with the same text, byte for byte, in rank order. Their
	// titles and dates may differ. The hit is the best ranked, except where the sort prefers newer
	// documents. There are at most 20; MoreDuplicates counts the others, so that a result stays
	// small however often a text occurs.
	Duplicates     []Duplicate
	MoreDuplicates int
}

// setNearest sets Hit.Nearest of the hits that words found.
func (r *Result) setNearest(nearest map[string][]string) {
	for i := range r.Hits {
		if _, found := r.Hits[i].Components[componentBM25]; found {
			r.Hits[i].Nearest = nearest
		}
	}
}

// Duplicate is a chunk with the same text as a hit.
type Duplicate struct {
	ChunkID string // path#ordinal
	Path    string
}

// Keys of Hit.Components. Ranks begin at 1 within the candidates of one leg. A leg that did not
// find the chunk has no rank, and no score unless stated below.
const (
	componentBM25       = "bm25"       // by the words alone; with the next three, the score of bm25
	componentNeighbours = "neighbours" // of the words of the passages before and after
	componentFeedback   = "feedback"   // of words that the best passages have in common
	componentLanguage   = "language"   // of a document in the language of the query
	componentDate       = "date"       // of a date that the query mentions
	componentReply      = "reply"      // of the question that the passage follows
	componentBM25Rank   = "bm25_rank"
	componentVector     = "vector" // cosine similarity; in a fusion of scores also of what only words found
	componentVectorRank = "vector_rank"
	componentFusion     = "fusion" // see Fusion
	componentRerank     = "rerank"
	componentRerankRank = "rerank_rank"
)

// wordComponents are the parts of the score by words.
var wordComponents = [...]string{
	componentBM25, componentNeighbours, componentFeedback, componentLanguage, componentDate, componentReply,
}

// WordScore returns the score of a hit in the ranking by words, or 0 if the hit is not in it.
// Unlike ranks, these scores show how far apart hits are.
func WordScore(h Hit) float64 {
	sum := 0.
	for _, part := range wordComponents {
		sum += h.Components[part]
	}
	return sum
}

// Explanation describes how a result was found.
type Explanation struct {
	Terms []string // the index terms of the query that were looked up, without duplicates
	// LeftOut are its other terms. If there are more than 128, the terms that can add most to a
	// score are looked up, so LeftOut has terms that no or nearly every chunk contains.
	LeftOut []string
	Legs    []Leg
}

// Leg is one ranking that contributed to a result: bm25, vector, fusion or rerank.
type Leg struct {
	Name       string
	Candidates []LegCandidate // best first
}

// LegCandidate is one chunk in a leg.
type LegCandidate struct {
	ChunkID string
	Score   float64
}

// Span is the half-open range [Start, End) of a text, in Unicode code points.
type Span struct {
	Start, End int
}
