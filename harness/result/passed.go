package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evalctl/scorer"
)

// PassedText says when a question of the run passed.
func (r *Result) PassedText() string {
	id := &r.Identity
	text := fmt.Sprintf("a score of at least %v", scorer.PassMark)
	kind, err := scorer.Find(id.Scorer)
	switch {
	case id.External != nil:
		text += " by the external scorer"
	case err != nil:
	case kind.Needs == scorer.NeedGold && r.GoldBy() == ByEvidence:
		text += fmt.Sprintf(", which is the share of the expected evidence that the first %d passages have", id.TopK)
	case kind.Needs == scorer.NeedGold:
		text += fmt.Sprintf(", which is the share of the expected documents among the first %d", id.TopK)
	case kind.Name == (scorer.Order{}).Name():
		text += ", which is " + kind.Help + ": (tau + 1)/2"
	case kind.Needs == scorer.NeedChecks:
		text += ", which is 1 if all checks of the question hold, else 0; of checks with weights, the weight of those that hold"
	case kind.Needs == scorer.NeedExpected:
		text += ", which is 1 if the answer contains an expected text, else 0"
	case kind.Prompts == nil:
		text += ", which is " + kind.Help
	default:
		text += " by the judge"
	}
	return text
}

// RetrievedInstead lists the documents that were retrieved instead of gold missing among the first
// topK, in order and with their ranks: "1 a.md, 3 b.md". It is empty if no gold is missing, and
// "nothing" if no document was retrieved. The names are foreign text.
func (r *Record) RetrievedInstead(topK int) string {
	if r.Retrieval == nil || r.Passed || r.Outcome == Errored {
		return ""
	}
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

// bare removes the folder of the corpus from a path.
func bare(path string) string { return strings.TrimPrefix(path, SeedRoot) }
