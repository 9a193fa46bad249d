package imports

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/decimal"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// statedKeys are the keys for totals in files, by figure.
var statedKeys = map[string][]string{
	statedTotal:   {"total", "total_questions", "total_queries", "question_count", "totalQuestions"},
	statedJudged:  {"evaluated_count"},
	statedCorrect: {"correct", "correct_count", "correctCount", "correct_answers", "successes"},
	statedRate:    {"accuracy", "accuracy_percentage", "overall", "overall_accuracy", "overall_avg_llm_score"},
}

// The totals that files state.
const (
	statedTotal   = "total"
	statedJudged  = "judged"
	statedCorrect = "correct"
	statedRate    = "rate"
)

// statedParts are the keys of objects that contain totals.
var statedParts = []string{"results", "summary", "metrics", "overall", "overall_summary", "stats"}

// statedIn returns the totals stated in a file, in order of their places. Totals over parts of its
// answers are left out.
func statedIn(c *content) (out []result.StatedTotal) {
	root, ok := c.value.(map[string]any)
	if !ok {
		return nil
	}
	look := func(object map[string]any, prefix string) {
		for figure, keys := range statedKeys {
			for _, key := range keys {
				n, ok := object[key].(json.Number)
				if !ok || key == "overall" && restricted(root) {
					continue
				}
				if v, err := decimal.Parse(n.String()); err == nil {
					out = append(out, result.StatedTotal{Path: c.path, Place: prefix + key, Figure: figure, InFile: v})
				}
			}
		}
	}
	look(root, "$.")
	for _, key := range statedParts {
		part, ok := root[key].(map[string]any)
		if !ok {
			continue
		}
		look(part, "$."+key+".")
		if stats, ok := part["stats"].(map[string]any); ok {
			look(stats, "$."+key+".stats.")
		}
	}
	slices.SortFunc(out, func(a, b result.StatedTotal) int { return strings.Compare(a.Place, b.Place) })
	return out
}

// restricted reports whether a file says that its overall rate is over a part of its answers, such
// as ironmem's "categories 1-4 (adversarial excluded)".
func restricted(root map[string]any) bool {
	scope, _ := root["overall_scope"].(string)
	scope = strings.ToLower(strings.TrimSpace(scope))
	return scope != "" && !strings.HasPrefix(scope, "all")
}

// count adds the actual totals of the file's answers under a voting rule.
func count(stated []result.StatedTotal, answers []answer, rule result.VoteRule) []result.StatedTotal {
	out := slices.Clone(stated)
	judged, passed, sum := 0, 0, 0.0
	for i := range answers {
		a := &answers[i]
		if len(a.votes) == 0 {
			continue
		}
		judged++
		score, _ := rule.Score(a.votes)
		sum += score
		if score >= scorer.PassMark {
			passed++
		}
	}
	for i := range out {
		s, digits := &out[i], resolution(out[i].InFile)
		switch s.Figure {
		case statedTotal:
			// Some authors count all questions, others only the judged ones.
			s.Counted = float64(len(answers))
			if s.InFile == float64(judged) {
				s.Counted = s.InFile
			}
		case statedJudged:
			s.Counted = float64(judged)
		case statedCorrect:
			s.Counted = float64(passed)
		case statedRate:
			if judged > 0 {
				s.Counted = float64(passed) / float64(judged)
			}
			mean := sum / float64(max(1, judged))
			scale := 1.0
			if s.InFile > 1 {
				scale = 100
			}
			s.Counted *= scale
			digits = min(digits, halfPoint*scale)
			// For scores between 0 and 1, some authors publish the share that passes, others the
			// mean.
			if rule == result.VotesMean || rule == "" && math.Abs(mean*scale-s.InFile) <= digits {
				s.Counted = mean * scale
			}
		}
		s.Agrees = math.Abs(s.Counted-s.InFile) <= digits
	}
	return out
}

// halfPoint is how far a stated rate may be from the answers, however few digits it has: in
// whole numbers, 1 would agree with every rate from one half.
const halfPoint = 0.005 * (1 + 1e-6)

// resolution is half a unit of a number's last digit, but at least the noise of sums.
func resolution(v float64) float64 {
	const least, most = 1e-9, 8
	unit := 1.0
	for range most {
		if math.Abs(v/unit-math.Round(v/unit)) < 1e-6 {
			return max(least, unit/2*(1+1e-6))
		}
		unit /= 10
	}
	return 1e-7
}

// voteRule returns the rule that turns votes into verdicts: the wanted one, or else the one that
// reproduces the files' totals, or else the mean, which most authors publish.
func voteRule(files []fileAnswers, wanted result.VoteRule) result.VoteRule {
	several := false
	for _, f := range files {
		several = several || slices.ContainsFunc(f.answers, func(a answer) bool { return len(a.votes) > 1 })
	}
	switch {
	case !several:
		return ""
	case wanted != "":
		return wanted
	}
	for _, rule := range voteRules() {
		decided := false
		agrees := true
		for _, f := range files {
			for _, s := range count(f.totals, f.answers, rule) {
				if s.Figure == statedRate || s.Figure == statedCorrect {
					decided, agrees = true, agrees && s.Agrees
				}
			}
		}
		if decided && agrees {
			return rule
		}
	}
	return result.VotesMean
}

// addCost adds the stated cost of an answer, in dollars, nil for none.
func addCost(im *result.ImportSource, usd *float64) {
	if usd == nil {
		return
	}
	if im.StatedCost == nil {
		im.StatedCost = &result.StatedCost{}
	}
	im.StatedCost.USD = im.StatedCost.USD.Plus(llm.USD(math.Round(*usd * float64(llm.Dollar))))
	im.StatedCost.Answers++
}
