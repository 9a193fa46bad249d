package search

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Filter says which documents may be found. Zero values let everything pass
// but generated documents; what is set must all hold.
type Filter struct {
	PathPrefix string   // of the document's path, by bytes
	Paths      []string // one of these
	Tags       []string // all of these, spelled as in the document
	// SessionIDs: the metadata session_id is one of these, as it is written.
	SessionIDs []string
	// From and To bound the date, both inclusive. An undated document, or one
	// with a BadDate, does not pass when one is set.
	From, To time.Time
	// Scope is one of the Scope constants; empty means scopeAll.
	Scope string
	// Generated lets generated documents (base name begins with "_") pass.
	Generated bool
}

// The scopes (spec 4.1, memory_search): the part of a brain below
// memory/<scope>/. scopeAll is the whole brain.
const (
	scopeAll     = "all"
	scopeGlobal  = "global"
	scopeProject = "project"
	scopeAgent   = "agent"
)

// sessionKey is the metadata key of Filter.SessionIDs.
const sessionKey = "session_id"

// keep reports whether a document may be found by a question asked at askedAt;
// zero stands for no time in particular.
func (f *Filter) keep(d *Document, asOf time.Time) bool {
	return (f.Generated || !d.Generated) &&
		(asOf.IsZero() || !d.BadDate && !d.Date.After(asOf)) &&
		f.keepDate(d.Date) &&
		f.keepPath(d.Path) &&
		f.keepTags(d.Tags) &&
		f.keepSession(d.Metadata)
}

func (f *Filter) keepDate(date time.Time) bool {
	if f.From.IsZero() && f.To.IsZero() {
		return true
	}
	return !date.IsZero() && !date.Before(f.From) && (f.To.IsZero() || !date.After(f.To))
}

func (f *Filter) keepPath(path string) bool {
	if f.Scope != "" && f.Scope != scopeAll && !strings.HasPrefix(path, "memory/"+f.Scope+"/") {
		return false
	}
	return strings.HasPrefix(path, f.PathPrefix) && (len(f.Paths) == 0 || slices.Contains(f.Paths, path))
}

func (f *Filter) keepTags(tags []string) bool {
	for _, t := range f.Tags {
		if !slices.Contains(tags, t) {
			return false
		}
	}
	return true
}

func (f *Filter) keepSession(metadata map[string]any) bool {
	if len(f.SessionIDs) == 0 {
		return true
	}
	id, ok := metadata[sessionKey]
	return ok && slices.Contains(f.SessionIDs, fmt.Sprint(id))
}

// check tells an unknown scope.
func (f *Filter) check() error {
	switch f.Scope {
	case "", scopeAll, scopeGlobal, scopeProject, scopeAgent:
		return nil
	}
	return fmt.Errorf("scope %q is not one of all, global, project, agent", f.Scope)
}
