package dataset

import (
	"errors"
	"slices"

	"evalctl/scorer"
)

// Validate loads a dataset and its corpus like a run with a scorer. An empty scorer name checks
// only the format. topK is the run's number of passages.
func Validate(s Spec, name string, topK int) (Input, error) {
	if err := CheckFile(s.Path); err != nil {
		return Input{}, err
	}
	var kind scorer.Kind
	load := func() (Input, error) { return Load(s) }
	if name != "" {
		var err error
		if kind, err = scorer.Find(name); err != nil {
			return Input{}, err
		}
		load = func() (Input, error) { return LoadFor(s, kind, checker(kind, topK).Check) }
	}
	in, err := load()
	if err == nil {
		err = in.CheckGoldFor(kind, topK)
		var wrong error
		in.Doubts, wrong = Doubts(in.Dataset, in.Brains, kind.Needs)
		return in, errors.Join(err, wrong)
	}
	if in.Dataset.Path == "" { // the corpus has not been read
		_, wrong := s.OpenCorpus()
		err = errors.Join(err, wrong)
	}
	return in, err
}

// checker returns a scorer that is used only for its Check.
func checker(k scorer.Kind, topK int) scorer.Scorer {
	if k.Offline != nil {
		return k.Offline(scorer.Options{TopK: topK})
	}
	return new(scorer.Judge)
}

// Report says whether a dataset can be used, and what is wrong with it. Its JSON is the output of
// evalctl dataset check --json.
type Report struct {
	Dataset  string    `json:"dataset"`
	Valid    bool      `json:"valid"`
	Errors   []Problem `json:"errors"`
	Warnings []string  `json:"warnings"`
	// The fields below are missing if the dataset cannot be read.
	Questions int                 `json:"questions,omitempty"`
	SHA256    string              `json:"sha256,omitempty"`
	Has       map[scorer.Need]int `json:"has,omitempty"`
	Tags      map[string]int      `json:"tags,omitempty"`
	Corpus    string              `json:"corpus,omitempty"`
	Documents int                 `json:"documents,omitempty"`
	Brains    []ReportBrain       `json:"brains,omitempty"`
	Unknown   map[string]int      `json:"unknown_fields,omitempty"`
	// Description is missing if the dataset cannot be used.
	Description *Description `json:"description,omitempty"`
}

// ReportBrain is a brain of a Report.
type ReportBrain struct {
	Name      string `json:"name"`
	Questions int    `json:"questions"`
	Documents int    `json:"documents"`
}

// Problem is one error in a dataset or corpus. Line is 0 if it does not concern a single line.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

// Report returns the report of the dataset at path, whose Validate returned err. warnings come
// before the warnings about gold. d is nil for a dataset that cannot be used.
func (in Input) Report(path string, warnings []string, d *Description, err error) Report {
	r := Report{
		Dataset: path, Valid: err == nil, Errors: problems(err), Warnings: append([]string{}, warnings...),
		Questions: in.Dataset.Total, SHA256: in.Dataset.SHA256, Has: in.Needs.Has,
		Tags: in.Dataset.Tags, Unknown: in.Dataset.Unknown,
		Description: d,
	}
	if in.Corpus != nil {
		r.Corpus, r.Documents = in.Corpus.Path, len(in.Corpus.Docs)
	}
	for _, w := range slices.Concat(in.Doubts, in.Gold.Warnings) {
		r.Warnings = append(r.Warnings, w.Message)
	}
	for _, b := range in.Brains {
		r.Brains = append(r.Brains, ReportBrain{b.Name, b.Questions, len(b.Docs)})
	}
	return r
}

// problems returns the individual errors joined in err.
func problems(err error) []Problem {
	if err == nil {
		return []Problem{}
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all := []Problem{}
		for _, e := range joined.Unwrap() {
			all = append(all, problems(e)...)
		}
		return all
	}
	if at, ok := errors.AsType[*LineError](err); ok {
		return []Problem{{File: at.File, Line: at.Line, Message: at.Err.Error()}}
	}
	return []Problem{{Message: err.Error()}}
}
