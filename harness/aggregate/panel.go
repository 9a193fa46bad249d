package aggregate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// panelSum adds up the verdicts of a panel's recipes.
type panelSum struct {
	// patterns counts the answers by pattern, a string of each recipe's verdict: passed, failed or
	// unjudged. clusters counts them by pattern and by the tags that may name a cluster; each
	// repeated question has one of the kind questionCluster.
	patterns map[string]int
	clusters map[string]map[string]*attempts
	disputed []dispute
}

// questionCluster is the kind of cluster of repeated questions. No tag begins with it.
const questionCluster = "\x00question"

// dispute is an answer on which recipes disagree.
type dispute struct {
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
		s.patterns, s.clusters = map[string]int{}, map[string]map[string]*attempts{}
	}
	s.patterns[string(pattern)]++
	if s.clusters[string(pattern)] == nil {
		s.clusters[string(pattern)] = map[string]*attempts{}
	}
	for _, tag := range clusterTags(*r) {
		count(s.clusters[string(pattern)], tag, r.Passed)
	}
	if r.Repeat > 0 {
		count(s.clusters[string(pattern)], questionCluster+":"+r.ID, r.Passed)
	}
	if slices.Contains(pattern, passed) && slices.Contains(pattern, failed) {
		s.disputed = append(s.disputed, dispute{r.ID, r.Repeat, string(pattern)})
	}
}

// figures returns the figures of res's recipes, nil without a panel. Answers that whole counts and
// no recipe judged are unscored for every recipe. The clusters, of the kind cluster, have all
// questions, and are empty if the questions are independent.
func (s *panelSum) figures(res *result.Result, whole result.Counts, cluster string, clusters map[string]attempts) *result.Panel {
	recipes := res.Identity.Panel
	if len(recipes) < 2 {
		return nil
	}
	p := &result.Panel{Headline: recipes[0].Name, Pairs: []result.RecipePair{}, Disputed: []result.Dispute{}}
	for i, r := range recipes {
		n := s.counts(i, whole)
		f := result.RecipeFigures{Recipe: r.Name, Counts: n}
		if n.Scored > 0 { // without verdicts there is no rate
			f.PassRate, f.Interval = n.PassRate(), s.interval(i, n, clusters)
		}
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
			p.Pairs = append(p.Pairs, s.pair(recipes, j, i, cluster))
		}
	}
	ratings, of := s.ratings(len(recipes), cluster)
	p.Judged = len(ratings)
	p.Fleiss, p.AC1 = coefficient(ratings.Fleiss(of, confidence), of), coefficient(ratings.AC1(of, confidence), of)
	for _, d := range s.ordered() {
		p.Disputed = append(p.Disputed, d.dispute(recipes))
	}
	return p
}

// at returns a recipe's verdict in a pattern.
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

// interval returns the interval of a recipe's pass rate: over the clusters of all questions, or
// Wilson's if they are independent.
func (s *panelSum) interval(recipe int, n result.Counts, clusters map[string]attempts) *result.Interval {
	by := map[string]attempts{}
	for name, all := range clusters {
		of := attempts{asked: all.asked}
		for pattern, judged := range s.clusters {
			if a := judged[name]; a != nil && at(pattern, recipe) == passed {
				of.passed += a.asked
			}
		}
		by[name] = of
	}
	m, asked := meanOf(by)
	if asked < 2 || asked != n.Total {
		return PassInterval(n)
	}
	return clusterInterval(m)
}

// pair returns how far two recipes agree, with intervals over the clusters of a kind, empty for
// none.
func (s *panelSum) pair(recipes []result.Recipe, i, j int, cluster string) result.RecipePair {
	verdicts := map[string][]string{} // the patterns by the two verdicts
	for _, pattern := range slices.Sorted(maps.Keys(s.patterns)) {
		both := string([]byte{at(pattern, i), at(pattern, j)})
		verdicts[both] = append(verdicts[both], pattern)
	}
	var counts [4]int
	of := newClusterLabels(cluster)
	for k, both := range []string{"++", "+-", "-+", "--"} {
		for _, pattern := range verdicts[both] {
			counts[k] += s.patterns[pattern]
			of.add(s.patterns[pattern], s.clusters[pattern])
		}
	}
	a := stats.Pairs{Both: counts[0], First: counts[1], Second: counts[2], Neither: counts[3]}
	p := result.RecipePair{
		First: recipes[i].Name, Second: recipes[j].Name, N: a.N(),
		Kappa: coefficient(a.KappaInterval(of.labels, confidence), of.labels),
		AC1:   coefficient(a.AC1Interval(of.labels, confidence), of.labels),
	}
	if p.N > 0 {
		p.Agreement = new(a.Observed())
	}
	return p
}

// ratings returns the answers that all recipes judged, as counts of failed and passed, and their
// clusters of a kind, nil for an empty one. They are sorted, so that figures do not depend on the
// order of records.
func (s *panelSum) ratings(recipes int, cluster string) (out stats.Ratings, of []int) {
	labels := newClusterLabels(cluster)
	for _, pattern := range slices.Sorted(maps.Keys(s.patterns)) {
		yes, no := verdicts(pattern)
		if yes+no != recipes {
			continue
		}
		for range s.patterns[pattern] {
			out = append(out, []int{no, yes})
		}
		labels.add(s.patterns[pattern], s.clusters[pattern])
	}
	return out, labels.labels
}

// clusterLabels assigns numbers to the clusters of a kind. labels stays nil for an empty one.
type clusterLabels struct {
	kind    string
	labels  []int
	numbers map[string]int
}

func newClusterLabels(kind string) *clusterLabels {
	return &clusterLabels{kind: kind, numbers: map[string]int{}}
}

// add adds labels for n answers. counts has the number of answers in each cluster; the rest form a
// cluster each.
func (l *clusterLabels) add(n int, counts map[string]*attempts) {
	if l.kind == "" {
		return
	}
	in := inClusters(counts, l.kind)
	for _, name := range slices.Sorted(maps.Keys(in)) {
		for range min(n, in[name].asked) {
			l.labels = append(l.labels, l.number(name))
			n--
		}
	}
	for range n {
		l.labels = append(l.labels, l.number(fmt.Sprintf("\x00%d", len(l.numbers))))
	}
}

func (l *clusterLabels) number(name string) int {
	i, ok := l.numbers[name]
	if !ok {
		i = len(l.numbers)
		l.numbers[name] = i
	}
	return i
}

// ordered returns the disputed answers, most evenly split first, then by id.
func (s *panelSum) ordered() []dispute {
	return slices.SortedFunc(slices.Values(s.disputed), func(a, b dispute) int {
		return cmp.Or(a.split()-b.split(), cmp.Compare(a.id, b.id), a.repeat-b.repeat)
	})
}

// split is the distance from an even split.
func (d dispute) split() int {
	yes, no := verdicts(d.pattern)
	return max(yes-no, no-yes)
}

// verdicts counts the recipes that passed and failed an answer.
func verdicts(pattern string) (yes, no int) {
	return strings.Count(pattern, string(passed)), strings.Count(pattern, string(failed))
}

func (d dispute) dispute(recipes []result.Recipe) result.Dispute {
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

// coefficient converts a coefficient for results. of are the clusters of its answers, nil for none.
func coefficient(c stats.Coefficient, of []int) result.Coefficient {
	var out result.Coefficient
	if !math.IsNaN(c.Value) {
		out.Value = &c.Value
	}
	if !math.IsNaN(c.Lo) {
		method := result.MethodLinearised
		if of != nil {
			method = result.MethodLinearisedClusters
		}
		out.Interval = &result.Interval{Method: method, Confidence: confidence, Low: c.Lo, High: c.Hi}
	}
	return out
}
