package search

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/search/document"
)

// Filter selects the documents that may be found. A document must meet every condition that is set.
// The zero value selects all documents but generated ones.
type Filter struct {
	PathPrefix string   // of the document's path
	Paths      []string // the document's path is one of these
	Tags       []string // the document has all of these, spelled the same
	// SessionIDs: session_id of the document's metadata is one of these.
	SessionIDs []string
	// From and To bound the date, both inclusive. If one is set, a document without a date or with
	// BadDate is not selected.
	From, To time.Time
	// FromDay and ToDay compare the day of a document, in its own zone, with the day of From and To.
	FromDay, ToDay bool
	// Scope is all, global, project or agent; empty means all.
	Scope string
	// Generated selects generated documents too (base name begins with "_").
	Generated bool
	// Except are the paths of documents that are not selected.
	Except map[string]bool
}

// scopeAll is the whole brain (spec 4.1, memory_search). Any other scope is the folder
// memory/<scope>/.
const scopeAll = "all"

// keep reports whether a document may be found by a question asked at asOf. The zero time means no
// particular time.
func (f *Filter) keep(d *document.Document, asOf time.Time) bool {
	return (f.Generated || !d.Generated) && !f.Except[d.Path] &&
		(asOf.IsZero() || !d.BadDate && dayNumber(d.Date) <= dayNumber(asOf)) &&
		f.keepDate(d.Date) &&
		f.keepPath(d.Path) &&
		!slices.ContainsFunc(f.Tags, func(t string) bool { return !slices.Contains(d.Tags, t) }) &&
		f.keepSession(d.Metadata)
}

// plain reports whether the filter selects all documents but generated ones for a question asked at
// asOf.
func (f *Filter) plain(asOf time.Time) bool {
	return f.PathPrefix == "" && len(f.Paths)+len(f.Tags)+len(f.SessionIDs)+len(f.Except) == 0 &&
		f.From.IsZero() && f.To.IsZero() && (f.Scope == "" || f.Scope == scopeAll) && !f.Generated && asOf.IsZero()
}

// dayNumber orders calendar days, each in the zone of its time.
func dayNumber(t time.Time) int {
	year, month, day := t.Date()
	return (year*12+int(month))*31 + day
}

func (f *Filter) keepDate(date time.Time) bool {
	if f.From.IsZero() && f.To.IsZero() {
		return true
	}
	return !date.IsZero() && !before(date, f.From, f.FromDay) && (f.To.IsZero() || !before(f.To, date, f.ToDay))
}

// before reports whether a is before b or, if days is set, on an earlier day.
func before(a, b time.Time, days bool) bool {
	if days {
		return dayNumber(a) < dayNumber(b)
	}
	return a.Before(b)
}

func (f *Filter) keepPath(path string) bool {
	if f.Scope != "" && f.Scope != scopeAll && !strings.HasPrefix(path, "memory/"+f.Scope+"/") {
		return false
	}
	return strings.HasPrefix(path, f.PathPrefix) && (len(f.Paths) == 0 || slices.Contains(f.Paths, path))
}

func (f *Filter) keepSession(metadata map[string]any) bool {
	if len(f.SessionIDs) == 0 {
		return true
	}
	id, ok := metadata["session_id"]
	return ok && slices.Contains(f.SessionIDs, fmt.Sprint(id))
}

// check returns an error if the scope is unknown.
func (f *Filter) check() error {
	if slices.Contains([]string{"", scopeAll, "global", "project", "agent"}, f.Scope) {
		return nil
	}
	return fmt.Errorf("scope %q is not one of all, global, project, agent", f.Scope)
}
