package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/prose"
	"evalctl/internal/visible"
)

// Contents tracks what brains contain after operations, as far as a dataset determines it. It is
// not safe for concurrent use.
type Contents struct {
	brains map[string]*shelf
	// assume, if set, is called for a document that no operation has written and that may be in the
	// corpus.
	assume func(brain, path string)
}

// shelf is the content of one brain.
type shelf struct {
	docs map[string]string // by path
	// said are messages, and texts remembered without a path.
	said []saying
	// gone has the texts of deleted documents and sessions, replaced the earlier texts of
	// documents, and left the former paths of deleted and renamed documents.
	gone, replaced []string
	left           map[string]Op
	// ended maps sessions to whether they have ended; forgotten are the deleted ones.
	ended     map[string]bool
	forgotten []string
}

// saying is a message of a session or, without a session, a remembered text.
type saying struct{ session, text string }

// NewContents returns the contents of empty brains.
func NewContents() *Contents { return &Contents{brains: map[string]*shelf{}} }

func (c *Contents) shelf(brain string) *shelf {
	s := c.brains[brain]
	if s == nil {
		s = &shelf{docs: map[string]string{}, left: map[string]Op{}, ended: map[string]bool{}}
		c.brains[brain] = s
	}
	return s
}

// AddDocs adds documents of a corpus.
func (c *Contents) AddDocs(brain string, docs []Doc) {
	for _, d := range docs {
		c.shelf(brain).docs[d.Path] = string(d.Data)
	}
}

// Apply applies an operation to a brain. It returns an error if the operation is impossible because
// the document or session does not exist.
func (c *Contents) Apply(brain string, o Operation) error {
	s := c.shelf(brain)
	switch o.Op {
	case OpPut:
		s.write(o.Path, string(o.Document()))
	case OpAppend:
		s.docs[o.Path] += o.Text
	case OpRemember:
		if o.Path == "" {
			s.said = append(s.said, saying{text: o.Text})
		} else {
			s.write(o.Path, string(o.Document()))
		}
	case OpDelete, OpRename:
		text, err := c.take(brain, o)
		switch {
		case err != nil:
			return err
		case o.Op == OpDelete:
			s.gone = append(s.gone, text)
		default:
			s.write(o.To, text)
		}
	case OpMessage:
		if s.ended[o.Session] {
			return fmt.Errorf("session %q has ended with an earlier reflect; use another session", o.Session)
		}
		s.ended[o.Session] = false
		s.said = append(s.said, saying{o.Session, o.Text})
	case OpReflect:
		if _, open := s.ended[o.Session]; !open {
			return fmt.Errorf("session %q has no message, so there is nothing to reflect on; add a message before", o.Session)
		}
		s.ended[o.Session] = true
	case OpForget:
		if _, there := s.ended[o.Session]; !there {
			return fmt.Errorf("session %q has no message, so there is nothing to forget; add a message before", o.Session)
		}
		s.forget(o.Session)
	}
	return nil
}

// write writes a document and records its former text.
func (s *shelf) write(path, text string) {
	if old, there := s.docs[path]; there {
		s.replaced = append(s.replaced, old)
	}
	s.docs[path] = text
}

// forget deletes a session.
func (s *shelf) forget(session string) {
	delete(s.ended, session)
	s.said = slices.DeleteFunc(s.said, func(t saying) bool {
		if t.session == session {
			s.gone = append(s.gone, t.text)
		}
		return t.session == session
	})
	s.forgotten = append(s.forgotten, session)
}

// take removes an operation's document and returns its text.
func (c *Contents) take(brain string, o Operation) (text string, err error) {
	s := c.shelf(brain)
	text, there := s.docs[o.Path]
	switch how := s.left[o.Path]; {
	case there:
	case how == OpDelete:
		return "", fmt.Errorf("%s: the document is deleted already", o)
	case how == OpRename:
		return "", fmt.Errorf("%s: the document has been renamed; use its new path", o)
	case c.assume == nil:
		return "", fmt.Errorf("%s: %w", o, errNeverPut)
	default:
		c.assume(brain, o.Path)
	}
	delete(s.docs, o.Path)
	s.left[o.Path] = o.Op
	return text, nil
}

var errNeverPut = fmt.Errorf("no operation before it and no document of the corpus has that path; " +
	"put the document first, or correct the path")

// Overwrites reports whether an operation replaces the text of a document.
func (c *Contents) Overwrites(brain string, o Operation) bool {
	_, there := c.shelf(brain).docs[o.Path]
	return there && (o.Op == OpPut || o.Op == OpRemember)
}

// Text returns the text of a document; ok is false if there is none.
func (c *Contents) Text(brain, path string) (text string, ok bool) {
	text, ok = c.shelf(brain).docs[path]
	return text, ok
}

// Docs returns a brain's documents sorted by path, without texts remembered without a path.
func (c *Contents) Docs(brain string) []Doc {
	docs := []Doc{}
	s := c.shelf(brain)
	for _, p := range slices.Sorted(maps.Keys(s.docs)) {
		docs = append(docs, Doc{Path: p, Brain: brain, Data: []byte(s.docs[p])})
	}
	return docs
}

// Holds returns the place in a brain that contains a text, for messages, or "". Texts are compared
// by visible.Words.
func (c *Contents) Holds(brain, text string) string {
	s, want := c.shelf(brain), visible.Words(text)
	for _, p := range slices.Sorted(maps.Keys(s.docs)) {
		if strings.Contains(visible.Words(s.docs[p]), want) {
			return "document " + p
		}
	}
	if slices.ContainsFunc(s.said, func(t saying) bool { return strings.Contains(visible.Words(t.text), want) }) {
		return "a message or remembered text"
	}
	return ""
}

// minGone is the minimum length of a sentence checked after its deletion. A shorter one may occur
// anywhere.
const minGone = 12

// Gone returns the sentences of deleted documents that occur neither in the brain any more nor in
// the question.
func (c *Contents) Gone(brain, question string) []string {
	var out []string
	for _, text := range c.shelf(brain).gone {
		for sentence := range prose.Sentences(text) {
			if len(sentence) >= minGone && !slices.Contains(out, sentence) && c.Holds(brain, sentence) == "" &&
				!strings.Contains(visible.Words(question), visible.Words(sentence)) {
				out = append(out, sentence)
			}
		}
	}
	return out
}

// Origin returns where a text that must not come back originated.
func (c *Contents) Origin(brain, text string) result.Origin {
	s, want := c.shelf(brain), visible.Words(text)
	has := func(t string) bool { return strings.Contains(visible.Words(t), want) }
	switch {
	case slices.ContainsFunc(s.gone, has), slices.ContainsFunc(c.Deleted(brain), has):
		return result.OfDeleted
	case slices.ContainsFunc(s.replaced, has):
		return result.OfReplaced
	}
	for other, s := range c.brains {
		if other != brain && (c.Holds(other, text) != "" || slices.ContainsFunc(s.gone, has) || slices.ContainsFunc(s.replaced, has)) {
			return result.OfAnother
		}
	}
	return ""
}

// Deleted returns the paths of documents that were deleted and not written again, and Renamed the
// former paths of renamed documents.
func (c *Contents) Deleted(brain string) []string { return c.shelf(brain).without(OpDelete) }

// Renamed is described at Deleted.
func (c *Contents) Renamed(brain string) []string { return c.shelf(brain).without(OpRename) }

// without returns the paths left without a document by an operation.
func (s *shelf) without(op Op) (paths []string) {
	for _, p := range slices.Sorted(maps.Keys(s.left)) {
		if _, there := s.docs[p]; !there && s.left[p] == op {
			paths = append(paths, p)
		}
	}
	return paths
}

// Sessions returns the sorted sessions that a brain has or had.
func (c *Contents) Sessions(brain string) []string {
	s := c.shelf(brain)
	all := append(slices.Collect(maps.Keys(s.ended)), s.forgotten...)
	slices.Sort(all)
	return slices.Compact(all)
}
