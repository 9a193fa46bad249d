package verify

import (
	"testing"

	"evalctl/harness/result"
)

// TestPanelVerdicts changes each part of a question's verdicts by recipe, and names the place.
func TestPanelVerdicts(t *testing.T) {
	c := checker{recipes: []result.Recipe{{Name: "a"}, {Name: "b"}}}
	for _, tt := range []struct {
		name, path string
		change     func(*result.Record)
	}{
		{"nothing", "", func(*result.Record) {}},
		{"without verdicts", ".judge_panel", func(r *result.Record) { r.Panel = nil }},
		{"one too many", ".judge_panel", func(r *result.Record) { r.Panel = append(r.Panel, r.Panel[0]) }},
		{"another name", ".judge_panel[1].recipe", func(r *result.Record) { r.Panel[1].Recipe = "c" }},
		{"passed", ".judge_panel[1].passed", func(r *result.Record) { r.Panel[1].Passed = true }},
		{"passed without a score", ".judge_panel[1].passed", func(r *result.Record) { r.Panel[1].Score, r.Panel[1].Passed = nil, true }},
		{"another headline", ".score", func(r *result.Record) { r.Panel[0].Score = new(0.75) }},
	} {
		r := result.Record{ID: "q", Outcome: result.Scored, Score: new(1.0), Passed: true, Panel: []result.RecipeVerdict{
			{Recipe: "a", Score: new(1.0), Passed: true}, {Recipe: "b", Score: new(0.25)},
		}}
		tt.change(&r)
		var found []string
		c.panel(&r, func(d Difference) { found = append(found, d.Path) })
		if tt.path == "" && found != nil || tt.path != "" && (len(found) != 1 || found[0] != tt.path) {
			t.Errorf("%s: %v, want %q", tt.name, found, tt.path)
		}
	}
	// A question without an answer has no verdicts.
	c.panel(&result.Record{ID: "q", Outcome: result.Errored}, func(d Difference) { t.Errorf("%+v", d) })
}
