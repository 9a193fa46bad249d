package aggregate_test

import (
	"testing"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
)

// TestRecipeWithoutVerdicts leaves a recipe that judged nothing out of the span.
func TestRecipeWithoutVerdicts(t *testing.T) {
	var res result.Result
	res.Identity.Panel = []result.Recipe{{Name: "a"}, {Name: "b"}}
	sum := aggregate.New(5)
	for _, r := range []result.Record{
		{ID: "1", Outcome: result.Scored, Score: new(1.0), Passed: true, Panel: []result.RecipeVerdict{{Recipe: "a", Score: new(1.0), Passed: true}, {Recipe: "b"}}},
		{ID: "2", Outcome: result.Scored, Score: new(0.0), Panel: []result.RecipeVerdict{{Recipe: "a", Score: new(0.0)}, {Recipe: "b"}}},
	} {
		sum.Add(r)
	}
	sum.Fill(&res)
	p := res.Panel
	if p.Recipes[1].PassRate != nil || p.Recipes[1].Interval != nil || *p.Low != 0.5 || *p.High != 0.5 {
		t.Errorf("%+v", p)
	}
}
