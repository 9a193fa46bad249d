package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// leaksOf lists the leaks of a question with their places.
func leaksOf(r *result.Record) string {
	var parts []string
	for _, l := range r.Leaks {
		parts = append(parts, fmt.Sprintf("%q in %s (%s)", l.Text, l.Place, l.At))
	}
	return strings.Join(parts, "; ")
}

// retrievedInstead lists the documents that were retrieved instead of gold missing among the first
// topK, in order and with their ranks: "1 a.md, 3 b.md". It is empty if no gold is missing, and
// "nothing" if no document was retrieved. The names are foreign text.
func retrievedInstead(r *result.Record, topK int) string {
	if r.Retrieval == nil || r.Passed || r.Outcome == result.Errored {
		return ""
	}
	bare := func(path string) string { return strings.TrimPrefix(path, result.SeedRoot) }
	ranks, paths := map[int]bool{}, map[string]bool{}
	missing := false
	for _, g := range r.Retrieval.Gold {
		ranks[g.Rank], paths[bare(g.Path)] = true, true
		missing = missing || g.Rank < 1 || g.Rank > topK
	}
	if !missing {
		return ""
	}
	var out []string
	seen := map[string]bool{}
	for _, c := range r.Retrieved[:min(topK, len(r.Retrieved))] {
		name := cmp.Or(c.Path, c.DocumentID, c.Title, c.ChunkID)
		if seen[name] {
			continue
		}
		seen[name] = true
		// A daemon may report gold under another path than the dataset, or as a duplicate.
		gold := func(path string) bool { return paths[bare(path)] }
		if !ranks[len(seen)] && !gold(c.Path) && !slices.ContainsFunc(c.Duplicates, gold) {
			out = append(out, fmt.Sprintf("%d %s", len(seen), name))
		}
	}
	if len(seen) == 0 && r.Retrieval.Documents == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

// wantedText returns what the scorer with that name compares the answer with, or else what the
// question has. An unknown scorer needs a reference. It is foreign text.
func wantedText(r *result.Record, scorerName string) string {
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

// ranksOfGold lists the ranks of the gold documents: "rank 2, not retrieved". It is empty without a
// ranking.
func ranksOfGold(r *result.Record) string {
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
