package dataset

import (
	"fmt"
	"maps"
	"slices"

	"evalctl/internal/decimal"
	"evalctl/scorer"
)

// checkEvidence checks the evidence of a line.
func (q Question) checkEvidence() error {
	for i, text := range q.ExpectedEvidence {
		if !scorer.HasWords(text) {
			return fmt.Errorf("expected_evidence[%d] has no words: write the sentence of the document that answers the question", i)
		}
	}
	return nil
}

// checkGrades checks the grades of a line.
func (q Question) checkGrades() error {
	for _, path := range slices.Sorted(maps.Keys(q.ExpectedGrades)) {
		switch grade := q.ExpectedGrades[path]; {
		case !slices.Contains(q.ExpectedPaths, path):
			return fmt.Errorf("expected_grades has %q, which is not one of expected_paths", path)
		case !(grade > 0):
			return fmt.Errorf("expected_grades has %v for %q: a grade must be above 0; leave documents that are not relevant out of expected_paths",
				grade, path)
		case grade > decimal.Most: // sums of which are infinite
			return fmt.Errorf("expected_grades has %v for %q: a grade must be at most %g", grade, path, decimal.Most)
		}
	}
	return nil
}

// CheckEvidence returns an error with file:line for evidence missing from the documents. It reads
// the selected questions of d.
func CheckEvidence(d Dataset, brains []Brain) error {
	quotes, paths := newQuotations(d, brains), PathsByBrain(brains)
	var bad []error
	for q, err := range d.Questions() {
		if err != nil {
			return err
		}
		if err := quotes.check(q, paths[q.Brain]); err != nil {
			bad = append(bad, &LineError{File: d.Path, Line: q.Line, Err: err})
		}
	}
	return JoinLines(bad)
}

// quotations looks for evidence in everything that brains ever contain.
type quotations struct {
	dataset Dataset
	docs    map[string][]Doc      // of the corpus, by brain
	texts   map[string][]quotable // once they were needed
}

// quotable is a text that may have evidence.
type quotable struct {
	path  string // empty for messages
	words scorer.Words
}

func newQuotations(d Dataset, brains []Brain) *quotations {
	k := &quotations{dataset: d, docs: map[string][]Doc{}, texts: map[string][]quotable{}}
	for _, b := range brains {
		k.docs[b.Name] = b.Docs
	}
	return k
}

// check returns an error for evidence that is in none of a question's expected documents or,
// without expected paths, in no text of its brain. known are the brain's paths, nil if its
// documents are unknown.
func (k *quotations) check(q Question, known *Paths) error {
	if known == nil || len(q.ExpectedEvidence) == 0 {
		return nil
	}
	texts, where := k.in(q.Brain), "brain "+q.Brain
	if len(q.ExpectedPaths) > 0 {
		var gold []string
		for _, path := range q.ExpectedPaths {
			gold = append(gold, known.Gold(path))
		}
		texts = slices.DeleteFunc(slices.Clone(texts), func(t quotable) bool { return !slices.Contains(gold, t.path) })
		where = "expected_paths"
	}
	for i, text := range q.ExpectedEvidence {
		words := scorer.WordsOf(text)
		if !slices.ContainsFunc(texts, func(t quotable) bool { return t.words.Quote(words) }) {
			return fmt.Errorf("question %q: expected_evidence[%d]: no document of %s has the words %.80q: copy them from the document", q.ID, i, where, text)
		}
	}
	return nil
}

// in returns all documents that a brain ever contains, and its messages.
func (k *quotations) in(brain string) []quotable {
	texts, ok := k.texts[brain]
	if ok {
		return texts
	}
	for _, d := range k.dataset.Versions(brain, k.docs[brain]) {
		texts = append(texts, quotable{d.Path, scorer.WordsOf(string(d.Data))})
	}
	if k.dataset.lifecycle != nil {
		for _, s := range k.dataset.lifecycle.steps {
			for _, o := range s.Before {
				if o.In(s.Brain) == brain && o.Path == "" {
					texts = append(texts, quotable{words: scorer.WordsOf(o.Text)})
				}
			}
		}
	}
	k.texts[brain] = texts
	return texts
}
