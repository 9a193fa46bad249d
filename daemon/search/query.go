package search

import (
	"time"
	"unicode/utf8"
)

// defaultTopK is how many hits a query without TopK gets.
const defaultTopK = 10

// Mode is a way to rank (spec 4.4).
type Mode string

// The modes.
const (
	modeAuto     Mode = "auto"     // Hybrid with an embedder, BM25 without
	modeBM25     Mode = "bm25"     // by the words of the query
	modeSemantic Mode = "semantic" // by the cosine of the embedder's vectors
	// Hybrid fuses the ranks of the two, see FusionWeigher.
	modeHybrid Mode = "hybrid"
	// modeHybridRerank orders the first of Hybrid anew, by a reranker.
	modeHybridRerank Mode = "hybrid-rerank"
)

// Query asks for the passages that fit a text best. Zero values mean the
// defaults.
type Query struct {
	Text string
	Mode Mode // empty means Auto
	TopK int  // most hits returned; 0 means defaultTopK
	// CandidateK is how many candidates each leg of a hybrid contributes, how many
	// are looked through for duplicates, and how many of each leg are explained: at most maxCandidateK; 0 means 4·TopK,
	// but defaultCandidateK at least and maxCandidateK at most. Legs are never
	// shorter than TopK, and go on beyond CandidateK where duplicates would
	// leave TopK unfilled.
	CandidateK int
	// RerankTopN is how many of the fused candidates the reranker sees, at most
	// maxRerankTopN; 0 means defaultRerankTopN. The others follow in fused order.
	RerankTopN int
	Filter     Filter
	Sort       Sort
	// AsOf is when the question is asked: documents dated after it, and those
	// with a BadDate, are left out, undated ones stay.
	AsOf time.Time
	// Explain asks for Result.Explanation.
	Explain bool
}

// Sort is the order of the hits.
type Sort string

// The orders (spec 4.1, memory_search). Each takes the TopK hits that fit best
// and orders them, those that are equal in it by relevance.
const (
	sortRelevance Sort = "relevance" // the default
	// Recency has the newest first and undated hits last. Of candidates with the
	// very same text the newest is the hit and the others are its duplicates.
	sortRecency Sort = "recency"
	// sortRelevanceThenRecency is Relevance but for hits whose scores agree in 6
	// significant digits: these have the newest first and undated ones last, and
	// of those with the very same text the newest is the hit.
	sortRelevanceThenRecency Sort = "relevance_then_recency"
)

// Result answers a query.
type Result struct {
	// Hits are in the order asked for; ties by path, then by position in the
	// document, but hits that a reranker cannot tell apart in fused order.
	Hits []Hit
	// Mode is the one that ran, never Auto.
	Mode Mode
	// Degraded says why a lower mode ran than the one asked for; empty when
	// none did.
	Degraded string
	// Explanation is nil unless it was asked for.
	Explanation *Explanation
}

// Hit is one chunk that fits the query.
type Hit struct {
	ChunkID     string // path#ordinal
	Path        string
	Title       string
	HeadingPath string // "" outside any heading
	Text        string // the chunk, verbatim
	// Score is what the hits are ordered by in Relevance: that of BM25, the
	// cosine, that of the fusion or that of the reranker, as the mode has it.
	// Hits after those that the reranker saw go on from its lowest score
	// downwards. But for Recency, sorting by score, ties by path, changes nothing:
	// where hits that are equal have another order, each scores minutely less than
	// the one before it; Components have what it was. Scores of different queries
	// are not comparable.
	Score      float64
	Date       time.Time // zero = undated
	Tags       []string
	Metadata   map[string]any // shared by all hits of the document: read only
	Highlights []Span         // the words of Text that match a term, in order
	// Components are what the score was made of: see Component constants.
	Components map[string]float64
	// Duplicates are the other candidates with the very same text, byte for byte,
	// for which this one stands, in rank order. Titles and dates may differ. The
	// hit is the best ranked of them, but see Recency and sortRelevanceThenRecency.
	// There are maxDuplicates at most; MoreDuplicates counts those beyond, so that a
	// result stays small however often a text comes.
	Duplicates     []Duplicate
	MoreDuplicates int
}

// Duplicate is a chunk that another one stands for.
type Duplicate struct {
	ChunkID string // path#ordinal
	Path    string
}

// Keys of Hit.Components. Ranks count from 1 within one leg's candidates; a leg
// that did not find the chunk has neither key.
const (
	componentBM25       = "bm25"       // by the words alone; with those below, the score of mode BM25
	componentPhrase     = "phrase"     // of words that stand together in the query and in the text
	componentNeighbours = "neighbours" // of the words of the passages before and after
	componentFeedback   = "feedback"   // of words that the best passages have in common
	componentDate       = "date"       // of a date that the query mentions
	componentBM25Rank   = "bm25_rank"
	componentVector     = "vector" // cosine similarity
	componentVectorRank = "vector_rank"
	componentFusion     = "fusion" // reciprocal rank fusion
	componentRerank     = "rerank"
	componentRerankRank = "rerank_rank"
)

// Explanation tells how a result came about.
type Explanation struct {
	Terms []string // of the query, as they were looked up
	Legs  []Leg
}

// Leg is one ranking that went into a result: bm25, vector, fusion or rerank.
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

func (ix *Index) hit(c candidate, wanted map[string]bool) Hit {
	chunk := &ix.chunks[c.chunk]
	return Hit{
		ChunkID:     chunkID(chunk.doc.Path, int(chunk.ordinal)),
		Path:        chunk.doc.Path,
		Title:       chunk.doc.Title,
		HeadingPath: chunk.headings,
		Text:        chunk.text,
		Score:       c.score,
		Date:        chunk.doc.Date,
		Tags:        chunk.doc.Tags,
		Metadata:    chunk.doc.Metadata,
		Highlights:  ix.highlights(chunk.text, wanted),
	}
}

// highlights finds the words of text whose term is wanted.
func (ix *Index) highlights(text string, wanted map[string]bool) []Span {
	var spans []Span
	offset, point := 0, 0 // the same place in bytes and in code points
	for start, end := nextWord(text, 0); end > start; start, end = nextWord(text, end) {
		if !wanted[ix.wordTerm(text[start:end])] {
			continue
		}
		point += utf8.RuneCountInString(text[offset:start])
		length := utf8.RuneCountInString(text[start:end])
		spans = append(spans, Span{point, point + length})
		offset, point = end, point+length
	}
	return spans
}
