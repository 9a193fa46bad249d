package verify

import (
	"evalctl/harness/aggregate"
	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
)

// openBaseline reads a result's baseline, nil if it has none or if the file at its path is
// unreadable or another file.
func openBaseline(res *result.Result) *aggregate.Baseline {
	if res.Gate == nil || res.Gate.Baseline == nil {
		return nil
	}
	g := res.Gate.Baseline
	r, err := resultfile.Open(g.Path)
	if err != nil {
		return nil
	}
	defer r.Close()
	if sum, err := r.SHA256(); err != nil || sum != g.SHA256 {
		return nil
	}
	b, err := aggregate.ReadBaseline(r, g.Path, g.Margin)
	if err != nil {
		return nil
	}
	base := r.Result()
	b.Accepted, b.Differs = g.Accepted, key.Changed(key.Gate, base.Identity, res.Identity)
	return b
}
