package verify

import (
	"evalctl/harness/result"
	"evalctl/scorer"
)

// panel checks that a record has a verdict for each of the panel's recipes, and that the first is
// also its own.
func (c *checker) panel(r *result.Record, add reporter) {
	if len(r.Panel) == 0 && (len(c.recipes) == 0 || r.Outcome != result.Scored) {
		return
	}
	if len(r.Panel) != len(c.recipes) {
		add(Difference{Path: ".judge_panel", InFile: text(len(r.Panel)), Recomputed: text(len(c.recipes)),
			Problem: "it has not one verdict for each recipe of the panel"})
		return
	}
	for i, v := range r.Panel {
		path := ".judge_panel[" + text(i) + "]"
		if v.Recipe != c.recipes[i].Name {
			add.differ(path+".recipe", v.Recipe, c.recipes[i].Name)
		}
		if want := v.Score != nil && *v.Score >= scorer.PassMark; v.Passed != want {
			add.differ(path+".passed", v.Passed, want)
		}
	}
	if first := r.Panel[0].Score; r.Outcome != result.Errored && text(first) != text(r.Score) {
		add.differ(".score", r.Score, first)
	}
}
