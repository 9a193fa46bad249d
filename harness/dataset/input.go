package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/scorer"
)

// NoCorpus is the value of Spec.Corpus for no corpus.
const NoCorpus = "none"

// Spec says which questions to ask about which documents.
type Spec struct {
	Path string
	// Corpus is a folder or a file of documents. If empty, CorpusFor determines it; NoCorpus means
	// none.
	Corpus string
	// Options are the options for Open. Check may be nil.
	Options
}

// Input is the questions and documents of a run. After an error it has what could be read.
type Input struct {
	Dataset Dataset
	Corpus  *Corpus // nil for none
	Brains  []Brain
	// Gold is set by CheckGold.
	Gold GoldReport
	// Doubts are set by Validate.
	Doubts []result.Warning
	// Needs count the selected questions.
	Needs Needs
}

// Load reads a dataset and its corpus. A question rejected by s.Check is an error.
func Load(s Spec) (Input, error) {
	var in Input
	check := s.Check
	s.Check = func(q Question) error {
		in.Needs.Add(q.Item())
		if check == nil {
			return nil
		}
		return check(q)
	}
	var err error
	if in.Dataset, err = Open(s.Path, s.Options); err != nil {
		return in, err
	}
	if in.Corpus, err = s.OpenCorpus(); err != nil {
		return in, err
	}
	in.Brains, err = in.Dataset.Brains(in.Corpus)
	return in, err
}

// OpenCorpus reads the corpus, nil if there is none.
func (s Spec) OpenCorpus() (*Corpus, error) {
	path := s.Corpus
	if path == "" {
		path = CorpusFor(s.Path)
	}
	if path == "" || path == NoCorpus {
		return nil, nil
	}
	corpus, err := LoadCorpus(path)
	if err != nil {
		return nil, err
	}
	return &corpus, nil
}

// CheckGold sets Gold for a ranking of topK passages; see the function CheckGold.
func (in *Input) CheckGold(topK int) (err error) {
	in.Gold, err = CheckGold(in.Dataset, in.Brains, topK)
	return err
}

// CheckFile returns an error for a dataset that cannot be read twice. A missing file is reported
// when it is opened.
func CheckFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return fmt.Errorf("--dataset %s is a folder: name the file of questions, such as %s", path, filepath.Join(path, "questions.jsonl"))
	}
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("--dataset %s is not a regular file, and questions are read more than once: "+
			"write them to a .jsonl file", path)
	}
	return nil
}

// LoadFor is Load for answers to be scored by a kind of scorer, whose Check is scores. Questions
// without gold are accepted, since they are left out of the score. The error suggests a scorer that
// suits the dataset better.
func LoadFor(s Spec, kind scorer.Kind, scores func(scorer.Item) error) (Input, error) {
	check := s.Check
	s.Check = func(q Question) error {
		if check != nil {
			if err := check(q); err != nil {
				return err
			}
		}
		return IgnoreNoGold(scores(q.Item()))
	}
	in, err := Load(s)
	return in, in.Needs.Explain(s.Path, kind, err)
}

// IgnoreNoGold returns nil for scorer.ErrNoGold, and otherwise err.
func IgnoreNoGold(err error) error {
	if errors.Is(err, scorer.ErrNoGold) {
		return nil
	}
	return err
}

// CheckGoldFor is CheckGold for a kind of scorer. If it needs gold, at least one question must have
// it.
func (in *Input) CheckGoldFor(kind scorer.Kind, topK int) error {
	if err := in.CheckGold(topK); err != nil {
		return err
	}
	if kind.Needs != scorer.NeedGold || in.Gold.WithGold > 0 {
		return nil
	}
	others := in.Needs.Others(kind)
	if others != "" {
		others = "; " + others
	}
	return fmt.Errorf("%s: --scorer %s needs %s, which none of %s has: add them%s",
		in.Dataset.Path, kind.Name, kind.Needs, figure.Count(in.Dataset.Selected, "question"), others)
}
