package plan

import (
	"fmt"

	"evalctl/harness/aggregate"
	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/figure"
)

// Baseline is an opened result that a run is compared with, question by question.
type Baseline struct {
	aggregate.Baseline
	id result.Identity
}

// openBaseline reads a result file, or returns nil if path is empty. id is the identity of the run
// to compare, which may differ in the settings named in accept. The error for an incomparable
// baseline wraps key.ErrIncomparable.
func openBaseline(path string, margin float64, accept []string, id result.Identity) (*Baseline, error) {
	if path == "" {
		return nil, nil
	}
	r, err := resultfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--baseline: %w", err)
	}
	defer r.Close()
	res := r.Result()
	accepted, err := checkBaseline(path, res, accept, id)
	if err != nil {
		return nil, fmt.Errorf("--baseline %s: %w", path, err)
	}
	read, err := aggregate.ReadBaseline(r, path, margin)
	if err != nil {
		return nil, fmt.Errorf("--baseline: %w", err)
	}
	read.Accepted = accepted
	return &Baseline{Baseline: *read, id: res.Identity}, nil
}

// checkBaseline checks that a result is comparable with the run of id, and describes the accepted
// differences.
func checkBaseline(path string, res result.Result, accept []string, id result.Identity) (string, error) {
	switch g := res.Gate; g.Verdict {
	case result.Inconclusive:
		return "", fmt.Errorf("%w: its run stopped (%s) after %d of %s; finish it with --resume, or name another result",
			key.ErrIncomparable, g.Stopped, res.Counts.Finished(), figure.Count(res.Planned, "question"))
	case result.Invalid:
		return "", fmt.Errorf("%w: the baseline is not a score: %s; name another result", key.ErrIncomparable, g.Sentence)
	}
	planned := &result.Result{SDK: id.SDK, ScorerName: id.Scorer, Identity: id}
	files := []*key.File{{Name: path, Result: &res}, {Name: "this run", Result: planned}}
	keys, refused := key.Check(key.Gate, files, accept)
	if refused != nil {
		return "", fmt.Errorf("%w; name another result, or measure the baseline again", refused)
	}
	return key.Accepted([]string{path, "this run"}, keys), nil
}

// Against returns the baseline for the run of id, which includes the daemon's version. It is nil
// without a baseline.
func (b *Baseline) Against(id result.Identity) *aggregate.Baseline {
	if b == nil {
		return nil
	}
	b.Differs = key.Changed(key.Gate, b.id, id)
	return &b.Baseline
}
