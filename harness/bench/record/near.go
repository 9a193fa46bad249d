package record

import "slices"

// mark sets Near on the figures that the generator may limit.
func (f *File) mark() {
	null := slices.IndexFunc(f.Targets, func(t Target) bool { return t.Null })
	if null < 0 {
		return
	}
	for i := range f.Summaries {
		s := &f.Summaries[i]
		limit := slices.IndexFunc(f.Summaries, func(l Summary) bool {
			return l.Target == null && l.Stage == s.Stage // it is measured at one size
		})
		if s.Target == null || limit < 0 {
			continue
		}
		for j := range s.Ops {
			markOp(&s.Ops[j], f.Summaries[limit].Ops, f.Plan.Arrival == Closed)
		}
	}
}

// markOp marks the figures of an operation that are near the null daemon's.
func markOp(o *OpFigures, limits []OpFigures, closed bool) {
	at := slices.IndexFunc(limits, func(l OpFigures) bool { return l.Op == o.Op })
	if at < 0 {
		return
	}
	limit := limits[at]
	// In an open model the rate is given, not measured.
	if closed && o.Rate.Value*near > limit.Rate.Value {
		o.Rate.Near = true
	}
	for _, pair := range [][2]*Times{{o.Latency, limit.Latency}, {o.Service, limit.Service}, {o.FirstDelta, limit.FirstDelta}} {
		if pair[0] == nil || pair[1] == nil {
			continue
		}
		own, null := pair[0].list(), pair[1].list()
		for i := range own {
			if own[i] != nil && null[i] != nil && own[i].Value < near*null[i].Value {
				own[i].Near = true
			}
		}
	}
}

// Near reports whether any figure of the operation is marked.
func (o OpFigures) Near() bool {
	near := o.Rate.Near
	for _, t := range []*Times{o.Latency, o.Service, o.FirstDelta} {
		near = near || t != nil && slices.ContainsFunc(t.list(), func(q *Quantity) bool { return q != nil && q.Near })
	}
	return near
}

func (t *Times) list() []*Quantity { return []*Quantity{t.P50, t.P90, t.P99, t.P999} }
