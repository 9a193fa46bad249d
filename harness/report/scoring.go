package report

import (
	"fmt"
	"strings"

	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/scorer"
)

// returnedText describes the size and the value of the returned text, nil if unknown.
func returnedText(r *result.Retrieval) []string {
	b := r.Returned
	if b == nil {
		return nil
	}
	parts := []string{fmt.Sprintf("%.0f words, %.0f tokens a question", b.Words, b.Tokens)}
	if v := b.RecallPer1000Tokens; v != nil {
		parts = append(parts, fmt.Sprintf("recall %.3f per 1,000 tokens", *v))
	}
	return parts
}

// floorName formats the floor: "floor 0.9, the default", or "no floor".
func floorName(g *result.Gate) string { return wording.FloorName(g.FloorFrom, g.Floor) }

// importSummary says in one line where the answers come from and how they were used.
func importSummary(im *result.ImportSource) string {
	var files []string
	for _, f := range im.Files {
		files = append(files, fmt.Sprintf("%s (%s, sha256 %.8s…)", f.Path, f.Format, f.SHA256))
	}
	return fmt.Sprintf("%s: %s, %d without a question, %s without an answer, %d with another gold",
		strings.Join(files, ", "), figure.Count(im.Answers, "answer"), len(im.Unmatched), figure.Count(len(im.Unanswered), "question"), len(im.GoldDiffers))
}

// leaksText lists the places where forbidden texts came back, with the numbers of questions.
func leaksText(f *result.LeakFigures) string {
	var parts []string
	for _, p := range result.Places() {
		if n := f.Places[p]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", p, n))
		}
	}
	return fmt.Sprintf("forbidden texts came back in %s: %s", figure.Count(f.Questions, "question"), strings.Join(parts, ", "))
}

// passedText says when a question of the run passed.
func passedText(r *result.Result) string {
	id := &r.Identity
	text := fmt.Sprintf("a score of at least %v", scorer.PassMark)
	kind, err := scorer.Find(id.Scorer)
	switch {
	case id.External != nil:
		text += " by the external scorer"
	case err != nil:
	case kind.Needs == scorer.NeedGold && r.GoldBy() == result.ByEvidence:
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

// groundedText says how many passing answers are grounded in retrieved text.
func groundedText(r *result.Result) string {
	return fmt.Sprintf("%d of %d passing answers (quote found), %d by id only",
		r.Grounded, r.Passed, r.GroundedIDsOnly)
}

// metricName returns the usual spelling of a metric's name: "nDCG@10".
func metricName(name string) string {
	return strings.NewReplacer("mrr", "MRR", "ndcg", "nDCG", "map", "MAP").Replace(name)
}

// clustersOf returns the name of the clusters of the intervals of r, which is content of the file.
// It is empty if questions are independent.
func clustersOf(r *result.Retrieval) string {
	if r.Basis == nil {
		return ""
	}
	return r.Basis.Cluster
}

// verdictWords returns the verdict of a comparison with a baseline as a phrase: "not worse".
func verdictWords(v result.BaselineVerdict) string { return strings.ReplaceAll(string(v), "_", " ") }
