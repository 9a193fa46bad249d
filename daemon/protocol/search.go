package protocol

// Modes of retrieval (spec 4.4). ModeAuto lets the daemon choose.
const (
	ModeAuto         = "auto"
	ModeBM25         = "bm25"
	ModeSemantic     = "semantic"
	ModeHybrid       = "hybrid"
	ModeHybridRerank = "hybrid-rerank"
)

// Modes are the modes that a request may name. EffectiveModes are those that can run: all but
// ModeAuto. Neither may be modified.
var (
	Modes          = append([]string{ModeAuto}, EffectiveModes...)
	EffectiveModes = []string{ModeBM25, ModeSemantic, ModeHybrid, ModeHybridRerank}
)

// Scopes of a search (spec 4.1): the documents below memory/<scope>/, or all
// of them, which is the default.
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

// SearchRequest is the body of POST /v1/brains/{id}/search. Zero values mean
// that the daemon's default applies.
type SearchRequest struct {
	Query string `json:"query"`
	TopK  int    `json:"top_k,omitempty"`
	Mode  string `json:"mode,omitempty"`
	Scope string `json:"scope,omitempty"`
	Sort  string `json:"sort,omitempty"`
	// QuestionDate is when the question is asked, in RFC 3339 or as YYYY-MM-DD,
	// which means the end of that day in UTC. Documents dated later, or with a
	// date that cannot be read, are left out, undated ones stay.
	QuestionDate string `json:"question_date,omitempty"`
	// CandidateK is how many candidates each leg of a hybrid contributes,
	// RerankTopN how many of the fused ones the reranker sees.
	CandidateK int           `json:"candidate_k,omitempty"`
	RerankTopN int           `json:"rerank_top_n,omitempty"`
	Filters    SearchFilters `json:"filters,omitzero"`
	// Explain asks for SearchResponse.Explanation.
	Explain bool `json:"explain,omitempty"`
}

// SearchFilters say which documents may be found; what is set must all hold.
// A nil list lets every document pass; an empty one is refused, since whoever
// sends it may mean that none should.
type SearchFilters struct {
	PathPrefix string   `json:"path_prefix,omitempty"`
	Paths      []string `json:"paths,omitzero"`       // one of these
	Tags       []string `json:"tags,omitzero"`        // all of these
	SessionIDs []string `json:"session_ids,omitzero"` // one of these
	// DateFrom and DateTo bound a document's date, both inclusive, in RFC 3339
	// or as YYYY-MM-DD in UTC. Undated documents, and those with a date that
	// cannot be read, do not pass when one is set.
	DateFrom string `json:"date_from,omitempty"`
	DateTo   string `json:"date_to,omitempty"`
	// IncludeGenerated lets generated documents (base name begins with "_") pass.
	IncludeGenerated bool `json:"include_generated,omitempty"`
}

// SearchResponse answers a search. Chunks is never null.
type SearchResponse struct {
	Query   string `json:"query"`
	BrainID string `json:"brain_id"`
	Mode    string `json:"mode"` // asked for; ModeAuto when none was
	// EffectiveMode is the mode that ran, never ModeAuto.
	EffectiveMode string `json:"effective_mode"`
	// Degraded says why a lower mode ran than the one asked for.
	Degraded string `json:"degraded,omitempty"`
	// Collapsed counts the candidates that are not among Chunks because one of
	// those has the very same text: all that Duplicates and MoreDuplicates tell of.
	Collapsed   int           `json:"collapsed,omitempty"`
	Chunks      []SearchChunk `json:"chunks"`
	TookMS      float64       `json:"took_ms"`
	Explanation *Explanation  `json:"explanation,omitempty"`
}

// SearchChunk is one ranked passage.
type SearchChunk struct {
	ChunkID    string         `json:"chunk_id"`
	DocumentID string         `json:"document_id"`
	BrainID    string         `json:"brain_id"`
	Path       string         `json:"path"`
	Title      string         `json:"title"`
	Score      float64        `json:"score"`
	Text       string         `json:"text"`
	Metadata   map[string]any `json:"metadata"`
	// Highlights are the spans of Text that the query was found in. Text itself
	// is as the document has it: nothing is marked up in it.
	Highlights []Span `json:"highlights,omitempty"`
	// ComponentScores are what Score was made of, by name of the leg; keys that
	// end in _rank are places in the leg, from 1.
	ComponentScores map[string]float64 `json:"component_scores,omitempty"`
	// Duplicates are the chunks with the very same text that this one stands for,
	// in rank order, the first 20. MoreDuplicates counts those beyond.
	Duplicates     []Duplicate `json:"duplicates,omitempty"`
	MoreDuplicates int         `json:"more_duplicates,omitempty"`
}

// Duplicate is a chunk that is left out because another one has the very same
// text, byte for byte. Titles and dates of their documents may differ.
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

// Explanation tells how a search came to its chunks: the words that were
// looked up, and each ranking that went into the result. Lists are never null.
type Explanation struct {
	Terms []string         `json:"terms"`
	Legs  []ExplanationLeg `json:"legs"`
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
