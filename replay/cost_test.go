package replay_test

import (
	"os"
	"slices"
	"testing"

	"evalctl/harness/result"
	"evalctl/harness/verify"
	"evalctl/harness/wording"
	"evalctl/internal/llm"
	"evalctl/replay"
	"evalctl/replay/actor"
)

// overlapping returns three arms that share requests: the first two all of them.
func overlapping() []replay.Arm {
	return []replay.Arm{
		{Name: "go", Baseline: actor.Oracle}, {Name: "py", Baseline: actor.Oracle}, {Name: "ts", Baseline: actor.NoMemory},
	}
}

// costs replays arms with a cache in a folder, and returns their costs by their names.
func (p *provider) costs(t *testing.T, arms []replay.Arm, cache string) map[string]*result.CostAccounting {
	t.Helper()
	c := p.config(t, benchmark(t, 6), 20*llm.Dollar)
	c.PricesDate, c.Tool.CPUs = "2026-01-31", 1
	c.Arms, c.Cache = arms, replay.Cache{Mode: llm.CacheWrite, Dir: cache}
	out, _, err := run(t, c, t.TempDir())
	if err != nil || !replay.Finished(out) {
		t.Fatalf("%v, %+v", err, out)
	}
	all := map[string]*result.CostAccounting{}
	for _, o := range out {
		all[o.Arm.Name] = o.Result.CostAccounting
		if rep, err := verify.File(o.Path); err != nil || !rep.OK {
			t.Errorf("%v, %+v", err, rep)
		}
	}
	return all
}

// TestListCost: whichever arm asks first, and whatever was cached before, each arm has the list
// cost that it has alone. That is what it spends alone with an empty cache.
func TestListCost(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	alone := map[string]llm.USD{}
	for _, a := range overlapping() {
		cache := t.TempDir()
		cold := p.costs(t, []replay.Arm{a}, cache)[a.Name]
		warm := p.costs(t, []replay.Arm{a}, cache)[a.Name]
		if alone[a.Name] = cold.TotalUSD; cold.TotalUSD == 0 || *cold.List.USD != cold.TotalUSD || cold.List.SavedUSD != 0 {
			t.Errorf("%s, cold: %+v", a.Name, cold.List)
		}
		if warm.TotalUSD != 0 || warm.List.SavedUSD != cold.TotalUSD || *warm.List.USD != cold.TotalUSD {
			t.Errorf("%s, warm: spent %s, %+v, the first time %s", a.Name, warm.TotalUSD, warm.List, cold.TotalUSD)
		}
	}
	for _, order := range [][3]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		arms := overlapping()
		arms = []replay.Arm{arms[order[0]], arms[order[1]], arms[order[2]]}
		cache := t.TempDir()
		cold, warm := p.costs(t, arms, cache), p.costs(t, arms, cache)
		if cold["go"].TotalUSD == *cold["go"].List.USD && cold["py"].TotalUSD == *cold["py"].List.USD {
			t.Errorf("no request was shared: %+v", cold)
		}
		for name, want := range alone {
			for _, c := range []*result.CostAccounting{cold[name], warm[name]} {
				if *c.List.USD != want || c.TotalUSD+c.List.SavedUSD+c.List.SharedUSD != want {
					t.Errorf("%v, %s: spent %s, %+v, alone %s", order, name, c.TotalUSD, c.List, want)
				}
			}
			if warm[name].TotalUSD != 0 || warm[name].List.SharedUSD != 0 {
				t.Errorf("%s: spent %s", name, warm[name].TotalUSD)
			}
			if each := cold[name].PerCorrectUSD; (each == nil) != (name == "ts") || each != nil && *each != (want+3)/6 {
				t.Errorf("%s: %s for each correct answer of a list cost of %s", name, each, want)
			}
		}
	}
}

// TestListCostIsResumed: what an interrupted replay got from the cache, or paid for, and gets again
// when it is resumed does not count twice.
func TestListCostIsResumed(t *testing.T) {
	t.Parallel()
	p, dir := newProvider(t), t.TempDir()
	c := p.config(t, benchmark(t, 6), 20*llm.Dollar)
	c.Arms, c.Cache = overlapping()[:1], replay.Cache{Mode: llm.CacheWrite, Dir: t.TempDir()}
	var want llm.USD
	for i := range 3 {
		out, _, err := run(t, c, dir)
		if err != nil || !replay.Finished(out) {
			t.Fatalf("%v, %+v", err, out)
		}
		got := out[0].Result.CostAccounting
		if i == 0 {
			want = got.TotalUSD
		}
		if *got.List.USD != want || i > 0 && got.CachedSavingsUSD == 0 {
			t.Errorf("part %d: the list cost is %+v, spent %s, saved %s, at first %s", i, got.List, got.TotalUSD, got.CachedSavingsUSD, want)
		}
		// As if the arm had not finished.
		if err := os.Remove(out[0].Path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestListCostUncounted: a reply whose tokens the provider does not count costs the same for the
// arm that pays for it and for the one that gets it from the cache, which says that it is
// estimated.
func TestListCostUncounted(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"no usage", "wrong usage"} {
		p := newProvider(t)
		p.restart(func(int) string { return fault })
		all := p.costs(t, overlapping(), t.TempDir())
		if *all["go"].List.USD != *all["py"].List.USD || *all["go"].List.USD == 0 {
			t.Errorf("%s: %s and %s", fault, all["go"].List.USD, all["py"].List.USD)
		}
		if all["go"].List.SavedEstimated+all["py"].List.SavedEstimated == 0 {
			t.Errorf("%s: the savings are not said to be estimates", fault)
		}
	}
}

// TestListCostUnpriced: a model without a price has no list cost, also if all replies are cached.
func TestListCostUnpriced(t *testing.T) {
	t.Parallel()
	p, cache := newProvider(t), t.TempDir()
	for range 2 {
		c := p.config(t, benchmark(t, 2), 20*llm.Dollar)
		c.Cap, c.Prices, c.Cache = nil, llm.Prices{}, replay.Cache{Mode: llm.CacheWrite, Dir: cache}
		c.Arms = overlapping()
		out, _, err := run(t, c, t.TempDir())
		if err != nil || !replay.Finished(out) {
			t.Fatalf("%v, %+v", err, out)
		}
		for _, o := range out {
			got := o.Result.CostAccounting
			if got.List.USD != nil || got.PerCorrectUSD != nil || !slices.Equal(got.Unpriced, []string{modelName}) ||
				wording.ListCost(got) != "unknown" {
				t.Errorf("%s: %+v, %+v", o.Arm.Name, got, got.List)
			}
		}
		p.restart(func(int) string { return "rejected" }) // everything is in the cache
	}
}
