package result

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"

	"evalctl/internal/figure"
)

// Selection says which questions of a dataset were asked, and in which order. A nil Selection means
// all of them, in file order.
type Selection struct {
	// Tags select questions with any of them.
	Tags []string `json:"tags,omitempty"`
	// IDs is the number of ids that select questions. IDsOf names the files from which ids were
	// read.
	IDs   int    `json:"ids,omitempty"`
	IDsOf string `json:"ids_of,omitempty"`
	// Grep is a regular expression that the question's text matches.
	Grep string `json:"grep,omitempty"`
	// FailedOf is the result file whose failed questions are asked.
	FailedOf string `json:"failed_of,omitempty"`
	// Limit is the maximum number of questions, 0 for no limit.
	Limit int `json:"limit,omitempty"`
	// Seed is the seed of the shuffled order, nil for file order.
	Seed *uint64 `json:"shuffle_seed,omitempty"`
	// SHA256 identifies the set of the selected ids, in any order.
	SHA256 string `json:"sha256"`
	// Total is the number of questions in the file.
	Total int `json:"total"`
}

// IDsSHA256 identifies a set of question ids, in any order: it is the SHA-256 of the sorted ids,
// joined by line feeds, in hexadecimal.
func IDsSHA256(ids iter.Seq[string]) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(ids), "\n")))
	return hex.EncodeToString(sum[:])
}

// Partial reports whether some questions of the dataset were left out.
func (s *Selection) Partial(selected int) bool { return s != nil && selected < s.Total }

// Questions returns the number of different questions.
func (d DatasetID) Questions() int { return d.Selected / max(1, d.Repeats) }

// String describes the selection in one line.
func (s *Selection) String() string {
	if s == nil {
		return "all questions"
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if len(s.Tags) > 0 {
		add("tags %s", strings.Join(s.Tags, ", "))
	}
	switch {
	case s.IDs > 0 && s.IDsOf != "":
		add("%s of %s", figure.Count(s.IDs, "id"), s.IDsOf)
	case s.IDs > 0:
		add("%s", figure.Count(s.IDs, "id"))
	}
	if s.Grep != "" {
		add("text matches %q", s.Grep)
	}
	if s.FailedOf != "" {
		add("failed in %s", s.FailedOf)
	}
	if s.Seed != nil {
		add("shuffled with seed %d", *s.Seed)
	}
	if s.Limit > 0 {
		add("at most %d", s.Limit)
	}
	return strings.Join(parts, ", ")
}
