package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

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
	if sum, err := fileSHA256(g.Path); err != nil || sum != g.SHA256 {
		return nil
	}
	r, err := result.Open(g.Path)
	if err != nil {
		return nil
	}
	defer r.Close()
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

func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
