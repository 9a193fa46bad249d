package wording

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/scorer"
)

// Depth says at how many passages the rankings of a run were cut off and how many came, empty if
// unknown.
func Depth(r *result.Result) string {
	if r.Retrieval == nil || r.Retrieval.Depth == nil {
		return ""
	}
	asked := fmt.Sprintf("top-k %d", r.Identity.TopK)
	if n := r.Identity.MaxPerDocument; n != nil {
		asked += fmt.Sprintf(", max_per_document %d", *n)
	}
	return fmt.Sprintf("%s: %s", asked, r.Retrieval.Depth)
}

// Escaped describes the processes in Result.Escaped.
const Escaped = "processes of the daemon that had left its process group and its environment were ended"

// Summary returns the specification's summary line for a run whose result file is at path.
func Summary(r *result.Result, path string) string {
	more := ""
	if r.Votes != nil && r.Identity.Scorer == scorer.Imported {
		more = fmt.Sprintf(" rate=%.4f (%s of %d votes)", r.Votes.Rate, r.Votes.Rule, len(r.Votes.Rates))
	}
	if len(r.Suspect) > 0 {
		more += " suspect"
	}
	return fmt.Sprintf("%s: %d/%d pass_rate=%s mean_score=%s%s -> %s",
		r.SDK, r.Passed, r.Total, rate(r.PassRate), rate(r.MeanScore), more, path)
}

func rate(f *float64) string {
	if f == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.3f", *f)
}

// TypeMean returns the unweighted mean of the pass rates of the question types, as in
// LongMemEval's task-averaged accuracy. It is empty if fewer than two types have questions that
// count.
func TypeMean(r *result.Result) string {
	sum, n := 0.0, 0
	for _, tag := range slices.Sorted(maps.Keys(r.Tags)) {
		if f := r.Tags[tag]; strings.HasPrefix(tag, "type:") && f.Total > 0 {
			sum += float64(f.Passed) / float64(f.Total)
			n++
		}
	}
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("%.3f  mean of the pass rates of %d types, each with the same weight", sum/float64(n), n)
}

// Votes describes the pass rate of answers with several judgements, and how far the judge
// contradicts itself.
func Votes(v *result.VoteFigures) string {
	if len(v.Rates) == 0 {
		return "none"
	}
	low, high := slices.Min(v.Rates), slices.Max(v.Rates)
	return fmt.Sprintf("%.4f by the %s of %d; mean %.4f, majority %.4f, first %.4f; the judge alone moves the rate "+
		"from %.4f to %.4f, and contradicts itself on %d of %s", v.Rate, v.Rule, len(v.Rates), v.Mean, v.Majority, v.First, low, high,
		v.Split, figure.Count(v.Answers, "answer"))
}

// Place returns the path of a chunk, or else the id of its document or its own. It is foreign text.
func Place(c result.Chunk) string { return cmp.Or(c.Path, c.DocumentID, c.ChunkID) }
