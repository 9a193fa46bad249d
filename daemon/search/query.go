package search

import (
	"time"

	"evalctl/daemon/language"
	"evalctl/daemon/search/question"
)

// defaultTopK is the maximum number of hits for a query without TopK.
const defaultTopK = 10

// Query asks for the passages that match a text best. Zero values mean the defaults.
type Query struct {
	Text string
	// Conditions are what passages must meet in every mode, see question.ParseOperators.
	Conditions question.Conditions
	Mode       Mode // empty means auto
	TopK       int  // maximum number of hits; 0 means 10
	// CandidateK is the number of candidates that each leg of a hybrid contributes, that are
	// searched for duplicates, and that are explained for each leg: at most 1000. 0 means 4·TopK,
	// but at least 100 and at most 1000. Legs are never shorter than TopK, and extend beyond
	// CandidateK where duplicates would leave TopK unfilled.
	CandidateK int
	// RerankTopN is the number of fused candidates that the reranker scores, at most 200; 0 means
	// 50. The others follow in fused order.
	RerankTopN int
	// MaxPerDocument is the maximum number of hits that belong to one document; 0 means no limit.
	// FillPlaces gives the places that are left, if so few documents match, to the best of the
	// passages that it excludes.
	MaxPerDocument int
	FillPlaces     bool
	Filter         Filter
	Sort           Sort
	// AsOf is the time at which the question is asked. Documents dated on a later day, and those with
	// BadDate, are left out; documents without a date are not. Each time has the day of its own zone.
	// Filter.To bounds the instant.
	AsOf time.Time
	// Explain asks for Result.Explanation.
	Explain bool
}

// Sort is an order of hits (spec 4.1, memory_search): relevance, recency or relevance_then_recency;
// empty means relevance. Each order sorts the TopK hits that match best. Hits that are equal in it
// are sorted by relevance.
type Sort string

// The orders.
const (
	SortRelevance Sort = "relevance" // the default
	// SortRecency has the newest hits first and those without a date last. Of candidates with the
	// same text, the newest is the hit and the others are its duplicates.
	SortRecency Sort = "recency"
	// SortRelevanceThenRecency is SortRelevance, except that hits whose scores agree in 6
	// significant digits are ordered as in SortRecency, and of those with the same text the newest
	// is the hit.
	SortRelevanceThenRecency Sort = "relevance_then_recency"
)

// Result is the answer to a query.
type Result struct {
	// Hits are in the order that the query asks for. Ties are broken by path, then by position in
	// the document, but hits to which a reranker gives the same score stay in fused order.
	Hits []Hit
	// Mode is the mode that ran, never auto.
	Mode Mode
	// Fusion is how the legs were combined; nil if there was one leg.
	Fusion *FusionRun
	// Degraded is the reason why a lower mode ran than the one asked for; empty if none did.
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
	// Score is the value by which hits are sorted by relevance: the score of BM25, the cosine, the
	// score of the fusion or that of the reranker, depending on the mode. Hits beyond those that
	// the reranker scored continue downwards from its lowest score. Except for recency, sorting by
	// score with ties by path keeps the order: where equal hits are in another order, each score is
	// lowered to the next smaller number, and Components hold the original. Scores of different
	// queries are not comparable.
	Score      float64
	Date       time.Time // zero = undated
	Tags       []string
	Metadata   map[string]any // shared by all hits of the document; do not modify
	Highlights []Span         // the words of Text that match a term, in order
	// Components are the parts of the score, and the scores and ranks of the legs, by name: bm25
	// (by the words alone), neighbours, feedback, date, bm25_rank, vector, vector_rank,
	// fusion, rerank, rerank_rank.
	Components map[string]float64
	// Duplicates are the other candidates with the same text, byte for byte, in rank order. Their
	// titles and dates may differ. The hit is the best ranked of them, except where the sort
	// prefers newer documents. There are at most 20; MoreDuplicates counts the others, so that a
	// result stays small however often a text occurs.
	Duplicates     []Duplicate
	MoreDuplicates int
}

// Duplicate is a chunk with the same text as a hit.
type Duplicate struct {
	ChunkID string // path#ordinal
	Path    string
}

// Keys of Hit.Components. Ranks begin at 1 within the candidates of one leg. A leg that did not
// find the chunk has no rank, and no score unless said below.
const (
	componentBM25       = "bm25"       // by the words alone; with the next three, the score of bm25
	componentNeighbours = "neighbours" // of the words of the passages before and after
	componentFeedback   = "feedback"   // of words that the best passages have in common
	componentDate       = "date"       // of a date that the query mentions
	componentReply      = "reply"      // of the question that the passage follows
	componentBM25Rank   = "bm25_rank"
	componentVector     = "vector" // cosine similarity; in a fusion of scores also of what only words found
	componentVectorRank = "vector_rank"
	componentFusion     = "fusion" // see Fusion
	componentRerank     = "rerank"
	componentRerankRank = "rerank_rank"
)

// Terms returns the index terms of a query, without duplicates. Of more than 128, a search looks up
// 128, see Explanation.
func Terms(text string) []string {
	return termNames(countTerms(text, []language.Language{language.Detect(text)}, language.Language.Term))
}

// WordScore returns the score that a hit has in the ranking by words, 0 if it is not in it. Other
// than ranks, these scores show how far apart hits are.
func WordScore(h Hit) float64 {
	sum := 0.
	for _, part := range []string{
		componentBM25, componentNeighbours, componentFeedback, componentDate, componentReply,
	} {
		sum += h.Components[part]
	}
	return sum
}

// Explanation describes how a result came about.
type Explanation struct {
	Terms []string // the index terms of the query that were looked up, without duplicates
	// LeftOut are its other terms. Of more than 128 terms, those are looked up that can add most to
	// a score, so LeftOut has terms that no or nearly every chunk contains.
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
