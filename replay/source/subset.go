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

// Subset is a sample of the questions of a dataset, with the documents that it needs. If brains have no
// question in it, a run would reject their documents, so that those of the others are copied.
type Subset struct {
	Sample result.Sample
	// Corpus is that of the dataset, empty if it has none.
	Corpus string
	// Copied is the corpus that WriteDocuments writes, empty if it writes none.
	Copied string
	// Missing is the number of brains without a question in the sample, of Brains.
	Missing, Brains int

	dataset      dataset.Dataset
	ids, brains  map[string]bool
	defaultBrain string
}

// Documents says where the documents of the sample are, or warns of a corpus that does not suit it. Both
// are empty without a corpus.
func (s *Subset) Documents() (field, about string) {
	switch {
	case s.Copied != "":
		return "documents", fmt.Sprintf("%s, those of %s", s.Copied, figure.Count(s.Brains-s.Missing, "brain"))
	case s.Corpus != "" && s.Missing > 0:
		return "warning", fmt.Sprintf("%d of %d brains have no question in the sample, and run rejects their documents: "+
			"give --output, and a corpus in JSONL", s.Missing, s.Brains)
	case s.Corpus != "":
		return "documents", "--corpus " + s.Corpus
	}
	return "", ""
}

// noStratum is the stratum of questions without a tag that names one.
const noStratum = "(none)"

// DrawSubset draws questions of a dataset. The stratum of a question is its first tag that begins with
// by, without that. output is where the questions are to be written, empty for stdout; a file that
// would have to be replaced is an error. defaultBrain is the brain of what names none.
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
	brainOf := map[string]string{}
	for q, err := range d.Questions() {
		if err != nil {
			return nil, err
		}
		items = append(items, sample.Item{ID: q.ID, Stratum: stratum(q.Tags, by)})
		brainOf[q.ID] = q.Brain
	}
	drawn, ids, err := sample.Draw(items, config)
	if err != nil {
		return nil, err
	}
	s.Sample = drawn
	for _, id := range ids {
		s.ids[id], s.brains[brainOf[id]] = true, true
	}
	return s, s.planDocuments(output)
}

// stratum returns the stratum of a question with tags.
func stratum(tags []string, by string) string {
	for _, tag := range tags {
		if name, ok := strings.CutPrefix(tag, by); ok {
			return name
		}
	}
	return noStratum
}

// planDocuments returns an error if documents would have to replace a file.
func (s *Subset) planDocuments(output string) error {
	all, err := s.dataset.Brains(nil)
	if err != nil {
		return err
	}
	s.Corpus, s.Brains, s.Missing = dataset.CorpusFor(s.dataset.Path), len(all), len(all)-len(s.brains)
	if s.Missing == 0 || output == "" || !strings.HasSuffix(s.Corpus, ".jsonl") {
		return nil
	}
	s.Copied = corpusOf(output)
	return atomicfile.CheckNew(s.Copied)
}

// WriteQuestions writes the lines of the questions, as they are in the file.
func (s *Subset) WriteQuestions(w io.Writer) error {
	return s.dataset.CopyLines(w, func(q dataset.Question) bool { return s.ids[q.ID] })
}

// WriteDocuments writes the documents of the brains to Copied, if that is not empty.
func (s *Subset) WriteDocuments() error {
	if s.Copied == "" {
		return nil
	}
	return atomicfile.Write(s.Copied, 0o644, func(w io.Writer) error {
		return dataset.CopyDocuments(w, s.Corpus, func(brain string) bool { return s.brains[cmp.Or(brain, s.defaultBrain)] })
	})
}
