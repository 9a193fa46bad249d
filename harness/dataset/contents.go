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

// Contents is what brains contain once operations have been applied, as far as a dataset determines
// it. It is not safe for concurrent use.
type Contents struct {
	brains map[string]*shelf
	// assume, if set, is called for a document that no operation has written: it may be one of the
	// corpus.
	assume func(brain, path string)
}

// shelf is what one brain contains.
type shelf struct {
	docs map[string]string // by path
	// said are messages, and what was remembered without a path.
	said []saying
	// gone are the texts of deleted documents and sessions, replaced the earlier texts of
	// documents, left the paths that deleted and renamed ones had.
	gone, replaced []string
	left           map[string]Op
	// ended has the sessions, and whether they have ended; forgotten are those that were deleted.
	ended     map[string]bool
	forgotten []string
}

// saying is a message of a session, or without one what was remembered.
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

// Apply applies an operation on a brain. It returns an error for one that no memory could apply: the
// document or session was never there, or is gone.
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

// write writes a document, of which the text before is replaced.
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

// take removes the document at the path of an operation and returns its text.
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

// Overwrites reports whether an operation on a brain replaces the text of a document.
func (c *Contents) Overwrites(brain string, o Operation) bool {
	_, there := c.shelf(brain).docs[o.Path]
	return there && (o.Op == OpPut || o.Op == OpRemember)
}

// Docs returns the documents of a brain by path, without those that were remembered without one.
func (c *Contents) Docs(brain string) []Doc {
	docs := []Doc{}
	s := c.shelf(brain)
	for _, p := range slices.Sorted(maps.Keys(s.docs)) {
		docs = append(docs, Doc{Path: p, Brain: brain, Data: []byte(s.docs[p])})
	}
	return docs
}

// Holds returns where a brain contains a text, as messages name it, and "" if it does not. Texts are
// compared as visible.Words has them.
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

// minGone is the shortest sentence of a deleted document that must not come back. A shorter one may
// be part of anything.
const minGone = 12

// Gone returns the sentences of the deleted documents of a brain that nothing in it contains any
// more, nor the question.
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

// Origin returns where a text that must not come back to a question of a brain is from.
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

// Deleted returns the paths of the documents of a brain that were deleted and not written again,
// and Renamed those that documents had before.
func (c *Contents) Deleted(brain string) []string { return c.shelf(brain).without(OpDelete) }

// Renamed is described at Deleted.
func (c *Contents) Renamed(brain string) []string { return c.shelf(brain).without(OpRename) }

// without returns the paths that an operation has left without a document.
func (s *shelf) without(op Op) (paths []string) {
	for _, p := range slices.Sorted(maps.Keys(s.left)) {
		if _, there := s.docs[p]; !there && s.left[p] == op {
			paths = append(paths, p)
		}
	}
	return paths
}

// Sessions returns the sessions that a brain has or had, in order.
func (c *Contents) Sessions(brain string) []string {
	s := c.shelf(brain)
	all := append(slices.Collect(maps.Keys(s.ended)), s.forgotten...)
	slices.Sort(all)
	return slices.Compact(all)
}
