package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/internal/figure"
)

// fewClusters is the number of clusters below which clustered standard errors are too small.
const fewClusters = 20

// notes returns the caveats for reading the figures of c.
func notes(c *Comparison, runs []*Run, a *alignment) []string {
	n := &noteList{list: []string{}}
	n.questions(c)
	n.unrecorded(c)
	sides := make([]string, len(c.Runs))
	for i, r := range c.Runs {
		sides[i] = r.Name
	}
	names := fileNames(runs, sides)
	for i, r := range filesOf(runs) {
		n.run(names[i], r)
		for j, other := range filesOf(runs)[:i] {
			if sameRun(r, other) {
				n.add("%s and %s have the answers of one run", names[j], names[i])
			}
		}
	}
	for _, p := range c.Pairs {
		if p.Unscored > 0 {
			n.add("%s and %s: %s left out, unscored in one of them",
				c.Runs[p.Run].Name, c.Runs[p.Reference].Name, figure.Count(p.Unscored, "pair"))
		}
	}
	if c.Repeated {
		n.add("questions were asked several times: means over the repeats of a question are compared, by a sign-flip test")
	}
	if !documentsAlike(runs) {
		n.add("measures of documents are not compared: some results know the documents of passages by their ids, others by their texts")
	}
	n.single(c, runs)
	if c.ClusterDefault {
		n.add("questions of one %s count as alike, as the results record them: --cluster none takes all as independent", c.ClusterTag)
	}
	if c.ClusterTag != "" {
		n.clusters(c, a)
	}
	n.tags(c)
	n.latencies(c, runs)
	return n.list
}

type noteList struct{ list []string }

func (n *noteList) add(format string, args ...any) {
	n.list = append(n.list, fmt.Sprintf(format, args...))
}

// single notes that a difference between single runs may be due to the runs.
func (n *noteList) single(c *Comparison, runs []*Run) {
	for i := range c.Pairs {
		p := &c.Pairs[i]
		one := len(runs[p.Run].files()) == 1 && len(runs[p.Reference].files()) == 1
		if one && c.Headlined(p) && slices.ContainsFunc(c.Claims(p), Claim.Shown) {
			n.add("the difference is shown for these runs only: one run per side does not tell how much further runs would " +
				"differ; give several, as NAME=FILE,FILE,…")
			return
		}
	}
}

func (n *noteList) questions(c *Comparison) {
	q := c.Questions
	if q.Intersected {
		var parts []string
		for i, ids := range q.LeftOut {
			if len(ids) > 0 {
				parts = append(parts, fmt.Sprintf("%d of %s", len(ids), c.Runs[i].Name))
			}
		}
		n.add("only the %s that all runs have are compared; left out: %s",
			figure.Count(q.Compared, "question"), strings.Join(parts, ", "))
	}
	for _, excluded := range []struct {
		n   int
		why string
	}{
		{q.WithoutGold, "not asked for lack of gold"},
		{q.NotMeasurable, "not asked of some run, whose target lacks an operation"},
		{q.Unjudged, "without a verdict in some run"},
	} {
		if excluded.n > 0 {
			n.add("%s left out, %s", figure.Count(excluded.n, "question"), excluded.why)
		}
	}
	if c.Tag != "" {
		n.add("only the %s with the tag %s are compared", figure.Count(q.Selected, "question"), c.Tag)
	}
	for _, r := range c.Runs {
		if r.Selection != "" {
			n.add("%s asked a selection: %s", r.Name, r.Selection)
		}
	}
}

// unrecorded notes which runs cannot be checked.
func (n *noteList) unrecorded(c *Comparison) {
	var names []string
	for _, r := range c.Runs {
		if r.Format == JSONLines {
			names = append(names, r.Name)
		}
	}
	if len(names) > 0 {
		n.add("how these were measured is not recorded, so that only their questions are checked: %s",
			strings.Join(names, ", "))
	}
}

func (n *noteList) run(name string, r *Run) {
	if len(r.ignored) > 0 {
		n.add("%s: keys that are not read: %s", name, strings.Join(slices.Sorted(maps.Keys(r.ignored)), ", "))
	}
	if r.format == JSONLines && !slices.ContainsFunc(r.questions, func(q question) bool { return q.text != "" }) {
		n.add("%s has no texts of questions, so nothing checks that equal ids mean equal questions", name)
	}
	if why := r.invalid(); why != "" {
		n.add("%s is not valid: %s", name, why)
	}
}

func (n *noteList) clusters(c *Comparison, a *alignment) {
	_, k, alone := a.clusters(c.ClusterTag)
	if alone > 0 {
		n.add("%s without a tag %s:… count as clusters of their own", figure.Count(alone, "question"), c.ClusterTag)
	}
	switch {
	case k < Testable:
		n.add("with %s no difference can be shown: %d or more are needed", figure.Count(k, "cluster"), Testable)
	case k < fewClusters:
		n.add("with %s, the clustered intervals of single runs are too narrow; %d or more are needed to trust them",
			figure.Count(k, "cluster"), fewClusters)
	}
}

func (n *noteList) tags(c *Comparison) {
	small, of := 0, "question"
	if c.ClusterTag != "" {
		of = "cluster"
	}
	for _, t := range c.Tags {
		units := t.Questions
		if c.ClusterTag != "" {
			units = 0
			for _, p := range t.Pairs {
				units = max(units, p.Clusters)
			}
		}
		if units < Testable {
			small++
		}
	}
	if small > 0 {
		n.add("%s of fewer than %s not tested: no result on so few could show a difference",
			figure.Count(small, "tag"), figure.Count(Testable, of))
	}
}
