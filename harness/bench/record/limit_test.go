package record

import (
	"math/rand/v2"
	"testing"

	"evalctl/harness/result"
)

// TestLimitOfTheGenerator has a target that keeps 100/s, and a null daemon that keeps some rates.
func TestLimitOfTheGenerator(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 5))
	probe := func(target int, rate, ms float64, confirm bool) Probe {
		return Probe{Target: target, Rate: rate, Confirm: confirm, Block: blockOf(target, 0, 0, around(random, ms, 300)...)}
	}
	for _, c := range []struct {
		name      string
		null      []Probe
		near      bool
		unknown   bool
		nearCurve bool
	}{
		{"the null daemon is far ahead", []Probe{probe(1, 100, 1, false), probe(1, 200, 1, false)}, false, false, false},
		{"the null daemon keeps the rate alone", []Probe{probe(1, 100, 1, false), probe(1, 200, 90, false)}, true, false, false},
		{"the null daemon keeps twice the rate, hardly faster", []Probe{probe(1, 100, 8, false), probe(1, 200, 9, false)}, false, false, true},
		{"the null daemon was not tried", nil, false, true, false},
	} {
		f := &File{Plan: Plan{Search: "p50<50ms"}, Targets: []Target{{Name: "a", Searched: true}, {Name: "null", Null: true}}}
		f.Probes = append(f.Probes, probe(0, 100, 10, false), probe(0, 200, 99, false))
		for range Confirmations {
			f.Probes = append(f.Probes, probe(0, 100, 10, true))
		}
		f.Probes = append(f.Probes, c.null...)
		f.Compute()
		if len(f.Limits) != 1 || f.Limits[0].Rate != 100 || !f.Limits[0].Confirmed || f.Limits[0].Unfinished {
			t.Fatalf("%s: %+v", c.name, f.Limits)
		}
		if l := f.Limits[0]; l.Near == nil != c.unknown || l.Near != nil && *l.Near != c.near {
			t.Errorf("%s: the mark is %v", c.name, l.Near)
		}
		if near := f.Summarise(f.Probes[0]).Ops[0].Near(); near != c.nearCurve {
			t.Errorf("%s: the latency has the mark %v", c.name, near)
		}
	}
}

func TestLimitOfStoppedSearch(t *testing.T) {
	f := &File{
		Stopped: result.StopInterrupted, Plan: Plan{Search: "p50<50ms"},
		Targets: []Target{{Name: "a", Searched: true}, {Name: "b"}, {Name: "null", Null: true}},
	}
	f.Compute()
	if len(f.Limits) != 2 || f.Limits[0].Unfinished || !f.Limits[1].Unfinished || f.Limits[1].Near != nil {
		t.Errorf("%+v, want that the search of the second target is not finished", f.Limits)
	}
}
