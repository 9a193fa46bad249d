package protocol

// Roles of a session message.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// SessionMessage is the body of POST /v1/brains/{id}/sessions/{session_id}/messages. Values of
// Metadata are strings, numbers, booleans and nil; its keys actor_id and skip_extract have a
// meaning: who speaks, and that facts are not extracted yet. CreatedAt, in RFC 3339, is when the
// message was written; empty means now.
type SessionMessage struct {
	Role      string   `json:"role"`
	Content   string   `json:"content"`
	Name      string   `json:"name,omitempty"`
	Metadata  Metadata `json:"metadata,omitempty"`
	CreatedAt string   `json:"created_at,omitempty"`
}

// Keys of the metadata of a SessionMessage.
const (
	MetadataActorID     = "actor_id"
	MetadataSkipExtract = "skip_extract"
)

// SessionMessages is the body of POST /v1/brains/{id}/sessions/{session_id}/messages/batch:
// messages that are added together, all or none.
type SessionMessages struct {
	Messages []SessionMessage `json:"messages"`
}

// SessionMessageRecord describes a message (spec 2). It never has the metadata of the request.
type SessionMessageRecord struct {
	ID        string `json:"id"`
	SessionID string `json:"session_id"`
	Role      string `json:"role"`
	Content   string `json:"content"`
	Name      string `json:"name,omitempty"`
	CreatedAt string `json:"created_at"`
}

// SessionMessageList is the response to SessionMessages, in the order of the request.
type SessionMessageList struct {
	Messages []SessionMessageRecord `json:"messages"`
}

// States of a Session (spec 3).
const (
	SessionOpen  = "open"
	SessionEnded = "ended"
)

// Session is the body of GET /v1/brains/{id}/sessions/{session_id}. Extracted counts the first
// messages from which facts have been extracted, and ExtractJob is the last job that does so: if it
// has failed, no job extracts the rest. EndedAt is set when the session has ended.
type Session struct {
	ID               string `json:"id"`
	Status           string `json:"status"`
	Messages         int    `json:"messages"`
	Extracted        int    `json:"extracted"`
	ExtractJob       string `json:"extract_job,omitempty"`
	CreatedAt        string `json:"created_at"`
	EndedAt          string `json:"ended_at,omitempty"`
	ReflectionStatus string `json:"reflection_status,omitempty"`
}

// ExtractResult is the result of a job of the kind extract: from how many messages of a session or
// a document it extracted how many facts, and to which documents it wrote them. Model is the model
// that ran, empty if none did.
type ExtractResult struct {
	SessionID  string   `json:"session_id,omitempty"`
	DocumentID string   `json:"document_id,omitempty"`
	Messages   int      `json:"messages"`
	Facts      int      `json:"facts"`
	Paths      []string `json:"paths"`
	Model      string   `json:"model,omitempty"`
}

// RecallRequest is the body of POST /v1/brains/{id}/sessions/{session_id}/recall. A zero value
// means the daemon's default.
type RecallRequest struct {
	Query string `json:"query"`
	TopK  int    `json:"top_k,omitempty"`
	Scope string `json:"scope,omitempty"`
}

// RecallResponse is the response to a recall. Chunks is never null. The mode is the query's; the
// other fields are as in SearchResponse.
type RecallResponse struct {
	Chunks        []SearchChunk `json:"chunks"`
	EffectiveMode string        `json:"effective_mode,omitempty"`
	Degraded      string        `json:"degraded,omitempty"`
	Indexing      *Indexing     `json:"indexing,omitempty"`
}

// States of a reflection (spec 3). ReflectionFailed means that the model failed; reflecting again
// tries again.
const (
	ReflectionCompleted = "completed"
	ReflectionNoResult  = "no_result"
	ReflectionFailed    = "failed"
)

// Reflection is the finding of a reflection on a session (spec 2). Path is the document that it was
// written to, and empty if ShouldRecordEpisode is false.
type Reflection struct {
	Outcome             string `json:"outcome"`
	ShouldRecordEpisode bool   `json:"should_record_episode"`
	Path                string `json:"path"`
	RetryFeedback       string `json:"retry_feedback,omitempty"`
}

// ReflectResponse is the response to POST /v1/brains/{id}/sessions/{session_id}/reflect (spec 4.1,
// memory_reflect). Model is the model that ran, empty if none did.
type ReflectResponse struct {
	ReflectionStatus    string      `json:"reflection_status"`
	Reflection          *Reflection `json:"reflection,omitempty"`
	ReflectionAttempted bool        `json:"reflection_attempted"`
	SessionID           string      `json:"session_id"`
	EndedAt             string      `json:"ended_at,omitempty"`
	Model               string      `json:"model,omitempty"`
}

// ConsolidateRequest is the body of POST /v1/brains/{id}/consolidate, which may be missing. DryRun
// changes nothing, and returns the actions that would be taken.
type ConsolidateRequest struct {
	DryRun bool `json:"dry_run,omitempty"`
}

// ConsolidateResponse is the response to a consolidation.
type ConsolidateResponse struct {
	Result Consolidation `json:"result"`
}

// Consolidation lists the actions of a consolidation, or with DryRun those that it would take.
// Lists are never null.
type Consolidation struct {
	DryRun   bool                  `json:"dry_run"`
	Compiled []ConsolidationAction `json:"compiled"`
	Promoted []ConsolidationAction `json:"promoted"`
	Pruned   []ConsolidationAction `json:"pruned"`
	// Record is the document that lists the actions, with the text of everything pruned. It is
	// empty if there were none.
	Record string `json:"record,omitempty"`
	// Model is the model that ran, empty if none did.
	Model string `json:"model,omitempty"`
}

// ConsolidationAction is one document that a consolidation wrote or deleted. From lists the
// documents that it was made from, and is never null.
type ConsolidationAction struct {
	Path   string   `json:"path"`
	From   []string `json:"from"`
	Reason string   `json:"reason"`
}
