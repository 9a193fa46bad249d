package dataset

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
)

// BrainNaming assigns questions and documents to brains. Names are ids by the slug rule of spec 2,
// except Default, which is not checked.
type BrainNaming struct {
	// Default is the brain of questions and documents without one.
	Default string
	// Tag, if set, assigns questions by the tag Tag:X to the brain named by the slug of X. It then
	// also contains the documents with X as a segment of their path. Nothing else may name a brain.
	Tag string
}

// Brain is one brain of a run. Name is the run's own name for it.
type Brain struct {
	Name string
	// Docs are the documents to seed the brain with, nil to evaluate it as it is.
	Docs []Doc
	// Changes is set if operations change the brain while questions are asked. Docs is then not nil.
	Changes bool
	// Questions is the number of questions asked in the brain.
	Questions int
}

// brainQuestions summarises a dataset's questions for one brain.
type brainQuestions struct {
	x        string // the tag's X, empty without a tag
	line     int    // of the first question
	selected int
}

// of returns the brain of a question and the X of its tag.
func (n BrainNaming) of(q Question) (name, x string, err error) {
	if n.Tag == "" {
		if q.Brain == "" {
			return n.Default, "", nil
		}
		return q.Brain, "", nil
	}
	if q.Brain != "" {
		return "", "", fmt.Errorf(`question %q has a "brain", which --brain-tag takes from the tags; `+
			"remove one of the two", q.ID)
	}
	x, found := tagValue(q.Tags, n.Tag)
	if found != 1 {
		return "", "", fmt.Errorf("question %q has %d tags that begin with %s: and needs exactly 1, "+
			"which names its brain", q.ID, found, n.Tag)
	}
	if name = Slug(x); checkBrain(name) != nil {
		return "", "", fmt.Errorf("question %q: the tag %s:%s does not yield a brain id "+
			"of 1 to %d characters", q.ID, n.Tag, x, protocol.MaxBrainSlug)
	}
	return name, x, nil
}

// Slug returns text in lower case, with a hyphen for each run of characters other than a-z and 0-9.
func Slug(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}), "-")
}

// checkBrain checks an id by the slug rule.
func checkBrain(id string) error {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-"
	ok := id != "" && len(id) <= protocol.MaxBrainSlug && id[0] != '-'
	if ok && strings.Trim(id, allowed) == "" {
		return nil
	}
	return fmt.Errorf(`"brain" %q must have 1 to %d characters of a-z, 0-9 and -, `+
		"and begin with a letter or digit", id, protocol.MaxBrainSlug)
}

// assign records a question's brain. Two tags that yield the same brain are an error.
func (d *Dataset) assign(q Question) error {
	name, x, err := d.naming.of(q)
	if err != nil {
		return err
	}
	b := d.brains[name]
	if b == nil {
		b = &brainQuestions{x: x, line: q.Line}
		d.brains[name] = b
	}
	if b.x != x {
		return fmt.Errorf("question %q: the tags %s:%s here and %s:%s on line %d "+
			"yield the same brain %s; rename one", q.ID, d.naming.Tag, x, d.naming.Tag, b.x, b.line, name)
	}
	return nil
}

// addToBrain counts a selected question after assign.
func (d *Dataset) addToBrain(q Question) {
	name, _, _ := d.naming.of(q) // assign has returned the error
	d.brains[name].selected++
}

// Brains assigns the documents of c to the brains with questions, and returns these brains sorted
// by name. A brain without documents, a document of a brain without questions, and an operation on
// a document that does not exist are errors. Brains without selected questions are left out unless
// operations change them. If c is nil, no brain has documents.
func (d Dataset) Brains(c *Corpus) ([]Brain, error) {
	docs := map[string][]Doc{}
	if c != nil {
		if err := d.assignDocuments(*c, docs); err != nil {
			return nil, err
		}
	}
	var out []Brain
	if err := d.checkWants(docs); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(d.brains)) {
		b, changes := d.brains[name], d.Changes(name)
		if changes && docs[name] == nil {
			docs[name] = []Doc{}
		}
		if b.selected > 0 || changes {
			out = append(out, Brain{Name: name, Docs: docs[name], Changes: changes, Questions: b.selected})
		}
	}
	return out, nil
}

func (d Dataset) assignDocuments(c Corpus, docs map[string][]Doc) error {
	named := map[string]string{} // the brains by X
	for name, b := range d.brains {
		named[b.x] = name
	}
	var bad []error
	for _, doc := range c.Docs {
		name, err := d.brainOf(doc, named)
		if err != nil {
			bad = append(bad, c.at(doc, err))
		}
		docs[name] = append(docs[name], doc)
	}
	for _, name := range slices.Sorted(maps.Keys(d.brains)) {
		if b := d.brains[name]; len(docs[name]) == 0 && !d.Changes(name) {
			err := fmt.Errorf("questions are asked in brain %s, for which %s has no document",
				name, c.Path)
			if b.x != "" {
				err = fmt.Errorf("%w: none has a folder %s in its path", err, b.x)
			}
			bad = append(bad, &LineError{File: d.Path, Line: b.line, Err: err})
		}
	}
	return JoinLines(bad)
}

// brainOf returns the brain of a document; named maps the X of tags to brains.
func (d Dataset) brainOf(doc Doc, named map[string]string) (string, error) {
	if d.naming.Tag == "" {
		name := doc.Brain
		if name == "" {
			name = d.naming.Default
		}
		if d.brains[name] == nil {
			return "", fmt.Errorf("document %q belongs to brain %s, in which no question is asked",
				doc.Path, name)
		}
		return name, nil
	}
	if doc.Brain != "" {
		return "", fmt.Errorf(`document %q has a "brain", which --brain-tag takes from the path; `+
			"remove one of the two", doc.Path)
	}
	found := ""
	for segment := range strings.SplitSeq(doc.Path, "/") {
		name := named[segment]
		if segment == "" || name == "" || name == found {
			continue
		}
		if found != "" {
			return "", fmt.Errorf("document %q has two brains in its path, %s and %s",
				doc.Path, found, name)
		}
		found = name
	}
	if found == "" {
		return "", fmt.Errorf("document %q belongs to no brain: "+
			"no segment of its path is the X of a tag %s:X", doc.Path, d.naming.Tag)
	}
	return found, nil
}

// at adds a document's file, and its line if any, to an error.
func (c Corpus) at(doc Doc, err error) error {
	if doc.Line > 0 {
		return &LineError{File: c.Path, Line: doc.Line, Err: err}
	}
	return fmt.Errorf("%s: %w", filepath.Join(c.Path, filepath.FromSlash(doc.Path)), err)
}

// manyBrains stands for several brains in a result, without the default one.
const manyBrains = "*"

// BrainName returns the name in results for a run's brains: the only brain's, the default one's if
// it is among them, or manyBrains.
func BrainName(brains []Brain, byDefault string) string {
	switch {
	case len(brains) == 1:
		return brains[0].Name
	case slices.ContainsFunc(brains, func(b Brain) bool { return b.Name == byDefault }):
		return byDefault
	}
	return manyBrains
}
