package bench

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/bench/null"
	"evalctl/harness/bench/record"
	"evalctl/harness/bench/work"
	"evalctl/harness/dataset"
	"evalctl/harness/key"
	"evalctl/harness/result"
)

// Inputs names the input and the targets of a bench.
type Inputs struct {
	Targets []string // as on a command line; null.Name always is one
	Dialect result.Dialect
	// Corpus, Dataset and Baseline are files, empty for none. Corpus defaults to the corpus beside
	// the dataset, if there is one.
	Corpus, Dataset, Baseline string
	// Sizes are the numbers of documents per brain, by default the whole corpus or 1k synthetic
	// documents.
	Sizes string
}

// Configure adds the plan, documents, queries, targets and baseline to c. find returns a target
// other than null. If the baseline has a different plan, the error is key.ErrIncomparable.
func (c *Config) Configure(w Settings, in Inputs, find func(given string) (Target, error)) (err error) {
	w.Queries, w.CorpusName, w.Baseline = "words of the documents", "synthetic", in.Baseline != ""
	c.Documents = work.Synthetic(w.Seed)
	if w.Documents = in.Sizes; w.Documents == "" {
		w.Documents = "1k"
	}
	if in.Corpus == "" && in.Dataset != "" && w.ExistingBrain == "" {
		in.Corpus = dataset.CorpusFor(in.Dataset)
	}
	if in.Corpus != "" && in.Corpus != dataset.NoCorpus {
		corpus, err := dataset.LoadCorpus(in.Corpus)
		if err != nil {
			return err
		}
		c.Documents = work.Corpus(&corpus)
		w.CorpusSize, w.CorpusName, w.CorpusSHA256 = len(corpus.Docs), in.Corpus, corpus.SHA256
		if in.Sizes == "" {
			w.Documents = fmt.Sprint(len(corpus.Docs))
		}
	}
	if in.Dataset != "" {
		if c.Queries, w.QueriesSHA256, err = queriesOf(in.Dataset); err != nil {
			return err
		}
		w.Queries = in.Dataset
	}
	if err := c.findTargets(in, find); err != nil {
		return err
	}
	w.Targets = len(c.Targets) - 1 // null is the last
	w.Calls = slices.ContainsFunc(c.Targets, func(t Target) bool { return t.Calls })
	if c.Plan, err = NewPlan(w); err != nil {
		return err
	}
	if err := c.checkTargets(); err != nil || in.Baseline == "" {
		return err
	}
	c.BaselinePath = in.Baseline
	if c.Baseline, err = record.Read(in.Baseline); err == nil {
		// What the targets lack and the client are not known yet.
		planned := &record.File{Plan: c.Plan, Client: c.Baseline.Client, Targets: c.Baseline.Targets}
		if err = c.sameWork(planned); err != nil {
			err = fmt.Errorf("%w; use the same flags", err)
		}
	}
	if err != nil {
		return fmt.Errorf("--baseline: %w", err)
	}
	return nil
}

// sameWork returns an error unless the bench does the same work as its baseline.
func (c *Config) sameWork(f *record.File) error {
	_, err := key.Check(key.Bench, []*key.File{
		{Name: c.BaselinePath, Leaves: c.Baseline.Settings()}, {Name: "this bench", Leaves: f.Settings()},
	}, nil)
	if err != nil {
		return err
	}
	return nil // err is a pointer, and a nil pointer in an error is not nil
}

// findTargets finds the targets, and adds the null daemon.
func (c *Config) findTargets(in Inputs, find func(given string) (Target, error)) error {
	seen := map[string]bool{null.Name: true}
	for _, given := range in.Targets {
		if given == null.Name {
			continue
		}
		t, err := find(given)
		if err != nil {
			return err
		}
		if seen[t.Name] {
			return fmt.Errorf("--target %s: the name is taken; write NAME=%[1]s with another NAME", t.Name)
		}
		seen[t.Name] = true
		if err := t.Session.Check(); t.Session.Endpoint == "" && err != nil {
			return fmt.Errorf("target %s: %w", t.Name, err)
		}
		if t.Dialect == "" {
			t.Dialect = in.Dialect
		}
		c.Targets = append(c.Targets, t)
	}
	c.Targets = append(c.Targets, Target{Name: null.Name, Null: true, Dialect: in.Dialect})
	return nil
}

// queriesOf returns the distinct texts of a dataset's questions, and its digest.
func queriesOf(path string) (queries []string, digest string, err error) {
	found := map[string]bool{}
	data, err := dataset.Open(path, dataset.Options{
		Naming: dataset.BrainNaming{Default: "bench"},
		Check: func(q dataset.Question) error {
			found[q.Question] = true
			return nil
		},
	})
	return slices.Sorted(maps.Keys(found)), data.SHA256, err
}

// ErrNoAnswers means that no request to a target succeeded.
var ErrNoAnswers = errors.New("no request succeeded")

// FailedError lists the violated requirements.
type FailedError struct{ message string }

func (e *FailedError) Error() string { return e.message }

// Verdict returns nil if all requirements hold. Otherwise it returns ErrNoAnswers, a *FailedError,
// or key.ErrIncomparable if no requirement is violated but some could not be judged.
func Verdict(f *record.File) error {
	if !slices.ContainsFunc(f.Summaries, func(s record.Summary) bool {
		return (!f.Targets[s.Target].Null || len(f.Targets) == 1) && slices.ContainsFunc(s.Ops, func(o record.OpFigures) bool { return o.OK > 0 })
	}) && len(f.Probes) == 0 {
		return ErrNoAnswers
	}
	var failed, unjudged []string
	for _, v := range f.Verdicts {
		switch {
		case v.Unjudged:
			unjudged = append(unjudged, v.Sentence)
		case !v.Held:
			failed = append(failed, v.Sentence)
		}
	}
	switch {
	case len(failed) > 0:
		return &FailedError{strings.Join(append(failed, unjudged...), "\n")}
	case len(unjudged) > 0:
		return fmt.Errorf("%w: %s", key.ErrIncomparable, strings.Join(unjudged, "\n"))
	}
	return nil
}
