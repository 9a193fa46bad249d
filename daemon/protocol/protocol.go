// Package protocol holds what a memory service and its callers say to each
// other over HTTP: the JSON bodies, the event payloads of the ask stream, the
// error codes and the limits of protocol v1.0. Keys are snake_case.
//
// It has no behaviour and imports nothing of this module, so that the daemon
// and everything that judges a daemon from outside can share it.
package protocol

import "time"

// Modes of retrieval (spec 4.4). ModeAuto lets the daemon choose.
const (
	ModeAuto         = "auto"
	ModeBM25         = "bm25"
	ModeSemantic     = "semantic"
	ModeHybrid       = "hybrid"
	ModeHybridRerank = "hybrid-rerank"
)

// Reader modes of an ask request.
const (
	ReaderBasic     = "basic"
	ReaderAugmented = "augmented"
)

// Health is the body of GET /healthz.
type Health struct {
	OK      bool   `json:"ok"`
	Version string `json:"version,omitempty"`
	Ready   bool   `json:"ready"`
}

// Brain is a named container of documents (spec 2).
type Brain struct {
	ID         string    `json:"id"`
	Slug       string    `json:"slug"`
	Name       string    `json:"name"`
	Visibility string    `json:"visibility"`
	CreatedAt  time.Time `json:"created_at,omitzero"`
}

// Visibilities of a brain; VisibilityPrivate is the default.
const (
	VisibilityPrivate = "private"
	VisibilityTenant  = "tenant"
	VisibilityPublic  = "public"
)

// CreateBrain is the body of POST /v1/brains. Slug and ID are derived from
// Name when empty.
type CreateBrain struct {
	ID         string `json:"id,omitempty"`
	Name       string `json:"name"`
	Slug       string `json:"slug,omitempty"`
	Visibility string `json:"visibility,omitempty"`
}

// BrainList is the body of GET /v1/brains.
type BrainList struct {
	Items []Brain `json:"items"`
}

// FileInfo describes one document or directory (spec 2). MTime is UTC with
// milliseconds; use FormatTime to make one.
type FileInfo struct {
	Path  string `json:"path"`
	Size  int64  `json:"size"`
	MTime string `json:"mtime"`
	IsDir bool   `json:"is_dir"`
}

// FileList is the body of a document listing, ascending by path.
type FileList struct {
	Items []FileInfo `json:"items"`
}

// FormatTime gives the form that timestamps have on the wire: ISO 8601, UTC,
// three fractional digits.
func FormatTime(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// SearchRequest is the body of POST /v1/brains/{id}/search. Zero values mean
// that the daemon's default applies.
type SearchRequest struct {
	Query        string `json:"query"`
	TopK         int    `json:"top_k,omitempty"`
	Mode         string `json:"mode,omitempty"`
	QuestionDate string `json:"question_date,omitempty"`
	CandidateK   int    `json:"candidate_k,omitempty"`
	RerankTopN   int    `json:"rerank_top_n,omitempty"`
}

// SearchResponse answers a search. Chunks is never null.
type SearchResponse struct {
	Query         string        `json:"query"`
	BrainID       string        `json:"brain_id"`
	Mode          string        `json:"mode"`
	EffectiveMode string        `json:"effective_mode"`
	Chunks        []SearchChunk `json:"chunks"`
	TookMS        float64       `json:"took_ms"`
}

// SearchChunk is one ranked passage. Highlights are spans of Text, in Unicode
// code points.
type SearchChunk struct {
	ChunkID         string             `json:"chunk_id"`
	DocumentID      string             `json:"document_id"`
	BrainID         string             `json:"brain_id"`
	Path            string             `json:"path"`
	Title           string             `json:"title"`
	Score           float64            `json:"score"`
	Text            string             `json:"text"`
	Metadata        map[string]any     `json:"metadata"`
	Highlights      []Span             `json:"highlights,omitempty"`
	ComponentScores map[string]float64 `json:"component_scores,omitempty"`
}

// Span is a half-open range [Start, End).
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// AskRequest is the body of POST /v1/brains/{id}/ask.
type AskRequest struct {
	Question     string `json:"question"`
	TopK         int    `json:"top_k,omitempty"`
	Mode         string `json:"mode,omitempty"`
	ReaderMode   string `json:"reader_mode,omitempty"`
	QuestionDate string `json:"question_date,omitempty"`
}

// Event names of the ask stream (spec 6.3).
const (
	EventRetrieve = "retrieve"
	EventDelta    = "answer_delta"
	EventCitation = "citation"
	EventDone     = "done"
	EventError    = "error"
)

// RetrieveEvent is the first event of an ask stream. Chunks is never null.
type RetrieveEvent struct {
	Chunks        []RetrievedChunk `json:"chunks"`
	Mode          string           `json:"mode"`
	EffectiveMode string           `json:"effective_mode"`
}

// RetrievedChunk is the thin chunk of an ask stream (spec 2). Preview has at
// most MaxPreviewChars code points.
type RetrievedChunk struct {
	ChunkID    string  `json:"chunk_id"`
	DocumentID string  `json:"document_id"`
	Score      float64 `json:"score"`
	Preview    string  `json:"preview"`
}

// DeltaEvent carries the next piece of the answer.
type DeltaEvent struct {
	Delta string `json:"delta"`
}

// CitationEvent ties a span of the answer to a quote from a chunk (spec 2,
// AskCitationEvent). Offsets count Unicode code points of the whole answer.
type CitationEvent struct {
	Type        string `json:"type"`
	ChunkID     string `json:"chunk_id"`
	DocumentID  string `json:"document_id"`
	AnswerStart int    `json:"answer_start"`
	AnswerEnd   int    `json:"answer_end"`
	Quote       string `json:"quote"`
}

// DoneEvent ends an ask stream that succeeded. PromptSHA256 identifies the
// reader's prompt; empty when no model was asked.
type DoneEvent struct {
	OK           bool    `json:"ok"`
	Answer       string  `json:"answer"`
	Model        string  `json:"model"`
	PromptSHA256 string  `json:"prompt_sha256,omitempty"`
	Usage        Usage   `json:"usage"`
	TookMS       float64 `json:"took_ms"`
}

// Usage counts model tokens.
type Usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
}

// ErrorEvent ends an ask stream that failed.
type ErrorEvent struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}
