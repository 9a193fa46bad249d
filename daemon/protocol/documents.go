package protocol

// Batch is the body of POST /v1/brains/{id}/documents/batch-ops (spec 4.2). The daemon applies Ops
// in order, all or none, and reports each with an event that contains Reason. The other fields are
// for stores that keep a history.
type Batch struct {
	Reason  string    `json:"reason"`
	Message string    `json:"message,omitempty"`
	Author  string    `json:"author,omitempty"`
	Email   string    `json:"email,omitempty"`
	Ops     []BatchOp `json:"ops"`
}

// BatchOp is one operation of a Batch. OpWrite and OpAppend have a Content, which must not be nil.
// Other operations must have a nil Content. To is the destination of OpRename; its source is Path.
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

// BatchResult is the response to a Batch: how many operations were applied.
type BatchResult struct {
	Committed int `json:"committed"`
}

// Rename is the body of POST /v1/brains/{id}/documents/rename.
type Rename struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// MaxBatchText limits Reason, Message, Author and Email of a Batch, in bytes each. The
// specification has no such limit, but every event repeats the reason.
const MaxBatchText = 16 << 10

// Event names of the change stream (spec 6.1). The data of EventReady is ReadyData, the data of
// EventPing is PingData, and the data of EventChange is a ChangeEvent.
const (
	EventReady  = "ready"
	EventPing   = "ping"
	EventChange = "change"
	ReadyData   = "ok"
	PingData    = "keepalive"
)

// ChangeEvent reports one committed change (spec 2). Kind is created, updated, deleted or renamed.
// OldPath is set only for renamed. When has the form of FormatTime.
type ChangeEvent struct {
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	OldPath string `json:"old_path,omitempty"`
	Reason  string `json:"reason,omitempty"`
	When    string `json:"when"`
}

// CreateDocument is the body of POST /v1/brains/{id}/documents (spec 4.1, memory_remember). Only
// Content is required. A tag must not contain a comma.
type CreateDocument struct {
	Content  string   `json:"content"`
	Title    string   `json:"title,omitempty"`
	Path     string   `json:"path,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Metadata Metadata `json:"metadata,omitempty"`
	Source   string   `json:"source,omitempty"`
}

// Sources of a document; SourceIngest is the default.
const (
	SourceIngest  = "ingest"
	SourceExtract = "extract"
	SourceCompile = "compile"
	SourceReflect = "reflect"
)

// DocumentRecord describes a document (spec 2). Metadata is never null; its key tags is all tags,
// joined by commas. DeletedAt is always null, because deleted documents have no record. Times have
// the form of FormatTime.
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
	// Problems are the parts of the document that the daemon cannot read, such as its date, and the
	// consequences.
	Problems []string `json:"problems,omitempty"`
}

// DocumentList is the body of GET /v1/brains/{id}/documents without the parameters of a FileList,
// ascending by path. NextCursor is the parameter cursor of the next page, and empty on the last
// one.
type DocumentList struct {
	Items      []DocumentRecord `json:"items"`
	NextCursor string           `json:"next_cursor,omitempty"`
}
