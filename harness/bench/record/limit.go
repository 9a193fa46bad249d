package record

import (
	"cmp"
	"slices"
)

// Confirmations is how many times a rate must keep the objectives to be the limit.
const Confirmations = 3

// Limit is the highest rate at which a target kept the objectives of Plan.Search.
type Limit struct {
	Target int `json:"target"`
	// Rate is 0 if no rate kept the objectives. Confirmed is false if the rate did not keep them
	// every time it was repeated.
	Rate      float64 `json:"rate"`
	Confirmed bool    `json:"confirmed"`
	// Above is the lowest rate that broke the objectives, 0 if none did.
	Above float64 `json:"above"`
	// Unfinished is set if the search was stopped early: a higher rate may be possible.
	Unfinished bool `json:"unfinished,omitempty"`
	// Near is set unless the null daemon kept the objectives at twice the rate. It is nil if this
	// was not tried.
	Near *bool `json:"near_limit"`
}

// limits sets Limits, one for each target that was or should have been searched.
func (f *File) limits() {
	if f.Plan.Search == "" {
		return
	}
	objectives, _ := ParseObjectives(f.Plan.Search) // checked before the bench
	for i := range f.Probes {
		f.Probes[i].Kept = Keeps(objectives, f.Probes[i].Block)
	}
	for t := range f.Targets {
		if f.Targets[t].Null && len(f.Targets) > 1 {
			continue
		}
		l := f.limit(t)
		l.Unfinished = f.Stopped != "" && !f.Targets[t].Searched
		l.Near = f.nearLimit(l)
		f.Limits = append(f.Limits, l)
	}
}

// limit returns the limit of one target: the highest confirmed rate, or else the highest kept. The
// last try of each rate decides.
func (f *File) limit(target int) Limit {
	l := Limit{Target: target}
	confirmed, lost := map[float64]int{}, map[float64]bool{} // confirmed in a row
	for _, p := range f.Probes {
		if p.Target != target {
			continue
		}
		switch lost[p.Rate] = !p.Kept; {
		case !p.Kept:
			confirmed[p.Rate] = 0
		case p.Confirm:
			confirmed[p.Rate]++
		}
	}
	best := 0.0
	for rate := range lost {
		switch {
		case lost[rate]:
		case confirmed[rate] >= Confirmations:
			l.Rate, l.Confirmed = max(l.Rate, rate), true
		default:
			best = max(best, rate)
		}
	}
	if !l.Confirmed {
		l.Rate = best
	}
	for rate := range lost {
		if lost[rate] && rate > l.Rate && (l.Above == 0 || rate < l.Above) {
			l.Above = rate
		}
	}
	return l
}

// Twice returns the rate to try on the null daemon to see whether a limit is the target's own:
// twice the limit, or the lowest tried rate if none was kept.
func (l Limit) Twice() float64 {
	if l.Rate == 0 {
		return l.Above
	}
	return near * l.Rate
}

// nearLimit returns Limit.Near.
func (f *File) nearLimit(l Limit) *bool {
	if f.Targets[l.Target].Null {
		return nil
	}
	tried, near := false, true
	for _, p := range f.Probes {
		if f.Targets[p.Target].Null && l.Twice() > 0 {
			tried, near = true, near && !(p.Kept && p.Rate >= l.Twice())
		}
	}
	if !tried {
		return nil
	}
	return &near
}

// Summarise returns the figures of a probe and sets Near where the generator may be the limit. It
// compares with the null daemon's probe at the same rate, or else the next higher one.
func (f *File) Summarise(p Probe) Summary {
	s := summarise([]Block{p.Block})
	var nulls []Probe
	for _, n := range f.Probes {
		if f.Targets[n.Target].Null {
			nulls = append(nulls, n)
		}
	}
	if len(nulls) == 0 || f.Targets[p.Target].Null {
		return s
	}
	slices.SortStableFunc(nulls, func(a, b Probe) int { return cmp.Compare(a.Rate, b.Rate) })
	i := slices.IndexFunc(nulls, func(n Probe) bool { return n.Rate >= p.Rate })
	if i < 0 {
		i = len(nulls) - 1
	}
	limits := summarise([]Block{nulls[i].Block}).Ops
	for j := range s.Ops {
		markOp(&s.Ops[j], limits, false)
	}
	return s
}
