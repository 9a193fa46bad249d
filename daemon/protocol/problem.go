package protocol

// Problem is the body of every answer outside 2xx (spec 7.1).
type Problem struct {
	Status int    `json:"status,omitempty"`
	Title  string `json:"title,omitempty"`
	Detail string `json:"detail,omitempty"`
	Code   string `json:"code,omitempty"`
}

// Codes of a Problem (spec 7.1). A client must accept codes it does not know
// and fall back to the status.
const (
	CodeValidation           = "validation_error"
	CodeNotFound             = "not_found"
	CodeConflict             = "conflict"
	CodeUnauthorized         = "unauthorized"
	CodeForbidden            = "forbidden"
	CodePayloadTooLarge      = "payload_too_large"
	CodeUnsupportedMediaType = "unsupported_media_type"
	CodeRateLimited          = "rate_limited"
	CodeInternal             = "internal_error"
	CodeBadGateway           = "bad_gateway"
	CodeTimeout              = "timeout"
	CodeMethodNotAllowed     = "method_not_allowed"
	CodeConfirmationRequired = "confirmation_required"
)

// Limits of protocol v1.0 (spec 8). Bytes are counted after decompression.
const (
	MaxWriteBytes    = 2 << 20 // body of a PUT or an append
	MaxBatchBytes    = 8 << 20 // decoded content of one batch-ops request
	MaxBatchOps      = 1024
	MaxListItems     = 10_000
	MaxSearchQuery   = 4096 // characters
	MaxSearchTopK    = 100
	DefaultTopK      = 10
	MaxCandidateK    = 1000
	MaxRerankTopN    = 200
	MaxFilterValues  = 256  // in one list of SearchFilters
	MaxAskQuery      = 8192 // characters
	MaxAskTopK       = 50
	MaxPreviewChars  = 512
	MaxBrainName     = 128
	MaxBrainSlug     = 64
	MaxDocumentTitle = 512
	MaxDocumentPath  = 1024

	// Of a document that is created as a record (spec 2 and 4.1), in characters.
	MaxDocumentContent = 5_000_000
	MaxDocumentTags    = 64 // how many
	MaxDocumentTag     = 64
	MaxMetadataKey     = 128
)

// Media types of request and response bodies.
const (
	TypeBytes   = "application/octet-stream"
	TypeJSON    = "application/json"
	TypeProblem = "application/problem+json"
	TypeEvents  = "text/event-stream"
)
