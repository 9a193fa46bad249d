package source

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/atomicfile"
	"evalctl/internal/figure"
	"evalctl/replay/sample"
)

// Subset is a sample of a dataset's questions with the documents it needs. A run rejects documents
// of brains without questions. If the sample leaves such brains, the documents of the other brains
// are copied.
type Subset struct {
	Sample result.Sample
	// Corpus is the dataset's corpus, empty if it has none.
	Corpus string
	// Copied is the corpus that WriteDocuments writes, empty if none.
	Copied string
	// Missing is how many of the Brains have no question in the sample.
	Missing, Brains int

	dataset      dataset.Dataset
	ids, brains  map[string]bool
	defaultBrain string
}

// Documents says where the sample's documents are, or warns about an unsuitable corpus. Both
// results are empty without a corpus.
func (s *Subset) Documents() (field, about string) {
	switch {
	case s.Copied != "":
		return "documents", fmt.Sprintf("%s, the documents of %s", s.Copied, figure.Count(s.Brains-s.Missing, "brain"))
	case s.Corpus != "" && s.Missing > 0:
		return "warning", fmt.Sprintf("%d of %d brains have no question in the sample, and run rejects their documents: "+
			"give --output, and a corpus in JSONL", s.Missing, s.Brains)
	case s.Corpus != "":
		return "documents", "--corpus " + s.Corpus
	}
	return "", ""
}

// noStratum is the stratum of questions without a stratum tag.
const noStratum = "(none)"

// DrawSubset draws a sample of a dataset's questions. A question's stratum is its first tag with
// the prefix by, without the prefix. output is where the questions will be written, empty for
// stdout; an existing file is an error. defaultBrain is used where no brain is named.
func DrawSubset(path, output, defaultBrain, by string, config sample.Config) (*Subset, error) {
	if output != "" {
		if err := atomicfile.CheckNew(output); err != nil {
			return nil, err
		}
	}
	if err := dataset.CheckFile(path); err != nil {
		return nil, err
	}
	d, err := dataset.Open(path, dataset.Options{Naming: dataset.BrainNaming{Default: defaultBrain}})
	if err != nil {
		return nil, err
	}
	s := &Subset{dataset: d, ids: map[string]bool{}, brains: map[string]bool{}, defaultBrain: defaultBrain}
	var items []sample.Item
	all := map[string]bool{}
	for q, err := range d.Questions() {
		if err != nil {
			return nil, err
		}
		items = append(items, sample.Item{ID: q.ID, Stratum: stratum(q.Tags, by)})
		addBrains(all, q)
	}
	drawn, ids, err := sample.Draw(items, config)
	if err != nil {
		return nil, err
	}
	s.Sample = drawn
	if by != "" && len(drawn.Strata) == 1 && drawn.Strata[0].Name == noStratum {
		return nil, fmt.Errorf("--by %s: no question of %s has a tag with this prefix", by, path)
	}
	for _, id := range ids {
		s.ids[id] = true
	}
	if err := s.keepBrains(); err != nil {
		return nil, err
	}
	s.Brains, s.Missing = len(all), len(all)-len(s.brains)
	return s, s.planDocuments(output)
}

// addBrains adds the brain of a question, and those that its operations change.
func addBrains(brains map[string]bool, q dataset.Question) {
	brains[q.Brain] = true
	for _, o := range q.Before {
		brains[o.In(q.Brain)] = true
	}
}

// keepBrains finds the brains of the sample. It returns an error for a question whose brains an
// earlier question changes that is not in the sample: it would be asked about another corpus.
func (s *Subset) keepBrains() error {
	lost := map[string]string{}   // the id of such an earlier question, by group
	groups := map[string]string{} // of brains that change together, by brain
	for q, err := range s.dataset.Questions() {
		if err != nil {
			return err
		}
		if s.ids[q.ID] {
			addBrains(s.brains, q)
		}
		if !s.dataset.Changes(q.Brain) {
			continue
		}
		if groups[q.Brain] == "" {
			groups[q.Brain] = s.dataset.Together(q.Brain)[0]
		}
		group := groups[q.Brain]
		switch {
		case !s.ids[q.ID] && len(q.Before) > 0 && lost[group] == "":
			lost[group] = q.ID
		case s.ids[q.ID] && lost[group] != "":
			return &dataset.LineError{File: s.dataset.Path, Line: q.Line, Err: fmt.Errorf("question %q finds what question %q does "+
				"before it is asked, and the sample lacks that one: use evalctl run --shuffle --limit %d, which keeps the operations",
				q.ID, lost[group], len(s.ids))}
		}
	}
	return nil
}

// stratum returns a question's stratum from its tags.
func stratum(tags []string, by string) string {
	for _, tag := range tags {
		if name, ok := strings.CutPrefix(tag, by); ok {
			return name
		}
	}
	return noStratum
}

// planDocuments returns an error if the documents would replace a file.
func (s *Subset) planDocuments(output string) error {
	s.Corpus = dataset.CorpusFor(s.dataset.Path)
	if s.Missing == 0 || output == "" || !strings.HasSuffix(s.Corpus, ".jsonl") {
		return nil
	}
	s.Copied = corpusOf(output)
	return atomicfile.CheckNew(s.Copied)
}

// WriteQuestions writes the sample's lines unchanged.
func (s *Subset) WriteQuestions(w io.Writer) error {
	return s.dataset.CopyLines(w, func(q dataset.Question) bool { return s.ids[q.ID] })
}

// WriteDocuments writes the brains' documents to Copied, unless it is empty.
func (s *Subset) WriteDocuments() error {
	if s.Copied == "" {
		return nil
	}
	return atomicfile.Write(s.Copied, 0o644, func(w io.Writer) error {
		return dataset.CopyDocuments(w, s.Corpus, func(brain string) bool { return s.brains[cmp.Or(brain, s.defaultBrain)] })
	})
}
