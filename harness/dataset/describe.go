package dataset

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"evalctl/internal/stats"
	"evalctl/scorer"
)

// Description has figures about a dataset and its corpus. Its JSON is part of the output of evalctl
// dataset check --json.
type Description struct {
	Dataset   string              `json:"dataset"`
	SHA256    string              `json:"sha256"`
	Questions int                 `json:"questions"`
	Has       map[scorer.Need]int `json:"has"`
	Length    *Spread             `json:"question_characters"`
	Reference *Spread             `json:"reference_characters"`
	Gold      *Spread             `json:"gold_per_question"` // of questions with gold
	Dated     int                 `json:"dated"`
	First     string              `json:"first_date,omitempty"`
	Last      string              `json:"last_date,omitempty"`
	Tags      map[string]int      `json:"tags"`
	Corpus    *Documents          `json:"corpus,omitempty"`
	Brains    int                 `json:"brains"`
}

// Documents has the figures of a corpus.
type Documents struct {
	Path      string  `json:"path"`
	SHA256    string  `json:"sha256"`
	Documents int     `json:"documents"`
	Bytes     int     `json:"bytes"`
	Length    *Spread `json:"document_characters"`
	PerBrain  *Spread `json:"documents_per_brain"`
	// Gold is the number of documents expected by some question.
	Gold int `json:"gold"`
}

// Spread summarises numbers. It is nil for none.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	Max    float64 `json:"max"`
	Mean   float64 `json:"mean"`
}

// spreadOf summarises values, which it sorts.
func spreadOf(values []float64) *Spread {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return &Spread{
		Min: values[0], Median: stats.Percentile(values, 0.5), P95: stats.Percentile(values, 0.95),
		Max: values[len(values)-1], Mean: sum / float64(len(values)),
	}
}

// Describe reads the questions again and computes the figures.
func (in Input) Describe() (Description, error) {
	d := in.Dataset
	s := Description{
		Dataset: d.Path, SHA256: d.SHA256, Questions: d.Total, Has: in.Needs.Has, Tags: d.Tags,
		Brains: len(in.Brains),
	}
	var length, reference, gold []float64
	paths, used := PathsByBrain(in.Brains), map[goldUse]bool{}
	for q, err := range d.Questions() {
		if err != nil {
			return s, err
		}
		length = append(length, characters(q.Question))
		if q.ReferenceAnswer != "" {
			reference = append(reference, characters(q.ReferenceAnswer))
		}
		if n := len(q.ExpectedPaths); n > 0 {
			gold = append(gold, float64(n))
		}
		for _, path := range q.ExpectedPaths {
			if known := paths[q.Brain]; known.Has(known.Gold(path)) {
				used[goldUse{q.Brain, known.Gold(path)}] = true
			}
		}
		s.addDate(q.QuestionDate)
	}
	s.Length, s.Reference, s.Gold = spreadOf(length), spreadOf(reference), spreadOf(gold)
	if in.Corpus != nil {
		s.Corpus = in.describeCorpus(len(used))
	}
	return s, nil
}

// addDate counts the date of a question, if any. Days are compared as written in the dataset.
func (s *Description) addDate(date string) {
	if date == "" {
		return
	}
	s.Dated++
	day := date[:len("2025-03-14")]
	s.First = min(cmp.Or(s.First, day), day)
	s.Last = max(s.Last, day)
}

func (in Input) describeCorpus(gold int) *Documents {
	c := &Documents{
		Path: in.Corpus.Path, SHA256: in.Corpus.SHA256, Documents: len(in.Corpus.Docs), Gold: gold,
	}
	var length, perBrain []float64
	for _, d := range in.Corpus.Docs {
		c.Bytes += len(d.Data)
		length = append(length, float64(utf8.RuneCount(d.Data)))
	}
	for _, b := range in.Brains {
		perBrain = append(perBrain, float64(len(b.Docs)))
	}
	c.Length, c.PerBrain = spreadOf(length), spreadOf(perBrain)
	return c
}

func characters(text string) float64 { return float64(utf8.RuneCountInString(text)) }
