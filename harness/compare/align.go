package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/key"
)

// aligned are the questions of several runs side by side.
type aligned struct {
	// rows are the questions that all runs have, in order of the id; common is their number. A row
	// has the question of each run.
	rows   [][]*question
	common int
	// ids are those of each run, in the order of its file, and leftOut those of them that some other
	// run does not have. Questions that were not asked for lack of gold are not among them.
	ids, leftOut [][]string
	withoutGold  int
}

// align pairs the questions of runs by id. Two questions with the same id and different texts are
// an error: nothing that is said about such a pair means anything.
func align(runs []*Run, names []string) (*aligned, error) {
	a := &aligned{ids: make([][]string, len(runs)), leftOut: make([][]string, len(runs))}
	excluded := map[string]bool{}
	for _, r := range runs {
		for i := range r.questions {
			if r.questions[i].withoutGold() {
				excluded[r.questions[i].id] = true
			}
		}
	}
	a.withoutGold = len(excluded)
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

// rowOf returns the question with this id of each run, nil if a run has none.
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
			return fmt.Errorf("%w: the id %q is another question in %s (%.60q) than in %s (%.60q): "+
				"the results are of different datasets", key.ErrIncomparable, q.id, names[first], row[first].text, names[i], q.text)
		}
	}
	return nil
}

// leavesOut reports whether some run has questions that another does not have.
func (a *aligned) leavesOut() bool {
	return slices.ContainsFunc(a.leftOut, func(ids []string) bool { return len(ids) > 0 })
}

// withTag returns a with the rows that have a tag.
func (a *aligned) withTag(tag string) *aligned {
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

// dates returns a text that differs between runs if the dates of common questions do.
func (a *aligned) dates(run int) string {
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

// gold returns a text that differs between runs if what of returns for common questions does.
func (a *aligned) gold(run int, of func(*question) [sha256.Size]byte) string {
	h := sha256.New()
	for _, row := range a.rows {
		gold := of(row[run])
		h.Write(gold[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// clusterOf returns the cluster of each row by the tag, nil if tag is empty.
func (a *aligned) clusterOf(tag string) []int {
	if tag == "" {
		return nil
	}
	of, _, _ := a.clusters(tag)
	return of
}

// ByBrain is the Options.ClusterTag with which questions that were asked in the same brain are a
// cluster, such as those about one conversation.
const ByBrain = "brain"

// clusterName returns the name of a row's cluster: X of its tag Tag:X.
func clusterName(row []*question, tag string) (x string, ok bool) {
	if x, ok = label(tagsOf(row), tag); ok || tag != ByBrain {
		return x, ok
	}
	for _, q := range row { // baselines have no brain
		if q.brain != "" {
			return q.brain, true
		}
	}
	return "", false
}

// clusters returns the cluster of each row by the tag, and how many clusters there are. A question
// without such a tag is a cluster of its own; alone counts those.
func (a *aligned) clusters(tag string) (of []int, n, alone int) {
	numbers := map[string]int{}
	of = make([]int, len(a.rows))
	for i, row := range a.rows {
		x, ok := clusterName(row, tag)
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
