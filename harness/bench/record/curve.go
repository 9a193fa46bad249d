package record

// CurvePoint says which share of the requests had ended with success after a time.
type CurvePoint struct{ MS, Share float64 }

// Curve returns the distribution of the latencies of all operations of a target at a stage and size.
// Requests that did not succeed are slower than any, so the curve ends below 1 if there are some.
func (f *File) Curve(target, stage, size int) (points []CurvePoint) {
	var ops []OpBlock
	for _, b := range f.blocks(target, stage, size) {
		ops = append(ops, b.Ops...)
	}
	all := total(All, ops)
	if all.Latency.N() == 0 {
		return nil
	}
	for i := range 1000 {
		p := float64(i+1) / 1000
		ns := all.Latency.among(p, all.Offered)
		if ns == never {
			break
		}
		points = append(points, CurvePoint{milliseconds(ns), p})
	}
	return points
}
