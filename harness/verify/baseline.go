package verify

import (
	"evalctl/harness/aggregate"
	"evalctl/harness/result"
)

// openBaseline reads the baseline of a result, nil if it has none, or if the file at its path cannot
// be read or is another one.
func openBaseline(res *result.Result) *aggregate.Baseline {
	if res.Gate == nil || res.Gate.Baseline == nil {
		return nil
	}
	g := res.Gate.Baseline
	r, err := result.Open(g.Path)
	if err != nil {
		return nil
	}
	defer r.Close()
	if sum, err := r.SHA256(); err != nil || sum != g.SHA256 {
		return nil
	}
	base := r.Result()
	b := &aggregate.Baseline{
		Path: g.Path, SHA256: g.SHA256, SDK: base.SDK, Differs: base.Identity.Changed(res.Identity),
		Margin: g.Margin, Passed: map[string]bool{}, Unscored: map[string]bool{},
	}
	for rec, err := range r.Questions() {
		if err != nil {
			return nil
		}
		b.Add(rec)
	}
	return b
}
