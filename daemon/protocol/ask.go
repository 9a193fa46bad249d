package protocol

// Reader modes of an ask request.
const (
	ReaderBasic     = "basic"
	ReaderAugmented = "augmented"
)

// AskRequest is the body of POST /v1/brains/{id}/ask. Fields that SearchRequest has too mean the
// same.
type AskRequest struct {
	Question       string        `json:"question"`
	TopK           int           `json:"top_k,omitempty"`
	Mode           string        `json:"mode,omitempty"`
	ReaderMode     string        `json:"reader_mode,omitempty"`
	Scope          string        `json:"scope,omitempty"`
	QuestionDate   string        `json:"question_date,omitempty"`
	MaxPerDocument *int          `json:"max_per_document,omitempty"`
	Filters        SearchFilters `json:"filters,omitzero"`
}

// Event names of the ask stream (spec 6.3).
const (
	EventRetrieve = "retrieve"
	EventDelta    = "answer_delta"
	EventCitation = "citation"
	EventDone     = "done"
	EventError    = "error"
)

// RetrieveEvent is the first event of an ask stream. Chunks is never null. The modes, Fusion,
// Degraded and Indexing are as in SearchResponse.
type RetrieveEvent struct {
	Chunks        []RetrievedChunk `json:"chunks"`
	Mode          string           `json:"mode"`
	EffectiveMode string           `json:"effective_mode"`
	Fusion        *Fusion          `json:"fusion,omitempty"`
	Degraded      string           `json:"degraded,omitempty"`
	Indexing      *Indexing        `json:"indexing,omitempty"`
}

// RetrievedChunk is the short form of a chunk in an ask stream (spec 2). Preview has at most
// MaxPreviewChars code points.
type RetrievedChunk struct {
	ChunkID    string  `json:"chunk_id"`
	DocumentID string  `json:"document_id"`
	Score      float64 `json:"score"`
	Preview    string  `json:"preview"`
	// Duplicates and MoreDuplicates are as in SearchChunk.
	Duplicates     []Duplicate `json:"duplicates,omitempty"`
	MoreDuplicates int         `json:"more_duplicates,omitempty"`
}

// DeltaEvent has the next piece of the answer.
type DeltaEvent struct {
	Delta string `json:"delta"`
}

// CitationEvent links a span of the answer to a quote from a chunk (spec 2, AskCitationEvent).
// AnswerStart and AnswerEnd are a half-open range of Unicode code points of the whole answer.
type CitationEvent struct {
	Type        string `json:"type"`
	ChunkID     string `json:"chunk_id"`
	DocumentID  string `json:"document_id"`
	AnswerStart int    `json:"answer_start"`
	AnswerEnd   int    `json:"answer_end"`
	Quote       string `json:"quote"`
}

// DoneEvent ends an ask stream that succeeded. OK is true. PromptSHA256 identifies the reader's
// prompt; it is empty if no model was used. TookMS is in milliseconds.
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
