package protocol

import "mime"

// Problem is the body of every response outside 2xx (spec 7.1).
type Problem struct {
	Status int    `json:"status,omitempty"`
	Title  string `json:"title,omitempty"`
	Detail string `json:"detail,omitempty"`
	Code   string `json:"code,omitempty"`
	// Pending is the amount of work left until the same request can succeed, such as passages to
	// embed. While it falls, a client has reason to wait.
	Pending int `json:"pending,omitempty"`
	// Indexing is the progress of the brain's index, which cannot be searched yet.
	Indexing *Indexing `json:"indexing,omitempty"`
}

// Indexing is the progress of the index of a brain with the documents that it lacks. The counts
// begin at 0 again once the index has all of them. Bytes are 0 if sizes are not known, and
// everything is 0 until the missing documents are known.
type Indexing struct {
	DocumentsDone  int   `json:"documents_done"`
	DocumentsTotal int   `json:"documents_total"`
	BytesDone      int64 `json:"bytes_done"`
	BytesTotal     int64 `json:"bytes_total"`
}

// Codes of a Problem (spec 7.1 and 7.3). A client must accept unknown codes and fall back to the
// status.
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
	CodeFileTooLarge         = "file_too_large"
	CodeNoBrain              = "no_brain"
	CodeNotImplemented       = "not_implemented"

	// Codes of this daemon. The specification has none for a brain that exists but cannot be used.
	CodeLocalFiles       = "local_files_unavailable"    // of a tool that was given no folder to read from
	CodeBrainUnavailable = "brain_unavailable"          // 503: damaged, or cannot be opened
	CodeBrainLocked      = "brain_locked"               // 503: by another program
	CodeStoreUnavailable = "store_unavailable"          // 503: the database does not answer
	CodeOverloaded       = "overloaded"                 // 503: nothing was done, because too much waits
	CodeIndexing         = "indexing"                   // 503: the brain cannot be searched yet
	CodeReadOnly         = "read_only"                  // 503: nothing can be written
	CodeStorageFull      = "insufficient_storage"       // 507: the disk of the daemon is full
	CodeSchemaVersion    = "unsupported_schema_version" // 501: written by a newer program
)

// Limits of protocol v1.0 (spec 8), in characters unless a comment says otherwise. Bytes are
// counted after decompression.
const (
	MaxWriteBytes    = 2 << 20 // body of a PUT or an append
	MaxBatchBytes    = 8 << 20 // decoded content of one batch-ops request
	MaxBatchOps      = 1024    // operations of one batch-ops request
	MaxListItems     = 10_000  // items
	MaxSearchQuery   = 4096
	MaxSearchTopK    = 100  // chunks
	DefaultTopK      = 10   // chunks
	MaxCandidateK    = 1000 // chunks
	MaxRerankTopN    = 200  // chunks
	MaxFilterValues  = 256  // values in one list of SearchFilters
	MaxAskQuery      = 8192
	MaxAskTopK       = 50 // chunks
	MaxPreviewChars  = 512
	MaxBrainName     = 128
	MaxBrainSlug     = 64
	MaxDocumentTitle = 512
	MaxDocumentPath  = 1024

	// Limits of CreateDocument (spec 2 and 4.1).
	MaxDocumentContent = 5_000_000
	MaxDocumentTags    = 64 // tags
	MaxDocumentTag     = 64
	MaxMetadataKey     = 128

	MaxIngestBytes     = 25 << 20 // an ingested file
	MaxURL             = 8192
	MaxSessionID       = 128
	MaxSessionMessages = 500 // messages of one request
	MaxMessageContent  = 1_000_000
	MaxMessageName     = 128
	MaxRecallTopK      = 50 // chunks
)

// Media types of request and response bodies.
const (
	TypeBytes   = "application/octet-stream"
	TypeJSON    = "application/json"
	TypeProblem = "application/problem+json"
	TypeEvents  = "text/event-stream"
)

// IsEvents reports whether a Content-Type names an event stream.
func IsEvents(contentType string) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	return kind == TypeEvents
}
