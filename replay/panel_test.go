package replay_test

import (
	"testing"

	panels "evalctl/harness/judging"
	"evalctl/harness/verify"
	"evalctl/internal/llm"
	"evalctl/replay"
)

// TestPanel replays with a panel under one cap: what its judges are billed is in the books, a cap that
// is too small stops them, and a resumed replay completes the verdicts of every recipe.
func TestPanel(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	config := func(limit llm.USD) replay.Config {
		c := p.config(t, benchmark(t, 6), limit)
		c.PricesDate, c.Tool.CPUs = "2026-01-31", 1
		recipes, err := panels.Recipes([]string{"benchmark", "strict", "generous"})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range recipes {
			c.Panel = append(c.Panel, replay.Recipe{Recipe: r})
		}
		c.Panel[2].Model, c.Panel[2].Recipe.Model = c.Judge, "openai/"+modelName
		return c
	}
	dir := t.TempDir()
	out, spent, err := run(t, config(20*llm.Dollar), t.TempDir())
	if err != nil || !replay.Finished(out) || spent != p.bill() || spent == 0 {
		t.Fatalf("%s spent, %s billed: %v", spent, p.bill(), err)
	}
	whole := spent
	out, spent, err = run(t, config(whole/2), dir)
	if replay.Finished(out) || spent > whole/2 {
		t.Fatalf("%s of %s spent, and it finished: %v", spent, whole/2, err)
	}
	out, _, err = run(t, config(20*llm.Dollar), dir)
	if err != nil || !replay.Finished(out) {
		t.Fatalf("resumed: %v, %+v", err, out)
	}
	for _, o := range out {
		res := o.Result
		if len(res.Identity.Panel) != 3 || res.Panel.Judged != 6 || res.Panel.Recipes[0].Counts != res.Counts {
			t.Errorf("%s: %+v", o.Arm.Name, res.Panel)
		}
		if rep, err := verify.File(o.Path); err != nil || !rep.OK {
			t.Errorf("%v, %+v", err, rep)
		}
	}
}
