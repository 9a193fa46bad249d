package replay

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/internal/figure"
)

// File returns the path of the arm's result, empty if there is none.
func (o Outcome) File() string {
	if o.Result == nil {
		return ""
	}
	return o.Path
}

// Compare compares several arms, also if some did not finish. It returns nil for one arm. Targets that
// were given modes of their own are compared in these.
func Compare(outcomes []Outcome, o compare.Options) *compare.Arms {
	if len(outcomes) < 2 {
		return nil
	}
	var arms []compare.Arm
	modes := map[string]bool{}
	for _, out := range outcomes {
		if out.Arm.Baseline == "" {
			modes[out.Arm.Mode] = true
		}
		arms = append(arms, compare.Arm{Name: out.Arm.Name, Path: out.File()})
	}
	if len(modes) > 1 {
		o.Accept = slices.Concat(o.Accept, []string{"mode", "effective_modes", "fusions"})
	}
	return compare.OfArms(arms, o)
}

// CheckCluster returns an error if too few clusters are asked about for a difference to be shown. A tag
// names them, TAG of TAG:X; it is empty for none.
func (p *Plan) CheckCluster(tag string) error {
	clusters := map[string]bool{}
	for _, q := range p.Questions {
		for _, t := range q.Dataset().Tags {
			if strings.HasPrefix(t, tag+":") {
				clusters[t] = true
			}
		}
		if tag == compare.ByBrain {
			clusters[q.Brain] = true
		}
	}
	if n := len(clusters); tag != "" && n < compare.Testable {
		return fmt.Errorf("--cluster %s: the questions are in %s, and with fewer than %d no difference can be shown",
			tag, figure.Count(n, "cluster"), compare.Testable)
	}
	return nil
}
