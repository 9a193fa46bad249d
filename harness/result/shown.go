package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evalctl/scorer"
)

// Wanted returns what the scorer with that name compares the answer with, or else what the question
// has. An unknown scorer needs a reference. It is foreign text.
func (r *Record) Wanted(scorerName string) string {
	expected, paths := strings.Join(r.Expected, " | "), strings.Join(r.ExpectedPaths, " | ")
	switch scorer.NeedOf(scorerName) {
	case scorer.NeedChecks:
		var checks []string
		for _, c := range r.Checks {
			checks = append(checks, c.String())
		}
		return strings.Join(checks, " | ")
	case scorer.NeedExpected:
		return cmp.Or(expected, r.Reference, paths)
	case scorer.NeedGold:
		return cmp.Or(strings.Join(r.ExpectedEvidence, " | "), paths, r.Reference, expected)
	}
	return cmp.Or(r.Reference, expected, paths)
}

// GoldRanks lists the ranks of the gold documents: "rank 2, not retrieved". It is empty without a
// ranking.
func (r *Record) GoldRanks() string {
	if r.Retrieval == nil {
		return ""
	}
	var parts []string
	for _, g := range r.Retrieval.Gold {
		if g.Rank > 0 {
			parts = append(parts, fmt.Sprintf("rank %d", g.Rank))
		} else {
			parts = append(parts, "not retrieved")
		}
	}
	return strings.Join(parts, ", ")
}

// IsGold reports whether a chunk is from an expected document. Some daemons send a path as the id
// of the document.
func (r *Record) IsGold(c Chunk) bool {
	return slices.ContainsFunc(append([]string{c.Path, c.DocumentID}, c.Duplicates...), func(document string) bool {
		return document != "" && slices.ContainsFunc(r.ExpectedPaths, func(path string) bool {
			return strings.TrimPrefix(document, SeedRoot) == strings.TrimPrefix(path, SeedRoot)
		})
	})
}

// Place returns the path of a chunk, or else the id of its document or its own. It is foreign text.
func (c Chunk) Place() string { return cmp.Or(c.Path, c.DocumentID, c.ChunkID) }

// MetricName returns the usual spelling of a metric's name: "nDCG@10".
func MetricName(name string) string {
	return strings.NewReplacer("mrr", "MRR", "ndcg", "nDCG", "map", "MAP").Replace(name)
}
