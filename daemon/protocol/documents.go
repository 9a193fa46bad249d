package protocol

// Batch is the body of POST /v1/brains/{id}/documents/batch-ops (spec 4.2).
// The daemon applies Ops in their order, all or none, and tells of each with
// an event that carries Reason. The rest is for stores that keep a history.
type Batch struct {
	Reason  string    `json:"reason"`
	Message string    `json:"message,omitempty"`
	Author  string    `json:"author,omitempty"`
	Email   string    `json:"email,omitempty"`
	Ops     []BatchOp `json:"ops"`
}

// BatchOp is one operation of a Batch. Content is that of OpWrite and OpAppend;
// it must not be nil there, and must be nil elsewhere. To is the destination of
// OpRename, whose source is Path.
type BatchOp struct {
	Type    string `json:"type"`
	Path    string `json:"path"`
	To      string `json:"to,omitempty"`
	Content []byte `json:"content_base64,omitzero"`
}

// Types of a BatchOp.
const (
	OpWrite  = "write"
	OpAppend = "append"
	OpDelete = "delete"
	OpRename = "rename"
)

// BatchResult answers a Batch: how many operations were applied.
type BatchResult struct {
	Committed int `json:"committed"`
}

// Rename is the body of POST /v1/brains/{id}/documents/rename.
type Rename struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// MaxBatchText limits each text of a Batch other than its contents, in bytes.
// The specification has no such limit, but every event repeats the reason.
const MaxBatchText = 16 << 10

// Event names of the change stream (spec 6.1). The data of EventReady is
// ReadyData and that of EventPing is PingData; EventChange carries a
// ChangeEvent.
const (
	EventReady  = "ready"
	EventPing   = "ping"
	EventChange = "change"
	ReadyData   = "ok"
	PingData    = "keepalive"
)

// ChangeEvent tells of one committed mutation (spec 2). Kind is created,
// updated, deleted or renamed; OldPath is set on renamed only. Use FormatTime
// to make When.
type ChangeEvent struct {
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	OldPath string `json:"old_path,omitempty"`
	Reason  string `json:"reason,omitempty"`
	When    string `json:"when"`
}

// CreateDocument is the body of POST /v1/brains/{id}/documents (spec 4.1,
// memory_remember). Only Content is required. Tags hold no comma. The values
// of Metadata are strings, numbers, booleans and nil.
type CreateDocument struct {
	Content  string         `json:"content"`
	Title    string         `json:"title,omitempty"`
	Path     string         `json:"path,omitempty"`
	Tags     []string       `json:"tags,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
	Source   string         `json:"source,omitempty"`
}

// Sources of a document; SourceIngest is the default.
const (
	SourceIngest  = "ingest"
	SourceExtract = "extract"
	SourceCompile = "compile"
	SourceReflect = "reflect"
)

// DocumentRecord describes a document by its id (spec 2). Metadata is never
// null; its key tags holds all tags, joined by commas. DeletedAt is null of
// every document that there is. Use FormatTime to make the times.
type DocumentRecord struct {
	ID             string         `json:"id"`
	BrainID        string         `json:"brain_id"`
	Title          string         `json:"title"`
	Path           string         `json:"path"`
	Source         string         `json:"source"`
	ContentType    string         `json:"content_type"`
	ByteSize       int            `json:"byte_size"`
	ChecksumSHA256 string         `json:"checksum_sha256"`
	Metadata       map[string]any `json:"metadata"`
	CommitSHA      string         `json:"commit_sha"`
	CreatedAt      string         `json:"created_at"`
	UpdatedAt      string         `json:"updated_at"`
	DeletedAt      *string        `json:"deleted_at"`
}

// DocumentList is the body of GET /v1/brains/{id}/documents without a listing
// parameter, ascending by path. NextCursor, given as cursor, gets the next
// page; it is empty on the last.
type DocumentList struct {
	Items      []DocumentRecord `json:"items"`
	NextCursor string           `json:"next_cursor,omitempty"`
}
