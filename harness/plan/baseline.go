package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/aggregate"
	"evalctl/harness/compare"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Baseline is an opened result that a run is compared with, question by question.
type Baseline struct {
	aggregate.Baseline
	id result.Identity
}

// incomparableError means that a baseline did not measure what the run does.
type incomparableError struct {
	path string
	// problem is why, if the differences are not.
	problem string
	// differences have the key, the value of the baseline and the value of the run.
	differences [][]string
}

func (e *incomparableError) Error() string {
	if e.problem != "" {
		return fmt.Sprintf("--baseline %s: %s", e.path, e.problem)
	}
	table := terminal.Table(append([][]string{{"", "baseline", "this run"}}, e.differences...), 3)
	return fmt.Sprintf("--baseline %s did not measure the same thing:\n%sname a result of the same dataset, corpus, "+
		"scorer, judge, scenario and top-k, or measure the baseline again", e.path, table)
}

// Unwrap makes the exit code that of compare.
func (e *incomparableError) Unwrap() error { return compare.ErrIncomparable }

// measures are the keys of an identity in which a run and its baseline must agree. What else
// differs is what is compared.
var measures = []string{
	"schema_version", "brain_tag", "scenario", "top_k", "scorer", "judge", "dataset.sha256", "dataset.repeats", "corpus", "replay",
}

// OpenBaseline reads a result file, nil if path is empty. id is the identity of the run that is
// compared with it. A baseline that is not comparable is an incomparableError.
func OpenBaseline(path string, margin float64, id result.Identity) (*Baseline, error) {
	if path == "" {
		return nil, nil
	}
	r, err := result.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--baseline: %w", err)
	}
	defer r.Close()
	res := r.Result()
	if err := checkBaseline(path, res, id); err != nil {
		return nil, err
	}
	read, err := aggregate.ReadBaseline(r, path, margin)
	if err != nil {
		return nil, fmt.Errorf("--baseline: %w", err)
	}
	return &Baseline{Baseline: *read, id: res.Identity}, nil
}

// checkBaseline returns an incomparableError if a result cannot be compared with the run of id.
func checkBaseline(path string, res result.Result, id result.Identity) error {
	e := &incomparableError{path: path}
	switch g := res.Gate; g.Verdict {
	case result.Inconclusive:
		e.problem = fmt.Sprintf("its run stopped (%s) after %d of %s; finish it with --resume, or name another result",
			g.Stopped, res.Counts.Finished(), figure.Count(res.Planned, "question"))
		return e
	case result.Invalid:
		e.problem = fmt.Sprintf("it is not a score: %s; name another result", g.Sentence)
		return e
	}
	was, is := res.Identity.Leaves(), id.Leaves()
	for _, key := range res.Identity.Changed(id) {
		if slices.ContainsFunc(measures, func(m string) bool { return key == m || strings.HasPrefix(key, m+".") }) {
			e.differences = append(e.differences, []string{key, leaf(was[key]), leaf(is[key])})
		}
	}
	if len(e.differences) > 0 {
		return e
	}
	return nil
}

// leaf returns the value of a key for the table of differences. Hashes are abbreviated.
func leaf(text string) string {
	text = strings.Trim(cmp.Or(text, "none"), `"`)
	if sum, err := hex.DecodeString(text); err == nil && len(sum) == sha256.Size {
		return terminal.Short(text, 9)
	}
	return terminal.Short(text, 64)
}

// Against returns the baseline for the run of id, which has the version of the daemon.
// It is nil without a baseline.
func (b *Baseline) Against(id result.Identity) *aggregate.Baseline {
	if b == nil {
		return nil
	}
	b.Differs = b.id.Changed(id)
	return &b.Baseline
}
