package aggregate

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// panelSum adds up the verdicts of recipes.
type panelSum struct {
	// patterns counts the answers by their verdicts: for each recipe passed, failed or unjudged.
	patterns map[string]int
	disputed []disputed
}

// disputed is an answer on which recipes disagree, with its pattern.
type disputed struct {
	id      string
	repeat  int
	pattern string
}

// The verdicts of a pattern.
const (
	passed   = '+'
	failed   = '-'
	unjudged = '?'
)

// add counts a record.
func (s *panelSum) add(r *result.Record) {
	if r.Panel == nil || r.Outcome == result.Errored || !r.Outcome.Counts() {
		return
	}
	pattern := make([]byte, len(r.Panel))
	for i, v := range r.Panel {
		switch {
		case v.Score == nil:
			pattern[i] = unjudged
		case v.Passed:
			pattern[i] = passed
		default:
			pattern[i] = failed
		}
	}
	if s.patterns == nil {
		s.patterns = map[string]int{}
	}
	s.patterns[string(pattern)]++
	if slices.Contains(pattern, passed) && slices.Contains(pattern, failed) {
		s.disputed = append(s.disputed, disputed{r.ID, r.Repeat, string(pattern)})
	}
}

// figures returns the figures of the recipes, nil without a panel. whole is the counts of the run, of
// which answers without any verdict are unscored by every recipe.
func (s *panelSum) figures(recipes []result.Recipe, whole result.Counts) *result.Panel {
	if len(recipes) < 2 {
		return nil
	}
	p := &result.Panel{Headline: recipes[0].Name, Pairs: []result.RecipePair{}, Disputed: []result.Dispute{}}
	for i, r := range recipes {
		n := s.counts(i, whole)
		f := result.RecipeFigures{Recipe: r.Name, Counts: n, PassRate: n.PassRate(), Interval: PassInterval(n)}
		p.Recipes = append(p.Recipes, f)
		if rate := f.PassRate; rate != nil {
			if p.Low == nil || *rate < *p.Low {
				p.Low = rate
			}
			if p.High == nil || *rate > *p.High {
				p.High = rate
			}
		}
		for j := range i {
			p.Pairs = append(p.Pairs, s.pair(recipes, j, i))
		}
	}
	ratings := s.ratings(len(recipes))
	p.Judged = len(ratings)
	p.Fleiss, p.AC1 = coefficient(ratings.Fleiss(confidence)), coefficient(ratings.AC1(confidence))
	for _, d := range s.ordered() {
		p.Disputed = append(p.Disputed, d.dispute(recipes))
	}
	return p
}

// at returns the verdict of a recipe in a pattern.
func at(pattern string, recipe int) byte {
	if recipe < len(pattern) {
		return pattern[recipe]
	}
	return unjudged
}

// counts returns the outcomes by one recipe.
func (s *panelSum) counts(recipe int, whole result.Counts) result.Counts {
	n := whole
	n.Passed, n.Scored = 0, 0
	for pattern, count := range s.patterns {
		switch at(pattern, recipe) {
		case passed:
			n.Passed += count
			n.Scored += count
		case failed:
			n.Scored += count
		}
	}
	n.Unscored = n.Total - n.Errors - n.Scored
	return n
}

// pair returns how two recipes agree.
func (s *panelSum) pair(recipes []result.Recipe, i, j int) result.RecipePair {
	var a stats.Pairs
	for pattern, n := range s.patterns {
		switch x, y := at(pattern, i), at(pattern, j); {
		case x == unjudged || y == unjudged:
		case x == passed && y == passed:
			a.Both += n
		case x == passed:
			a.First += n
		case y == passed:
			a.Second += n
		default:
			a.Neither += n
		}
	}
	p := result.RecipePair{
		First: recipes[i].Name, Second: recipes[j].Name, N: a.N(),
		Kappa: coefficient(a.KappaInterval(confidence)), AC1: coefficient(a.AC1Interval(confidence)),
	}
	if p.N > 0 {
		p.Agreement = new(a.Observed())
	}
	return p
}

// ratings returns the answers that all recipes judged, as counts of failed and passed. Their order
// does not depend on that of the records, so that figures do not either.
func (s *panelSum) ratings(recipes int) stats.Ratings {
	byPassed := make([]int, recipes+1)
	for pattern, count := range s.patterns {
		if yes, no := verdicts(pattern); yes+no == recipes {
			byPassed[yes] += count
		}
	}
	var out stats.Ratings
	for n, count := range byPassed {
		for range count {
			out = append(out, []int{recipes - n, n})
		}
	}
	return out
}

// ordered returns the disputed answers, the most evenly split first, then by id.
func (s *panelSum) ordered() []disputed {
	return slices.SortedFunc(slices.Values(s.disputed), func(a, b disputed) int {
		return cmp.Or(a.split()-b.split(), cmp.Compare(a.id, b.id), a.repeat-b.repeat)
	})
}

// split is how far the verdicts are from an even split.
func (d disputed) split() int {
	yes, no := verdicts(d.pattern)
	return max(yes-no, no-yes)
}

// verdicts counts the recipes that passed and that failed an answer.
func verdicts(pattern string) (yes, no int) {
	return strings.Count(pattern, string(passed)), strings.Count(pattern, string(failed))
}

func (d disputed) dispute(recipes []result.Recipe) result.Dispute {
	out := result.Dispute{ID: d.id, Repeat: d.repeat}
	for i, r := range recipes {
		switch at(d.pattern, i) {
		case passed:
			out.Passed = append(out.Passed, r.Name)
		case failed:
			out.Failed = append(out.Failed, r.Name)
		}
	}
	return out
}

// coefficient returns a coefficient as results have it.
func coefficient(c stats.Coefficient) result.Coefficient {
	var out result.Coefficient
	if !math.IsNaN(c.Value) {
		out.Value = &c.Value
	}
	if !math.IsNaN(c.Lo) {
		out.Interval = &result.Interval{Method: result.MethodLinearised, Confidence: confidence, Low: c.Lo, High: c.Hi}
	}
	return out
}
