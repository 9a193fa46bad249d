package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Testable is the smallest number of questions or clusters for which a test can show a difference:
// if all six differ in one direction, p is 1/32 (docs/statistics.md).
const Testable = 6

// compareTags fills in Tags. Tags that select the same questions are merged and tested once. A tag
// with fewer than Testable questions (or clusters, if there are any) is not tested, so that it does
// not weaken other tests.
func (c *Comparison) compareTags(a *alignment, f *families) {
	rows := map[string][]int{}
	for i, row := range a.rows {
		for _, tag := range slices.Compact(slices.Sorted(slices.Values(tagsOf(row)))) {
			rows[tag] = append(rows[tag], i)
		}
	}
	same := map[string][]string{}
	for tag, of := range rows {
		if len(of) > 1 {
			selected := fmt.Sprint(of)
			same[selected] = append(same[selected], tag)
		}
	}
	for _, tags := range same {
		slices.SortFunc(tags, typeFirst)
		of := &alignment{}
		for _, i := range rows[tags[0]] {
			of.rows = append(of.rows, a.rows[i])
		}
		t := c.compareTag(tags, of, f)
		c.Tags = append(c.Tags, t)
	}
	slices.SortFunc(c.Tags, func(x, y TagComparison) int { return strings.Compare(x.Tag, y.Tag) })
}

// typeFirst sorts question types before other tags, because they are the most descriptive.
func typeFirst(x, y string) int {
	isType := func(tag string) int {
		if strings.HasPrefix(tag, "type:") {
			return 0
		}
		return 1
	}
	return cmp.Or(isType(x)-isType(y), strings.Compare(x, y))
}

// Title returns the tag and its Same tags for display.
func (t *TagComparison) Title() string {
	return strings.Join(append([]string{t.Tag}, t.Same...), " = ")
}

// compareTag compares the questions that have these tags. If a tag names one cluster, they are
// independent within it, as in a result.
func (c *Comparison) compareTag(tags []string, a *alignment, f *families) TagComparison {
	t := TagComparison{Tag: tags[0], Same: tags[1:], Questions: len(a.rows)}
	clusters := c.ClusterTag
	if slices.ContainsFunc(tags, func(tag string) bool { return strings.HasPrefix(tag, clusters+":") }) {
		clusters = ""
	}
	for run := range c.Runs {
		n := a.counts(run)
		t.Counts = append(t.Counts, n)
		t.Intervals = append(t.Intervals, a.believed(run, n, clusters, c.Repeated))
	}
	t.Pairs = make([]TagPair, len(c.Pairs)) // a slice that stays, because families set its tables
	d := design{a.clusterOf(c.ClusterTag), c.Repeated, c.Resamples, true}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		r := d.contrast(a.rows, p.Reference, p.Run, true, (*question).passRate)
		table := r.table()
		if table.Verdict = NotSeen; table.N < Testable || d.cluster != nil && table.Clusters < Testable || !c.Headlined(p) {
			table.P = nil
		}
		t.Pairs[i] = TagPair{Reference: p.Reference, Run: p.Run, Table: table}
		f.addOther(p, table.P, t.Pairs[i].judge(r))
	}
	return t
}

// differing returns the questions on which runs with a verdict disagree.
func differing(a *alignment) []DifferingQuestion {
	out := []DifferingQuestion{}
	for _, row := range a.rows {
		d := DifferingQuestion{ID: row[0].id, Tags: tagsOf(row)}
		low, high := 2.0, -1.0
		for _, q := range row {
			if d.Question == "" {
				d.Question = q.text
			}
			passed, judged := q.passes()
			if judged > 0 {
				rate := float64(passed) / float64(judged)
				low, high = min(low, rate), max(high, rate)
			}
			d.Answers = append(d.Answers, QuestionOutcome{
				Passed: passed, Asked: len(q.attempts), Outcome: q.attempts[len(q.attempts)-1].outcome,
				Score: known(q.mean(measureScore)),
			})
		}
		if low < high {
			out = append(out, d)
		}
	}
	return out
}
