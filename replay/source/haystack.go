package source

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/harness/dataset"
)

// Haystack is the content that a memory must hold before its questions are asked.
type Haystack struct {
	ID    string
	Brain string // a brain id by the slug rule of spec 2
	// Sessions are sorted by date, then in file order.
	Sessions []Session
	// Docs are the documents of a JSONL or BEIR haystack, which has no sessions. They are nil if
	// the file has no corpus.
	Docs []dataset.Doc
	// corpus has the paths of the documents of BEIR.
	corpus map[string]bool
}

// errNoSessions means that a haystack is empty.
var errNoSessions = errors.New("the haystack has no session with text; " +
	"remove it and its questions from the file")

// Documents returns the haystack as documents: one per session, or Docs.
func (h Haystack) Documents() []dataset.Doc {
	if h.Sessions == nil {
		return h.Docs
	}
	docs := make([]dataset.Doc, len(h.Sessions))
	for i, s := range h.Sessions {
		docs[i] = s.Document()
		docs[i].Brain = h.Brain
	}
	return docs
}

// sort sorts the sessions by date.
func (h *Haystack) sort(traps *traps) {
	byDate := func(a, b Session) int { return strings.Compare(a.Date, b.Date) }
	if !slices.IsSortedFunc(h.Sessions, byDate) {
		traps.add(trapOrder, h.ID)
		slices.SortStableFunc(h.Sessions, byDate)
	}
	for i := 1; i < len(h.Sessions); i++ {
		if h.Sessions[i].Date == h.Sessions[i-1].Date {
			traps.add(trapSameDate, fmt.Sprintf("%s: %s", h.ID, h.Sessions[i].Date))
		}
	}
}

// paths returns the documents of the sessions with a source id, or the document with an id of BEIR
// or a path.
func (h Haystack) paths(sourceID string) (paths []string) {
	for _, path := range []string{sourceID, beirPath(h.Brain, sourceID)} {
		if h.corpus[path] {
			paths = append(paths, path)
		}
	}
	for _, s := range h.Sessions {
		if s.SourceID == sourceID {
			paths = append(paths, s.Path)
		}
	}
	return paths
}

// Session is one conversation of a haystack.
type Session struct {
	// Path is the session's document. Path and ID consist of numbers and the haystack's name, and
	// do not reveal which sessions are gold.
	Path string
	// ID identifies the session to a daemon. It is unique in the benchmark.
	ID string
	// SourceID is the id in the file. It may reveal that the session is gold and must not be sent
	// to a daemon or a model.
	SourceID string
	Date     string // RFC 3339 in UTC, empty if the file does not say
	Title    string // of its document
	Turns    []Turn
	// When is Date as shown in documents. Between separates the turns in documents.
	When, Between string
}

// Turn is one message of a session.
type Turn struct {
	Role string // user or assistant
	// Name is the speaker in a conversation between people, or a role other than user and
	// assistant. It is empty otherwise.
	Name     string
	Text     string
	SourceID string // the id in the file, if any; not to be sent
}

// Speaker returns the speaker's name in transcripts.
func (t Turn) Speaker() string {
	if t.Name != "" {
		return t.Name
	}
	return t.Role
}

// Text returns the transcript with its date, as documents contain it below their title.
func (s Session) Text() string {
	var b strings.Builder
	if s.When != "" {
		fmt.Fprintf(&b, "Date: %s\n\n", s.When)
	}
	for i, t := range s.Turns {
		if i > 0 {
			b.WriteString(s.Between)
		}
		b.WriteString(t.Speaker())
		b.WriteString(": ")
		b.WriteString(t.Text)
	}
	return b.String()
}

// Document returns the session's document, equal to the one that dataset.LoadCorpus makes from the
// same path, title, text and date. It has no brain.
func (s Session) Document() dataset.Doc {
	title := strings.Join(strings.Fields(s.Title), " ")
	var data []byte
	if s.Date != "" {
		data = fmt.Appendf(data, "---\ndate: %s\n---\n\n", s.Date)
	}
	data = fmt.Appendf(data, "# %s\n\n%s\n", title, s.Text())
	return dataset.Doc{Path: s.Path, Data: data}
}

// utc formats a time as RFC 3339 in UTC, which sorts chronologically.
func utc(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// maxName is the maximum length of the readable part of a brain id.
const maxName = 48

// mark returns a short digest of an id.
func mark(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:3])
}

// nameOf returns a brain id for a haystack id: its slug, with a digest added unless both are equal.
func nameOf(id string) string {
	name := dataset.Slug(id)
	if name == id && len(name) <= maxName {
		return name
	}
	return marked(name, id)
}

// marked returns name with a digest of id appended.
func marked(name, id string) string {
	return strings.Trim(name[:min(len(name), maxName)]+"-"+mark(id), "-")
}
