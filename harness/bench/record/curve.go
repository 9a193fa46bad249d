package record

// CurvePoint is the share of requests that succeeded within a time.
type CurvePoint struct{ MS, Share float64 }

// Curve returns the latency distribution of all operations of a target at a stage and size. Failed
// requests count as slower than any other, so with failures the curve ends below 1.
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
