package protocol

import "encoding/json"

// IngestFile is the JSON body of POST /v1/brains/{id}/documents/ingest/file. Content is the
// unchanged file, and Path its name, which decides the path of the document. The form
// multipart/form-data has a file and the same fields.
//
// The kind of the file follows from As, else from ContentType, else from the extension of Path.
type IngestFile struct {
	Path        string   `json:"path"`
	ContentType string   `json:"content_type,omitempty"`
	As          string   `json:"as,omitempty"`
	Title       string   `json:"title,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Content     []byte   `json:"content_base64"`
}

// IngestURL is the body of POST /v1/brains/{id}/documents/ingest/url.
type IngestURL struct {
	URL   string   `json:"url"`
	Title string   `json:"title,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

// Kinds of an ingested file (spec 4.1, memory_ingest_file). AsHTML is this daemon's addition.
const (
	AsMarkdown = "markdown"
	AsText     = "text"
	AsPDF      = "pdf"
	AsJSON     = "json"
	AsHTML     = "html"
)

// States of an IngestResponse (spec 2). IngestCompleted may be omitted.
const (
	IngestCompleted = "completed"
	IngestQueued    = "queued"
)

// IngestResponse is the response to an ingest (spec 2). Hash is the SHA-256 of the bytes that were
// sent, in lower-case hexadecimal. ChunkCount is the number of passages that search makes of the
// document, and EmbeddedCount how many of them have a vector when the response is sent. This daemon
// computes vectors in the background, so EmbeddedCount is 0 for a new document. Reused means that
// the same bytes were ingested before.
//
// With the status queued, JobID identifies the job, and the other fields except Hash are zero.
//
// Extra has the keys that are not listed here, with their values verbatim.
type IngestResponse struct {
	Status        string `json:"status,omitempty"`
	DocumentID    string `json:"document_id"`
	Path          string `json:"path"`
	Hash          string `json:"hash"`
	ChunkCount    int    `json:"chunk_count"`
	EmbeddedCount int    `json:"embedded_count"`
	DurationMS    int64  `json:"duration_ms"`
	Reused        bool   `json:"reused"`
	JobID         string `json:"job_id,omitempty"`

	Extra map[string]json.RawMessage `json:"-"`
}

// ingestFields are the fields of an IngestResponse without its methods.
type ingestFields IngestResponse

// UnmarshalJSON puts unknown keys into Extra.
func (r *IngestResponse) UnmarshalJSON(data []byte) error {
	var fields ingestFields
	extra, err := unmarshalExtra(data, &fields)
	if err != nil {
		return err
	}
	*r = IngestResponse(fields)
	r.Extra = extra
	return nil
}

// MarshalJSON adds the keys of Extra.
func (r IngestResponse) MarshalJSON() ([]byte, error) {
	return marshalExtra(ingestFields(r), r.Extra)
}

// States of a Job.
const (
	JobQueued    = "queued"
	JobRunning   = "running"
	JobCompleted = "completed"
	JobFailed    = "failed"
)

// Job is the body of GET /v1/brains/{id}/jobs/{job_id}: work that the daemon does after it has
// responded. Attempts counts how often it was begun. Result is set when it is completed: an
// IngestResponse for the kind ingest. Error is set when it has failed for good. Times have the form
// of FormatTime.
type Job struct {
	JobID     string          `json:"job_id"`
	Kind      string          `json:"kind"`
	Status    string          `json:"status"`
	Attempts  int             `json:"attempts"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *Problem        `json:"error,omitempty"`
	CreatedAt string          `json:"created_at"`
	UpdatedAt string          `json:"updated_at"`
}

// Kinds of a Job.
const (
	JobIngest  = "ingest"
	JobExtract = "extract"
)
