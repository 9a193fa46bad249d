package harness

import (
	"context"
	"fmt"
	"slices"

	"evalctl/harness/dataset"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
)

// StoredAnswers is a pipeline.Asker that returns the answers in a result file, for scoring them
// again without a daemon. Failed questions fail again with the same error. It is safe for
// concurrent use.
type StoredAnswers struct {
	// Result is the result with the answers.
	Result result.Result
	// SHA256 is the digest of the file.
	SHA256  string
	records []result.Record
	byID    map[result.AskedID]int // an index of records
}

// OpenStored reads a result file into memory. It rejects a run that stopped early or left questions
// unasked, and a replay, whose judging needs more than the records.
func OpenStored(path string) (*StoredAnswers, error) {
	r, err := resultfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := &StoredAnswers{Result: r.Result(), byID: map[result.AskedID]int{}}
	if s.SHA256, err = r.SHA256(); err != nil {
		return nil, err
	}
	switch res := s.Result; {
	case res.Replay != nil:
		return nil, fmt.Errorf("%s is the result of a replay; run evalctl replay again with the other judge: "+
			"its cache has the answers", path)
	case res.Stopped != "":
		return nil, fmt.Errorf("%s is the result of a run that stopped (%s) after %d of %d questions; resume it first",
			path, res.Stopped, res.Counts.Finished(), res.Planned)
	case res.Counts.NoGold > 0:
		return nil, fmt.Errorf("%s has no answers to %d of %d questions, which were not asked for lack of gold; "+
			"evaluate again, with the other scorer", path, res.Counts.NoGold, res.Planned)
	}
	for rec, err := range r.Questions() {
		if err != nil {
			return nil, err
		}
		s.byID[rec.Asked()] = len(s.records)
		s.records = append(s.records, rec)
	}
	return s, nil
}

// Questions returns the distinct questions of the file as they were asked.
func (s *StoredAnswers) Questions() []dataset.Question {
	var out []dataset.Question
	for _, r := range s.records {
		if r.Repeat > 1 {
			continue
		}
		brain := r.Brain
		if brain == "" {
			brain = s.Result.Identity.Brain
			if len(s.Result.Brains) == 1 {
				brain = s.Result.Brains[0].ID
			}
		}
		out = append(out, dataset.Question{
			ID: r.ID, Question: r.Question, ExpectedSubstrings: r.Expected, ReferenceAnswer: r.Reference,
			QuestionDate: r.QuestionDate, ExpectedPaths: r.ExpectedPaths, ExpectedGrades: r.ExpectedGrades, ExpectedEvidence: r.ExpectedEvidence,
			Checks: r.CheckDefinitions(), Tags: r.Tags, Brain: brain,
			Forbidden: r.Forbidden, MustCite: r.MustCite,
			Line: r.Line, Type: r.Type, JudgeType: r.JudgeType,
		})
	}
	return out
}

// OmitUnknownEvidence removes the expected evidence of questions with an imported answer if it
// is unknown which evidence came back. Files of earlier versions, and datasets, expect it all
// the same.
func (s *StoredAnswers) OmitUnknownEvidence(questions []dataset.Question) {
	if s.Result.Imported == nil {
		return
	}
	first := min(1, s.Result.Identity.Dataset.Repeats)
	for i := range questions {
		if at, ok := s.byID[result.AskedID{ID: questions[i].ID, Repeat: first}]; !ok || !s.records[at].HasTexts() {
			questions[i].ExpectedEvidence = nil
		}
	}
}

// Ask implements pipeline.Asker.
func (s *StoredAnswers) Ask(_ context.Context, j pipeline.Job) (result.Record, error) {
	was, err := s.Record(j.Question)
	if err != nil {
		return was, err
	}
	rec := pipeline.Unscored(j.Question, was.Reply)
	rec.Citations = slices.Clone(rec.Citations)
	if listed := was.Outcome != result.Errored || len(was.Retrieved) > 0; listed && !s.Result.Mapped.Unretrieved() {
		rec.CompareEvidence(max(1, s.Result.Identity.TopK))
	}
	switch was.Outcome {
	case result.Errored:
		rec.Outcome, rec.Error = was.Outcome, was.Error
	case result.NotMeasurable:
		rec.Outcome, rec.Reason = was.Outcome, was.Reason
	}
	rec.Brain, rec.Haystack = was.Brain, was.Haystack
	if first := was.FirstTry; first != nil && first.Outcome == result.Errored {
		rec.Tries, rec.FirstTry = was.Tries, first // others failed at the earlier scorer
	}
	return rec, nil
}

// Record returns the record of a question in the file.
func (s *StoredAnswers) Record(q dataset.Question) (result.Record, error) {
	i, ok := s.byID[result.AskedID{ID: q.ID, Repeat: q.Repeat}]
	if !ok {
		return result.Record{}, fmt.Errorf("question %q has no stored answer", q.ID)
	}
	return s.records[i], nil
}
