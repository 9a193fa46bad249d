package compare

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/key"
	"evalctl/harness/result"
)

// alignment pairs the questions of several runs.
type alignment struct {
	// rows has the common questions in order of the id, each with the question of every run.
	rows   [][]*question
	common int
	// ids has the question ids of each run in file order, and leftOut those missing from another
	// run. Questions that do not count in some run are excluded.
	ids, leftOut [][]string
	excluded     map[result.Outcome]int
}

// align pairs the questions of runs by id. Two questions with the same id and different texts are
// an error, because comparing them would be meaningless.
func align(runs []*Run, names []string) (*alignment, error) {
	a := &alignment{ids: make([][]string, len(runs)), leftOut: make([][]string, len(runs))}
	excluded := map[string]bool{}
	a.excluded = map[result.Outcome]int{}
	for _, r := range runs {
		for i := range r.questions {
			if q := &r.questions[i]; !q.counts() && !excluded[q.id] {
				excluded[q.id] = true
				a.excluded[q.attempts[0].outcome]++
			}
		}
	}
	for i, r := range runs {
		a.leftOut[i] = []string{}
		for q := range r.questions {
			id := r.questions[q].id
			if excluded[id] {
				continue
			}
			a.ids[i] = append(a.ids[i], id)
			row := rowOf(runs, id)
			switch {
			case row == nil:
				a.leftOut[i] = append(a.leftOut[i], id)
			case i == 0:
				if err := sameText(row, names); err != nil {
					return nil, err
				}
				a.rows = append(a.rows, row)
			}
		}
	}
	slices.SortFunc(a.rows, func(x, y []*question) int { return strings.Compare(x[0].id, y[0].id) })
	a.common = len(a.rows)
	return a, nil
}

// rowOf returns the question with this id in each run, or nil if a run lacks it.
func rowOf(runs []*Run, id string) []*question {
	row := make([]*question, len(runs))
	for i, r := range runs {
		q, ok := r.index[id]
		if !ok {
			return nil
		}
		row[i] = &r.questions[q]
	}
	return row
}

// sameText compares the texts of a question. A run in JSON lines may have none.
func sameText(row []*question, names []string) error {
	first := -1
	for i, q := range row {
		switch {
		case q.text == "":
		case first < 0:
			first = i
		case q.text != row[first].text:
			return fmt.Errorf("%w: the id %q belongs to different questions in %s (%.60q) and in %s (%.60q): "+
				"the results are of different datasets", key.ErrIncomparable, q.id, names[first], row[first].text, names[i], q.text)
		}
	}
	return nil
}

// leavesOut reports whether any run has a question that another lacks.
func (a *alignment) leavesOut() bool {
	return slices.ContainsFunc(a.leftOut, func(ids []string) bool { return len(ids) > 0 })
}

// withTag returns a with the rows that have a tag.
func (a *alignment) withTag(tag string) *alignment {
	b := *a
	b.rows = nil
	for _, row := range a.rows {
		if slices.Contains(tagsOf(row), tag) {
			b.rows = append(b.rows, row)
		}
	}
	return &b
}

// tagsOf returns the tags of a question, from the first run that has any.
func tagsOf(row []*question) []string {
	for _, q := range row {
		if len(q.tags) > 0 {
			return q.tags
		}
	}
	return nil
}

// dates returns a digest of the dates of the run's common questions.
func (a *alignment) dates(run int) string {
	h, n := sha256.New(), 0
	for _, row := range a.rows {
		if date := row[run].date; date != "" {
			fmt.Fprintf(h, "%s\x00%s\n", row[run].id, date)
			n++
		}
	}
	if n == 0 {
		return key.None
	}
	return fmt.Sprintf("%d, sha256 %s", n, hex.EncodeToString(h.Sum(nil)))
}

// gold returns a digest of the values of the run's common questions.
func (a *alignment) gold(run int, of func(*question) [sha256.Size]byte) string {
	h := sha256.New()
	for _, row := range a.rows {
		gold := of(row[run])
		h.Write(gold[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// clusterOf returns the cluster of each row by tag, or nil if tag is empty.
func (a *alignment) clusterOf(tag string) []int {
	if tag == "" {
		return nil
	}
	of, _, _ := a.clusters(tag)
	return of
}

// clusterTag returns the requested cluster tag, else the one all runs were made with, else the one
// that result.ClusterFinder finds. It is empty if there is none.
func (a *alignment) clusterTag(asked string, runs []*Run) string {
	switch tag := cmp.Or(asked, recordedTag(runs)); tag {
	case "":
		var f result.ClusterFinder
		for _, row := range a.rows {
			f.Add(tagsOf(row), brainOf(row))
		}
		return f.Tag()
	case result.NoClusters:
		return ""
	default:
		return tag
	}
}

// recordedTag returns the cluster tag all runs were made with, or "" if they differ.
func recordedTag(runs []*Run) string {
	var tags []string
	for _, r := range filesOf(runs) {
		if r.res != nil {
			tags = append(tags, r.res.Settings.ClusterTag)
		}
	}
	if tags = slices.Compact(slices.Sorted(slices.Values(tags))); len(tags) == 1 {
		return tags[0]
	}
	return ""
}

// brainOf returns the question's brain from the first run that has one. Baselines have none.
func brainOf(row []*question) string {
	for _, q := range row {
		if q.brain != "" {
			return q.brain
		}
	}
	return ""
}

// clusters returns the cluster of each row by tag and the number of clusters. A question without
// the tag forms its own cluster; alone counts these.
func (a *alignment) clusters(tag string) (of []int, n, alone int) {
	numbers := map[string]int{}
	of = make([]int, len(a.rows))
	for i, row := range a.rows {
		x, ok := result.ClusterOf(tag, tagsOf(row), brainOf(row))
		if !ok {
			of[i] = n
			n++
			alone++
			continue
		}
		if _, seen := numbers[x]; !seen {
			numbers[x] = n
			n++
		}
		of[i] = numbers[x]
	}
	return of, n, alone
}
