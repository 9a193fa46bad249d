package dataset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/internal/visible"
)

// Step has the operations before one question. Brain is the question's brain, and the default for
// its operations.
type Step struct {
	Line   int
	Brain  string
	Before []Operation
}

// lifecycle has the operations on a dataset's brains in order.
type lifecycle struct {
	isolated bool
	// parent links brains that share questions: brains with the same root must change together.
	parent map[string]string
	steps  []Step
	// contents is the state of shared brains after all steps.
	contents *Contents
	missing  []missingDoc
	// forbids is set if any question has forbidden texts.
	forbids bool
}

// missingDoc is a document that an operation requires and no other operation has written.
type missingDoc struct {
	brain, path, id string
	line            int
}

func newLifecycle(isolated bool) *lifecycle {
	return &lifecycle{isolated: isolated, parent: map[string]string{}, contents: NewContents()}
}

// root returns the representative of the brains that change together with a brain, "" if it does
// not change.
func (l *lifecycle) root(brain string) string {
	for l.parent[brain] != brain && l.parent[brain] != "" {
		brain = l.parent[brain]
	}
	return l.parent[brain]
}

// add records and checks the operations before a question asked in brain.
func (l *lifecycle) add(q Question, brain string) error {
	l.forbids = l.forbids || len(q.Forbidden) > 0
	if len(q.Before) == 0 && !l.isolated {
		return l.checkForbidden(q, brain, l.contents)
	}
	l.join(brain, brain)
	contents := l.contents
	if l.isolated {
		contents = NewContents()
	}
	contents.assume = func(b, path string) { l.missing = append(l.missing, missingDoc{b, path, q.ID, q.Line}) }
	for i, o := range q.Before {
		in := o.In(brain)
		l.join(brain, in)
		if err := contents.Apply(in, o); err != nil {
			return fmt.Errorf("question %q: before[%d]: %w", q.ID, i, err)
		}
	}
	if len(q.Before) > 0 {
		l.steps = append(l.steps, Step{Line: q.Line, Brain: brain, Before: q.Before})
	}
	return l.checkForbidden(q, brain, contents)
}

// join makes two brains change together.
func (l *lifecycle) join(a, b string) {
	for _, brain := range []string{a, b} {
		if l.parent[brain] == "" {
			l.parent[brain] = brain
		}
	}
	l.parent[l.root(b)] = l.root(a)
}

// checkForbidden returns an error for a forbidden text that the brain still contains, which any
// working memory would return.
func (l *lifecycle) checkForbidden(q Question, brain string, contents *Contents) error {
	for i, text := range q.Forbidden {
		if where := contents.Holds(brain, text); where != "" {
			return fmt.Errorf("question %q: forbidden[%d]: brain %s still has %.60q when the question is asked, in %s; "+
				"a memory that returns it is right", q.ID, i, brain, text, where)
		}
	}
	return nil
}

// In returns the brain changed by the operation before a question asked in brain.
func (o Operation) In(brain string) string {
	if o.Brain != "" {
		return o.Brain
	}
	return brain
}

// Changes reports whether operations change a brain while questions are asked. With Isolated, all
// brains change.
func (d Dataset) Changes(brain string) bool {
	return d.lifecycle != nil && (d.lifecycle.isolated || d.lifecycle.root(brain) != "")
}

// Lifecycle reports whether operations change brains while questions are asked, a question has
// forbidden texts, or each question has a brain of its own.
func (d Dataset) Lifecycle() bool {
	l := d.lifecycle
	return l != nil && (l.isolated || l.forbids || len(l.parent) > 0)
}

// Isolated reports whether each question has a brain of its own.
func (d Dataset) Isolated() bool { return d.lifecycle != nil && d.lifecycle.isolated }

// Together returns the sorted brains that change together with a brain, itself included. Changes
// must be true for it.
func (d Dataset) Together(brain string) []string {
	root := d.lifecycle.root(brain)
	if root == "" {
		return []string{brain}
	}
	var all []string
	for b := range d.lifecycle.parent {
		if d.lifecycle.root(b) == root {
			all = append(all, b)
		}
	}
	slices.Sort(all)
	return all
}

// Steps returns the steps in brains that change together with a brain, for questions on lines
// between after and before, selected or not.
func (d Dataset) Steps(brain string, after, before int) []Step {
	root := d.lifecycle.root(brain)
	var steps []Step
	for _, s := range d.lifecycle.steps {
		if s.Line > after && s.Line < before && d.lifecycle.root(s.Brain) == root {
			steps = append(steps, s)
		}
	}
	return steps
}

// Versions returns everything that a brain ever contains: docs from the corpus, and each document
// as written or renamed by an operation. It is nil if docs is nil and nothing is written.
func (d Dataset) Versions(brain string, docs []Doc) []Doc {
	versions := slices.Clip(docs)
	contents := corpusOf(brain, docs)
	if d.lifecycle == nil {
		return versions
	}
	for _, s := range d.lifecycle.steps {
		if d.lifecycle.isolated {
			contents = corpusOf(brain, docs)
		}
		for _, o := range s.Before {
			if o.In(s.Brain) != brain {
				continue
			}
			_ = contents.Apply(brain, o) // reading the dataset has ruled out an error
			path := cmp.Or(o.To, o.Path)
			if text, ok := contents.shelf(brain).docs[path]; ok {
				versions = append(versions, Doc{Path: path, Brain: brain, Data: []byte(text)})
			}
		}
	}
	return versions
}

// DocumentAt returns the document at a path of the question's brain at the time of the question.
// docs are the brain's documents in the corpus. ok is false if there is none.
func (d Dataset) DocumentAt(q Question, docs []Doc, path string) (data []byte, ok bool) {
	contents := corpusOf(q.Brain, docs)
	steps := []Step{{Brain: q.Brain, Before: q.Before}}
	if d.Changes(q.Brain) && !d.Isolated() {
		steps = append(d.Steps(q.Brain, 0, q.Line), steps...)
	}
	for _, s := range steps {
		for _, o := range s.Before {
			if o.In(s.Brain) == q.Brain {
				_ = contents.Apply(q.Brain, o)
			}
		}
	}
	docsThen := contents.shelf(q.Brain).docs
	text, ok := docsThen[path]
	for p := range docsThen {
		if !ok && visible.Path(p) == visible.Path(path) {
			text, ok = docsThen[p], true
		}
	}
	return []byte(text), ok
}

// corpusOf returns a brain with the documents of the corpus. Any other document that an operation
// requires is assumed to exist, because the corpus may be unknown.
func corpusOf(brain string, docs []Doc) *Contents {
	c := NewContents()
	c.assume = func(string, string) {}
	c.AddDocs(brain, docs)
	return c
}

// checkWants returns errors for operations on documents that exist neither in the corpus nor by an
// operation.
func (d Dataset) checkWants(docs map[string][]Doc) error {
	if d.lifecycle == nil {
		return nil
	}
	has := map[string]map[string]bool{} // paths by brain
	for _, w := range d.lifecycle.missing {
		if has[w.brain] == nil {
			has[w.brain] = map[string]bool{}
			for _, doc := range docs[w.brain] {
				has[w.brain][doc.Path] = true
			}
		}
	}
	var bad []error
	for _, w := range d.lifecycle.missing {
		if !has[w.brain][w.path] {
			bad = append(bad, &LineError{File: d.Path, Line: w.line,
				Err: fmt.Errorf("question %q: brain %s: %s: %w", w.id, w.brain, w.path, errNeverPut)})
		}
	}
	return JoinLines(bad)
}

// addChanging adds the brains changed by operations to the brains that may have documents.
func (d *Dataset) addChanging() {
	for _, name := range slices.Sorted(maps.Keys(d.lifecycle.parent)) {
		if d.brains[name] == nil {
			d.brains[name] = &brainQuestions{}
		}
	}
}

// maxForbidden limits the forbidden texts of one question.
const maxForbidden = 1000

// checkForbidden checks a line's forbidden texts and required citations.
func (q Question) checkForbidden() error {
	if len(q.Forbidden) == 0 {
		return q.checkCited()
	}
	if n := len(q.Forbidden); n > maxForbidden {
		return fmt.Errorf("forbidden has %d texts, the limit is %d: each one costs a search", n, maxForbidden)
	}
	question := visible.Words(q.Question)
	wanted := make([]string, len(q.ExpectedSubstrings))
	for i, want := range q.ExpectedSubstrings {
		wanted[i] = visible.Words(want)
	}
	for i, text := range q.Forbidden {
		folded := visible.Words(text)
		switch {
		case folded == "":
			return fmt.Errorf("forbidden[%d] is blank; remove it", i)
		case strings.Contains(question, folded):
			return fmt.Errorf("forbidden[%d]: %.60q is in the question, which a service may repeat", i, text)
		}
		for _, want := range wanted {
			if strings.Contains(want, folded) {
				return fmt.Errorf("forbidden[%d]: %.60q is in expected_substrings, so that no answer can pass", i, text)
			}
		}
	}
	return q.checkCited()
}

func (q Question) checkCited() error {
	for _, p := range q.MustCite {
		if err := CheckDocPath(p); err != nil {
			return fmt.Errorf("must_cite: %w", err)
		}
	}
	return nil
}
