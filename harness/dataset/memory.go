package dataset

import (
	"iter"
	"slices"
)

// FromQuestions returns a dataset of questions read from a file in another format, at path and with
// this SHA-256. Each must have a brain and a unique id. All are selected.
func FromQuestions(path, sha256 string, questions []Question) (Dataset, error) {
	d := Dataset{
		Path: path, SHA256: sha256, Total: len(questions), Selected: len(questions),
		Tags: map[string]int{}, brains: map[string]*brainQuestions{}, memory: slices.Clone(questions),
	}
	for _, q := range questions {
		if err := d.assign(q); err != nil {
			return Dataset{}, err
		}
		d.add(q)
	}
	return d, nil
}

func fromMemory(questions []Question) iter.Seq2[Question, error] {
	return func(yield func(Question, error) bool) {
		for _, q := range questions {
			if !yield(q, nil) {
				return
			}
		}
	}
}
