package bench

import (
	"fmt"
	"slices"

	"evalctl/harness/bench/record"
	"evalctl/harness/bench/work"
)

// idle says when flags have no effect, and why. Such a flag is refused, because its user expects an
// effect.
var idle = []struct {
	flags []string
	when  func(w Settings, p record.Plan) bool
	why   string
}{
	{
		[]string{"duration", "rounds"}, func(w Settings, _ record.Plan) bool { return w.Search != "" },
		"--find-limit tries each rate for the time of --step, or longer",
	},
	{
		[]string{"step"}, func(w Settings, _ record.Plan) bool { return w.Search == "" },
		"it is how long --find-limit tries a rate; --duration is the time that is measured",
	},
	{
		[]string{"max-in-flight"}, func(_ Settings, p record.Plan) bool { return p.Arrival == record.Closed },
		"without --rate, --concurrency says how many requests are in flight",
	},
	{
		[]string{"documents"}, func(w Settings, _ record.Plan) bool { return w.ExistingBrain != "" },
		"--use-brain names a brain that is used as it is",
	},
	{
		[]string{"dataset", "top-k"}, func(_ Settings, p record.Plan) bool { return !has(p.Mix, work.Search, work.Ask, work.Recall) },
		"no operation of --mix has a query",
	},
	{
		[]string{"mode"}, func(_ Settings, p record.Plan) bool { return !has(p.Mix, work.Search, work.Ask) },
		"it is for search and ask, which are not in --mix",
	},
	{
		[]string{"price", "prices"}, func(w Settings, p record.Plan) bool { return !w.Calls && !has(p.Mix, work.Ask) },
		"only ask has a cost, and it is not in --mix",
	},
	{
		[]string{"token"}, func(w Settings, _ record.Plan) bool { return w.Targets == 0 },
		"the null daemon needs no token",
	},
	{
		[]string{"restart"}, func(w Settings, p record.Plan) bool { return w.Rounds*len(p.Stages) == 1 },
		"daemons are started again before each round, and there is one",
	},
}

// checkEffect returns an error for a given flag without effect.
func (w Settings) checkEffect(p record.Plan) error {
	for _, rule := range idle {
		for _, flag := range rule.flags {
			if w.Given != nil && w.Given(flag) && rule.when(w, p) {
				return fmt.Errorf("--%s has no effect: %s; leave it out", flag, rule.why)
			}
		}
	}
	return nil
}

func has(mix []record.Share, ops ...string) bool {
	return slices.ContainsFunc(mix, func(s record.Share) bool { return slices.Contains(ops, s.Op) })
}

// checkTargets returns an error for a target that does not allow the plan.
func (c *Config) checkTargets() error {
	for _, t := range c.Targets {
		started := t.Session.Endpoint == "" && !t.Session.Mapped() && !t.Null
		alone := !t.Null || len(c.Targets) == 1
		switch {
		case !alone || started && c.Brain == "":
		case started:
			return fmt.Errorf("target %s: --use-brain is for a daemon that is running already, "+
				"and the bench starts this one without brains; write %[1]s=URL, or leave --use-brain out", t.Name)
		case c.Plan.Chaos == Kill || c.Plan.Chaos == Stop:
			return fmt.Errorf("target %s: --chaos %s is for a daemon that speaks the protocol and that the bench starts", t.Name, c.Plan.Chaos)
		case c.Plan.Restart:
			return fmt.Errorf("target %s: --restart is for daemons that speak the protocol and that the bench starts", t.Name)
		case c.Plan.Chaos == SlowClient && t.Session.Mapped():
			return fmt.Errorf("target %s: --chaos %s holds ask streams open, and is for a daemon that speaks the protocol", t.Name, c.Plan.Chaos)
		}
	}
	return nil
}
