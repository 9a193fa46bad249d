package record

import "slices"

// Confirmations is how often a rate must keep the objectives to be the limit.
const Confirmations = 3

// Limit is the highest rate at which a target kept the objectives of Plan.Search.
type Limit struct {
	Target int `json:"target"`
	// Rate is 0 if no rate was kept, and Confirmed false if it was not kept each time again.
	Rate      float64 `json:"rate"`
	Confirmed bool    `json:"confirmed"`
	// Above is the lowest rate that was not kept, 0 if all were.
	Above float64 `json:"above"`
}

// limits sets Limits.
func (f *File) limits() {
	if f.Plan.Search == "" {
		return
	}
	objectives, _ := ParseObjectives(f.Plan.Search) // checked before the bench
	for i := range f.Probes {
		f.Probes[i].Kept = Keeps(objectives, f.Probes[i].Block)
	}
	for t := range f.Targets {
		if slices.ContainsFunc(f.Probes, func(p Probe) bool { return p.Target == t }) {
			f.Limits = append(f.Limits, f.limit(t))
		}
	}
}

// limit returns that of one target: the highest rate that was confirmed, or else kept.
func (f *File) limit(target int) Limit {
	l := Limit{Target: target}
	kept, lost := map[float64]int{}, map[float64]int{}
	best := 0.0
	for _, p := range f.Probes {
		switch {
		case p.Target != target:
		case !p.Kept:
			lost[p.Rate]++
		case p.Confirm:
			kept[p.Rate]++
		default:
			best = max(best, p.Rate)
		}
	}
	for rate, n := range kept {
		if n >= Confirmations && lost[rate] == 0 && rate > l.Rate {
			l.Rate, l.Confirmed = rate, true
		}
	}
	if !l.Confirmed {
		l.Rate = best
	}
	for rate := range lost {
		if rate > l.Rate && (l.Above == 0 || rate < l.Above) {
			l.Above = rate
		}
	}
	return l
}
