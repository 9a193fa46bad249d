package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
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
	// texts are messages, and what was remembered without a path.
	texts []string
	// gone are the texts of deleted documents, left the paths that deleted and renamed ones had.
	gone []string
	left map[string]Op
	// ended has the sessions, and whether they have ended.
	ended map[string]bool
}

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
		s.docs[o.Path] = string(o.Document())
	case OpAppend:
		s.docs[o.Path] += o.Text
	case OpRemember:
		if o.Path == "" {
			s.texts = append(s.texts, o.Text)
		} else {
			s.docs[o.Path] = string(o.Document())
		}
	case OpDelete, OpRename:
		text, err := c.take(brain, o)
		switch {
		case err != nil:
			return err
		case o.Op == OpDelete:
			s.gone = append(s.gone, text)
		default:
			s.docs[o.To] = text
		}
	case OpMessage:
		if s.ended[o.Session] {
			return fmt.Errorf("session %q has ended with an earlier reflect; use another session", o.Session)
		}
		s.ended[o.Session] = false
		s.texts = append(s.texts, o.Text)
	case OpReflect:
		if _, open := s.ended[o.Session]; !open {
			return fmt.Errorf("session %q has no message, so there is nothing to reflect on; add a message before", o.Session)
		}
		s.ended[o.Session] = true
	}
	return nil
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
// compared as result.Folded has them.
func (c *Contents) Holds(brain, text string) string {
	s, want := c.shelf(brain), result.Folded(text)
	for _, p := range slices.Sorted(maps.Keys(s.docs)) {
		if strings.Contains(result.Folded(s.docs[p]), want) {
			return "document " + p
		}
	}
	if slices.ContainsFunc(s.texts, func(t string) bool { return strings.Contains(result.Folded(t), want) }) {
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
		for sentence := range sentencesOf(text) {
			if len(sentence) >= minGone && !slices.Contains(out, sentence) && c.Holds(brain, sentence) == "" &&
				!strings.Contains(result.Folded(question), result.Folded(sentence)) {
				out = append(out, sentence)
			}
		}
	}
	return out
}

// sentencesOf yields the sentences of a document without front matter and the marks of Markdown.
func sentencesOf(text string) func(yield func(string) bool) {
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		if _, body, closed := strings.Cut(rest, "\n---\n"); closed {
			text = body
		}
	}
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			for sentence := range strings.SplitAfterSeq(strings.Trim(line, "#>*-+ \t\r\n"), ". ") {
				if !yield(strings.TrimSpace(sentence)) {
					return
				}
			}
		}
	}
}
