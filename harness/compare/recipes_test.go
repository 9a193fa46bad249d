package compare

import (
	"strings"
	"testing"
	"time"

	"evalctl/harness/key"
	"evalctl/harness/result"
)

// judgedBy returns a result in which each recipe has a digest and the verdicts on q000, q001 …: p, f,
// or u for none. The first is the headline.
func judgedBy(sdk string, verdicts ...string) *file {
	f := newFile(sdk, verdicts[0])
	for i := range verdicts {
		f.Identity.Panel = append(f.Identity.Panel, result.Recipe{
			Name: string(rune('a' + i)), SHA256: strings.Repeat(string(rune('a'+i)), 64), Judge: *f.Identity.Judge,
		})
	}
	for q := range f.Questions {
		for i, list := range verdicts {
			v := result.RecipeVerdict{Recipe: f.Identity.Panel[i].Name, Passed: list[q] == 'p'}
			if list[q] != 'u' {
				v.Score = new(map[bool]float64{true: 1}[v.Passed])
			}
			f.Questions[q].Panel = append(f.Questions[q].Panel, v)
		}
	}
	return f
}

// TestRecipes compares runs that several recipes judged. A difference is robust only if all recipes
// see it with the same sign.
func TestRecipes(t *testing.T) {
	low, high, mid := "pppfffffff", "pppppppppf", "pppppfffff"
	for _, tt := range []struct {
		name      string
		old, new  []string
		robust    bool
		wants     []float64
		sentences string
	}{
		{"same sign", []string{low, low, mid}, []string{high, mid, high}, true, []float64{0.6, 0.2, 0.4}, "robust: the difference is shown, and has the same sign under all 3 recipes"},
		{"not shown", []string{low, low}, []string{mid, mid}, false, []float64{0.2, 0.2}, "the difference has the same sign under all 2 recipes, and is not shown"},
		{"other sign", []string{low, high, low}, []string{high, low, high}, false, []float64{0.6, -0.6, 0.6}, "b -60.0 pp"},
		{"no difference", []string{low, mid}, []string{high, mid}, false, []float64{0.6, 0}, "not robust"},
		{"equal", []string{low, mid}, []string{low, mid}, false, []float64{0, 0}, "no difference under any recipe: a +0.0 pp"},
		{"unscored", []string{low, "uuppffffff"}, []string{high, "pppppppuuu"}, true, []float64{0.6, 0.6}, "robust"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := mustCompare(t, Options{Baseline: "old"}, judgedBy("old", tt.old...).open(t), judgedBy("new", tt.new...).open(t))
			p := c.Pairs[0]
			if p.Robust == nil || *p.Robust != tt.robust || !strings.Contains(p.RecipesText(), tt.sentences) {
				t.Errorf("%s", p.RecipesText())
			}
			for i, want := range tt.wants {
				if d := *p.Recipes[i].Difference; d-want > 1e-9 || want-d > 1e-9 {
					t.Errorf("recipe %d: %v, want %v", i, d, want)
				}
			}
			if d := p.Recipes[0]; *d.Difference != *p.Difference || *d.P != *p.P || *d.Interval != *p.Interval {
				t.Errorf("the headline is %+v, the pair %+v", d, p.Table)
			}
		})
	}
	// Only recipes with the same digest are compared, and one is no panel.
	other := judgedBy("new", high, high, high)
	other.Identity.Panel[2].SHA256 = strings.Repeat("9", 64)
	c := mustCompare(t, Options{}, judgedBy("old", low, low, low).open(t), other.open(t))
	if len(c.Pairs[0].Recipes) != 2 || c.Key("judge_panel").State != key.Differs {
		t.Errorf("%+v", c.Pairs[0].Recipes)
	}
	if c = mustCompare(t, Options{}, newFile("old", low).open(t), other.open(t)); c.Pairs[0].Robust != nil || c.Pairs[0].RecipesText() != "" {
		t.Errorf("%+v", c.Pairs[0])
	}
	// Of a side with several runs, their means are compared under each recipe.
	second := judgedBy("x", low, mid)
	second.StartedAt = second.StartedAt.Add(time.Hour)
	side := Side("new", []*Run{judgedBy("x", high, mid).open(t), second.open(t)})
	c = mustCompare(t, Options{Baseline: "old"}, judgedBy("old", low, low).open(t), side)
	if d := *c.Pairs[0].Recipes[0].Difference; d != 0.3 || *c.Pairs[0].Robust {
		t.Errorf("%v: %s", d, c.Pairs[0].RecipesText())
	}
}

// TestRobustIsAboutPassRate has another primary measure: recipes judge answers, so only a shown
// difference of the pass rate is robust.
func TestRobustIsAboutPassRate(t *testing.T) {
	recall := func(f *file, of float64) *Run {
		for i := range f.Questions {
			f.Questions[i].Retrieval = &result.QuestionRetrieval{Recall: of}
		}
		return f.open(t)
	}
	none, all := strings.Repeat("f", 20), strings.Repeat("p", 20)
	few := "pp" + none[2:]
	opts := Options{Baseline: "old", Primary: []string{"recall"}}
	p := mustCompare(t, opts, recall(judgedBy("old", none, none), 0), recall(judgedBy("new", few, few), 1)).Pairs[0]
	if p.Verdict != NotSeen || *p.Robust || !strings.Contains(p.RecipesText(), "is not shown by the test") {
		t.Errorf("only recall is shown: the pass rate is %s, %s", p.Verdict, p.RecipesText())
	}
	p = mustCompare(t, opts, recall(judgedBy("old", none, none), 1), recall(judgedBy("new", all, all), 1)).Pairs[0]
	if p.Verdict != Better || !*p.Robust {
		t.Errorf("only the pass rate is shown: it is %s, %s", p.Verdict, p.RecipesText())
	}
}
