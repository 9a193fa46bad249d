package search

import "time"

// Filter says which documents may be found. Zero values let everything pass;
// what is set must all hold.
type Filter struct {
	PathPrefix string   // of the document's path, by bytes
	Paths      []string // one of these
	Tags       []string // all of these
	SessionIDs []string // metadata session_id is one of these
	// From and To bound the date, both inclusive. An undated document does not
	// pass when one is set.
	From, To time.Time
	// Scope is one of the Scope constants; empty means ScopeAll.
	Scope string
	// Generated lets generated documents (base name begins with "_") pass.
	Generated bool
}

// The scopes (spec 4.1, memory_search): the part of a brain below
// memory/<scope>/. ScopeAll is the whole brain.
const (
	ScopeAll     = "all"
	ScopeGlobal  = "global"
	ScopeProject = "project"
	ScopeAgent   = "agent"
)

// keep reports whether a document may be found by a question asked at askedAt.
func (f *Filter) keep(d *Document, askedAt time.Time) bool {
	return (f.Generated || !d.Generated) && (askedAt.IsZero() || !d.Date.After(askedAt))
}
