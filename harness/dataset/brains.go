package dataset

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
)

// Naming says in which brain a question is asked and to which brain a document
// belongs. Names are ids by the slug rule of spec 2, Default apart, which is the
// caller's.
type BrainNaming struct {
	// Default is the brain of what names none.
	Default string
	// Tag, when it is set, takes the brain of a question from its tag Tag:X:
	// the slug of X. Documents with X among the segments of their path belong
	// to it. Nothing may name a brain then.
	Tag string
}

// Brain is one brain of a run, under the name that the run knows it by.
type Brain struct {
	Name string
	// Docs is what the brain is filled with, nil to take it as it is.
	Docs []Doc
	// Questions counts those that are asked in it, and Probe is the first.
	Questions int
	Probe     string
}

// asked is what the questions of a dataset say of one brain.
type brainQuestions struct {
	x        string // the tag's X, empty without a tag
	line     int    // of the first question
	selected int
	probe    string
}

// of gives the brain of a question, and the X of its tag.
func (n BrainNaming) of(q Question) (name, x string, err error) {
	if n.Tag == "" {
		if q.Brain == "" {
			return n.Default, "", nil
		}
		return q.Brain, "", nil
	}
	if q.Brain != "" {
		return "", "", fmt.Errorf(`question %q has a "brain", which --brain-tag takes from the tags; leave one of the two out`, q.ID)
	}
	found := 0
	for _, tag := range q.Tags {
		if rest, ok := strings.CutPrefix(tag, n.Tag+":"); ok {
			x = rest
			found++
		}
	}
	if found != 1 {
		return "", "", fmt.Errorf("question %q has %d tags that begin with %s: and needs exactly 1, which names its brain", q.ID, found, n.Tag)
	}
	if name = slug(x); checkBrain(name) != nil {
		return "", "", fmt.Errorf("question %q: the tag %s:%s makes no brain id of 1 to %d characters", q.ID, n.Tag, x, protocol.MaxBrainSlug)
	}
	return name, x, nil
}

// slug is text in lower case, with a hyphen for each run of other characters
// than a-z and 0-9.
func slug(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}), "-")
}

// checkBrain applies the slug rule to an id.
func checkBrain(id string) error {
	if id != "" && len(id) <= protocol.MaxBrainSlug && id[0] != '-' && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" {
		return nil
	}
	return fmt.Errorf(`"brain" %q must have 1 to %d characters of a-z, 0-9 and -, and begin with a letter or digit`, id, protocol.MaxBrainSlug)
}

// note counts a question for its brain. Two tags must not mean one brain.
func (d *Dataset) addQuestion(q Question, selected bool) error {
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
		return fmt.Errorf("question %q: the tags %s:%s here and %s:%s on line %d both make the brain %s; rename one", q.ID, d.naming.Tag, x, d.naming.Tag, b.x, b.line, name)
	}
	if selected {
		if b.selected++; b.selected == 1 {
			b.probe = q.Question
		}
	}
	return nil
}

// Brains deals the documents of c out to the brains that the questions are asked
// in, by name. A brain without documents and a document that lies in no brain
// of any question are errors with their place; a brain whose questions a limit
// leaves out is not filled. With c nil no brain is.
func (d Dataset) Brains(c *Corpus) ([]Brain, error) {
	docs := map[string][]Doc{}
	if c != nil {
		if err := d.assignDocuments(*c, docs); err != nil {
			return nil, err
		}
	}
	var out []Brain
	for _, name := range slices.Sorted(maps.Keys(d.brains)) {
		if b := d.brains[name]; b.selected > 0 {
			out = append(out, Brain{Name: name, Docs: docs[name], Questions: b.selected, Probe: b.probe})
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
		if b := d.brains[name]; len(docs[name]) == 0 {
			err := fmt.Errorf("questions are asked in brain %s, for which %s has no document", name, c.Path)
			if b.x != "" {
				err = fmt.Errorf("%w: none has a folder %s in its path", err, b.x)
			}
			bad = append(bad, &LineError{File: d.Path, Line: b.line, Err: err})
		}
	}
	if len(bad) > 0 {
		return JoinLines(bad)
	}
	return nil
}

// brainOf gives the brain of a document; named holds the brains by the X of
// their tags.
func (d Dataset) brainOf(doc Doc, named map[string]string) (string, error) {
	if d.naming.Tag == "" {
		name := doc.Brain
		if name == "" {
			name = d.naming.Default
		}
		if d.brains[name] == nil {
			return "", fmt.Errorf("document %q belongs to brain %s, in which no question is asked", doc.Path, name)
		}
		return name, nil
	}
	if doc.Brain != "" {
		return "", fmt.Errorf(`document %q has a "brain", which --brain-tag takes from the path; leave one of the two out`, doc.Path)
	}
	found := ""
	for segment := range strings.SplitSeq(doc.Path, "/") {
		name := named[segment]
		if segment == "" || name == "" || name == found {
			continue
		}
		if found != "" {
			return "", fmt.Errorf("document %q has two brains in its path, %s and %s", doc.Path, found, name)
		}
		found = name
	}
	if found == "" {
		return "", fmt.Errorf("document %q belongs to no brain: no segment of its path is the X of a tag %s:X", doc.Path, d.naming.Tag)
	}
	return found, nil
}

// at gives an error of a document its place.
func (c Corpus) at(doc Doc, err error) error {
	if doc.Line > 0 {
		return &LineError{File: c.Path, Line: doc.Line, Err: err}
	}
	return fmt.Errorf("%s: %w", filepath.Join(c.Path, filepath.FromSlash(doc.Path)), err)
}

// ManyBrains stands in a result for brains that all have names of their own.
const ManyBrains = "*"

// BrainName is what a result calls the brains of a run: the only one's name, or
// that of the default among several, or ManyBrains.
func BrainName(brains []Brain, byDefault string) string {
	switch {
	case len(brains) == 1:
		return brains[0].Name
	case slices.ContainsFunc(brains, func(b Brain) bool { return b.Name == byDefault }):
		return byDefault
	}
	return ManyBrains
}
