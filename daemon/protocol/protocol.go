// Package protocol defines the messages between a memory service and its clients over HTTP: JSON
// bodies, payloads of event streams, error codes, and the limits of protocol v1.0. Keys are in
// snake_case.
//
// It has no behaviour apart from JSON and imports nothing of this module, so that the daemon and
// the programs that evaluate a daemon from outside can share it.
package protocol

import (
	"encoding/json"
	"time"
)

// Health is the body of GET /healthz. Ready is false once the daemon is stopping, and while its
// database does not answer.
type Health struct {
	OK      bool   `json:"ok"`
	Version string `json:"version,omitempty"`
	Ready   bool   `json:"ready"`
	// DamagedBrains counts the brains that were left out at the start because their records cannot
	// be read.
	DamagedBrains int `json:"damaged_brains,omitempty"`
	// Database is DatabaseOK or DatabaseUnavailable; empty for a daemon without a database.
	Database string `json:"database,omitempty"`
}

// Values of Health.Database.
const (
	DatabaseOK          = "ok"
	DatabaseUnavailable = "unavailable"
)

// Brain is a named container of documents (spec 2).
//
// Extra has the keys that are not listed here, verbatim.
type Brain struct {
	ID         string    `json:"id"`
	Slug       string    `json:"slug"`
	Name       string    `json:"name"`
	Visibility string    `json:"visibility"`
	CreatedAt  time.Time `json:"created_at,omitzero"`
	// Skipped are the first files among the brain's documents, ascending by path, that are not
	// documents or cannot be read. SkippedCount is the number of all. Only a request for one brain
	// returns them.
	Skipped      []SkippedFile `json:"skipped,omitempty"`
	SkippedCount int           `json:"skipped_count,omitempty"`

	Extra map[string]json.RawMessage `json:"-"`
}

// MarshalJSON implements json.Marshaler. It writes the keys of Extra after the others.
func (b Brain) MarshalJSON() ([]byte, error) {
	type known Brain
	return marshalExtra((*known)(&b), b.Extra)
}

// UnmarshalJSON implements json.Unmarshaler. It sets Extra.
func (b *Brain) UnmarshalJSON(data []byte) (err error) {
	type known Brain
	var next known
	if next.Extra, err = unmarshalExtra(data, &next); err != nil {
		return err
	}
	*b = Brain(next)
	return nil
}

// SkippedFile is a file or folder that was skipped. Path is quoted as in Go if it is not plain
// printable text, and Reason continues a sentence that begins with it.
type SkippedFile struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Visibilities of a brain; VisibilityPrivate is the default.
const (
	VisibilityPrivate = "private"
	VisibilityTenant  = "tenant"
	VisibilityPublic  = "public"
)

// CreateBrain is the body of POST /v1/brains. An empty Slug is derived from Name, and an empty ID
// from the slug.
type CreateBrain struct {
	ID         string `json:"id,omitempty"`
	Name       string `json:"name"`
	Slug       string `json:"slug,omitempty"`
	Visibility string `json:"visibility,omitempty"`
}

// BrainList is the body of GET /v1/brains.
type BrainList struct {
	Items []Brain `json:"items"`
	// DefaultBrainID is the brain of requests that name none (spec 1), as the daemon resolves it
	// for this caller. It points to an empty string if the resolution fails, and is nil for a
	// daemon that does not resolve names.
	DefaultBrainID *string `json:"default_brain_id,omitempty"`
}

// FileInfo describes one document or directory (spec 2). Size is in bytes. MTime has the form of
// FormatTime.
type FileInfo struct {
	Path  string `json:"path"`
	Size  int64  `json:"size"`
	MTime string `json:"mtime"`
	IsDir bool   `json:"is_dir"`
}

// FileList is the body of a listing by path, ascending by path.
type FileList struct {
	Items []FileInfo `json:"items"`
	// NextCursor is the cursor of the next page, if there is one.
	NextCursor string `json:"next_cursor,omitempty"`
}

// FormatTime returns a time in the form of the protocol's timestamps: ISO 8601, UTC, three
// fractional digits.
func FormatTime(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
