package protocol

// Modes of retrieval (spec 4.4). ModeAuto lets the daemon choose.
const (
	ModeAuto         = "auto"
	ModeBM25         = "bm25"
	ModeSemantic     = "semantic"
	ModeHybrid       = "hybrid"
	ModeHybridRerank = "hybrid-rerank"
)

// Modes are the modes that a request may name. EffectiveModes are the modes that can run: all but
// ModeAuto. Neither may be modified.
var (
	Modes          = append([]string{ModeAuto}, EffectiveModes...)
	EffectiveModes = []string{ModeBM25, ModeSemantic, ModeHybrid, ModeHybridRerank}
)

// Scopes of a search (spec 4.1): the documents below memory/<scope>/, or all documents, which is
// the default.
const (
	ScopeAll     = "all"
	ScopeGlobal  = "global"
	ScopeProject = "project"
	ScopeAgent   = "agent"
)

// Orders of a search's chunks (spec 4.1); SortRelevance is the default.
const (
	SortRelevance            = "relevance"
	SortRecency              = "recency"
	SortRelevanceThenRecency = "relevance_then_recency"
)

// SearchRequest is the body of POST /v1/brains/{id}/search. A zero value means the daemon's
// default.
type SearchRequest struct {
	Query string `json:"query"`
	TopK  int    `json:"top_k,omitempty"`
	Mode  string `json:"mode,omitempty"`
	Scope string `json:"scope,omitempty"`
	Sort  string `json:"sort,omitempty"`
	// QuestionDate is when the question is asked, in RFC 3339 or as YYYY-MM-DD. Documents dated on
	// a later day, each in its own zone, or with an unreadable date, are left out; undated ones are
	// not. SearchFilters.DateTo bounds the instant.
	QuestionDate string `json:"question_date,omitempty"`
	// CandidateK is how many candidates each leg of a hybrid contributes, RerankTopN how many of
	// the fused candidates are reranked.
	CandidateK int `json:"candidate_k,omitempty"`
	RerankTopN int `json:"rerank_top_n,omitempty"`
	// MaxPerDocument is the maximum number of chunks of one document; 0 means no limit. The default
	// is 1. If too few documents match, further chunks then take the remaining places.
	MaxPerDocument *int          `json:"max_per_document,omitempty"`
	Filters        SearchFilters `json:"filters,omitzero"`
	// Explain requests SearchResponse.Explanation.
	Explain bool `json:"explain,omitempty"`
	// Operators says that Query has operators, even if it looks like a sentence.
	Operators bool `json:"operators,omitempty"`
}

// SearchFilters restrict which documents are searched. A document must match all filters that are
// set. A nil list matches every document. An empty list is rejected, because it may be meant to
// match none.
type SearchFilters struct {
	PathPrefix string   `json:"path_prefix,omitempty"`
	Paths      []string `json:"paths,omitzero"`       // one of these
	Tags       []string `json:"tags,omitzero"`        // all of these
	SessionIDs []string `json:"session_ids,omitzero"` // one of these
	// DateFrom and DateTo are inclusive limits of a document's date: instants in RFC 3339, or days
	// as YYYY-MM-DD, with which the document's day in its own zone is compared. If either is set,
	// undated documents and those with an unreadable date do not match.
	DateFrom string `json:"date_from,omitempty"`
	DateTo   string `json:"date_to,omitempty"`
	// IncludeGenerated includes generated documents, whose base name begins with "_".
	IncludeGenerated bool `json:"include_generated,omitempty"`
}

// SearchResponse is the response to a search. Chunks is never null. TookMS is in milliseconds.
type SearchResponse struct {
	Query string `json:"query"`
	// Operators are the operators of Query, as they were read: "exact phrase", -word, prefix*, a OR b.
	Operators []string `json:"operators,omitempty"`
	BrainID   string   `json:"brain_id"`
	Mode      string   `json:"mode"` // the requested one; ModeAuto by default
	// EffectiveMode is the mode that ran, never ModeAuto.
	EffectiveMode string `json:"effective_mode"`
	// Fusion is how the rankings by words and by vectors were combined; nil if only one ran.
	Fusion *Fusion `json:"fusion,omitempty"`
	// Degraded is why a lower mode ran than the requested one.
	Degraded string `json:"degraded,omitempty"`
	// Indexing is set if the index did not yet have every write before the search. Without it, the
	// search has seen every write that was acknowledged before.
	Indexing *Indexing `json:"indexing,omitempty"`
	// Collapsed counts the candidates that are not among Chunks because a chunk there has an
	// identical text. It is the sum of the chunks' Duplicates and MoreDuplicates.
	Collapsed   int           `json:"collapsed,omitempty"`
	Chunks      []SearchChunk `json:"chunks"`
	TookMS      float64       `json:"took_ms"`
	Explanation *Explanation  `json:"explanation,omitempty"`
}

// Methods of a fusion.
const (
	FusionScore = "score" // by scores
	FusionRRF   = "rrf"   // by ranks: reciprocal rank fusion
)

// Fusion is how a hybrid combined its two rankings. Weight is the weight of the ranking by vectors,
// relative to 1 for the ranking by words.
type Fusion struct {
	Method string  `json:"method"`
	Weight float64 `json:"weight"`
}

// SearchChunk is one ranked passage. Metadata is never null.
type SearchChunk struct {
	ChunkID    string         `json:"chunk_id"`
	DocumentID string         `json:"document_id"`
	BrainID    string         `json:"brain_id"`
	Path       string         `json:"path"`
	Title      string         `json:"title"`
	Score      float64        `json:"score"`
	Text       string         `json:"text"`
	Metadata   map[string]any `json:"metadata"`
	// Highlights are the spans of Text where the query was found. Text itself is as in the
	// document, without markup.
	Highlights []Span `json:"highlights,omitempty"`
	// Nearest is set if no word of the query was found. It has the most similar words, which were
	// searched for instead, by missing word.
	Nearest map[string][]string `json:"nearest,omitempty"`
	// ComponentScores are the parts of Score, by the name of the leg. Keys that end in _rank are
	// ranks in the leg, from 1.
	ComponentScores map[string]float64 `json:"component_scores,omitempty"`
	// Duplicates are the first 20 chunks that are left out because this one has an identical text,
	// in rank order. MoreDuplicates counts the others.
	Duplicates     []Duplicate `json:"duplicates,omitempty"`
	MoreDuplicates int         `json:"more_duplicates,omitempty"`
}

// Duplicate is a chunk that is left out because another one has the same text, byte for byte.
// Titles and dates of their documents may differ.
type Duplicate struct {
	ChunkID    string `json:"chunk_id"`
	DocumentID string `json:"document_id"`
	Path       string `json:"path"`
}

// Span is a half-open range [Start, End) of a text, in Unicode code points.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Explanation describes how a search found its chunks: the words that were looked up, the words of
// a long question that were not, and each ranking that went into the result. Lists are never null.
type Explanation struct {
	Terms   []string         `json:"terms"`
	LeftOut []string         `json:"left_out,omitempty"`
	Legs    []ExplanationLeg `json:"legs"`
}

// ExplanationLeg is one ranking, best first.
type ExplanationLeg struct {
	Name       string         `json:"name"`
	Candidates []LegCandidate `json:"candidates"`
}

// LegCandidate is one chunk of a ranking.
type LegCandidate struct {
	ChunkID string  `json:"chunk_id"`
	Score   float64 `json:"score"`
}
