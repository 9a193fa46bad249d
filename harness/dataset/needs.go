package dataset

import (
	"errors"
	"fmt"
	"strings"

	"evalctl/internal/figure"
	"evalctl/scorer"
)

// Needs counts the questions that satisfy each scorer's need.
type Needs struct {
	Total int
	Has   map[scorer.Need]int
}

// Add counts a question.
func (n *Needs) Add(item scorer.Item) {
	if n.Has == nil {
		n.Has = map[scorer.Need]int{}
	}
	n.Total++
	for need, has := range map[scorer.Need]bool{
		scorer.NeedExpected:  len(item.Expected) > 0,
		scorer.NeedReference: strings.TrimSpace(item.Reference) != "",
		scorer.NeedGold:      len(item.Gold) > 0 || len(item.Evidence) > 0,
		scorer.NeedChecks:    len(item.Checks) > 0,
	} {
		if has {
			n.Has[need]++
		}
	}
}

// Others names the scorers whose need more questions satisfy than the used scorer's, "" if there
// are none.
func (n *Needs) Others(used scorer.Kind) string {
	var out []string
	for _, k := range scorer.ByNeed() {
		switch has := n.Has[k.Needs]; {
		case has <= n.Has[used.Needs]:
		case has == n.Total:
			out = append(out, fmt.Sprintf("all have %s: use --scorer %s", k.Needs, k.Name))
		default:
			out = append(out, fmt.Sprintf("%d of %d have %s: use --scorer %s", has, n.Total, k.Needs, k.Name))
		}
	}
	return strings.Join(out, ", or ")
}

// Explain adds a suggestion of a better suited scorer to an error about the dataset at path.
func (n *Needs) Explain(path string, used scorer.Kind, err error) error {
	others := n.Others(used)
	if err == nil || others == "" {
		return err
	}
	return errors.Join(err, fmt.Errorf("%s: %d of %s have %s, which --scorer %s needs; %s",
		path, n.Has[used.Needs], figure.Count(n.Total, "question"), used.Needs, used.Name, others))
}
