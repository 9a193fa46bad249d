package result

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"evalctl/internal/jsonobj"
	"evalctl/scorer"
)

// Check is a check of a question, with its outcome if the scorer applies checks.
type Check struct {
	scorer.Check
	// Holds is nil if the check was not applied, or has no usable verdict.
	Holds *bool `json:"holds,omitempty"`
	// Reason is the reason for Holds, or for the lack of a verdict.
	Reason string `json:"reason,omitempty"`
}

// NewChecks returns checks without outcomes.
func NewChecks(checks []scorer.Check) []Check {
	var out []Check
	for _, c := range checks {
		out = append(out, Check{Check: c})
	}
	return out
}

// CheckDefinitions returns the checks of the question, without their outcomes.
func (r *Record) CheckDefinitions() []scorer.Check {
	var out []scorer.Check
	for _, c := range r.Checks {
		out = append(out, c.Check)
	}
	return out
}

// withOutcomes returns the checks with their outcomes, which must be in the same order.
func withOutcomes(checks []Check, outcomes []scorer.CheckResult) []Check {
	if len(outcomes) != len(checks) {
		return checks
	}
	out := slices.Clone(checks)
	for i, o := range outcomes {
		out[i].Reason, out[i].Holds = o.Reason, nil
		if o.Scored {
			out[i].Holds = new(o.Holds)
		}
	}
	return out
}

// CheckResults returns the recorded outcomes of the checks.
func (r *Record) CheckResults() []scorer.CheckResult {
	var out []scorer.CheckResult
	for _, c := range r.Checks {
		out = append(out, scorer.CheckResult{Holds: c.Holds != nil && *c.Holds, Scored: c.Holds != nil, Reason: c.Reason})
	}
	return out
}

// ByCheck yields the labels of the question's checks, in order and without repetitions. Each comes
// with the record as judged by the checks with this label: it passed if all of them hold, and is
// unscored if none fails and one has no verdict.
func (r *Record) ByCheck() iter.Seq2[string, Record] {
	return func(yield func(string, Record) bool) {
		var labels []string
		failed, open := map[string]bool{}, map[string]bool{} // known labels are in failed
		for _, c := range r.Checks {
			label := c.Label()
			if _, known := failed[label]; !known {
				labels = append(labels, label)
			}
			failed[label] = failed[label] || c.Holds != nil && !*c.Holds
			open[label] = open[label] || c.Holds == nil
		}
		graded := r.Outcome != Errored && r.Outcome.Counts()
		for _, label := range labels {
			of := *r
			if graded {
				of.Outcome, of.Passed = Scored, !failed[label]
			}
			if graded && open[label] && !failed[label] {
				of.Outcome, of.Passed = Unscored, false
			}
			if !yield(label, of) {
				return
			}
		}
	}
}

// documents returns the cited and the retrieved documents for a scorer.
func (r *Record) documents() (cited, retrieved []scorer.Document) {
	byID := map[string]int{} // the first chunk of each id
	for i := range r.Retrieved {
		retrieved = append(retrieved, r.Retrieved[i].document())
		if id := r.Retrieved[i].ChunkID; id != "" && len(r.Citations) > 0 {
			if _, known := byID[id]; !known {
				byID[id] = i
			}
		}
	}
	for _, raw := range r.Citations {
		o, err := jsonobj.Parse(raw)
		if err != nil {
			continue
		}
		id := o.Text("chunk_id", "chunkId")
		if at, ok := byID[id]; ok {
			cited = append(cited, retrieved[at])
			continue
		}
		own := Chunk{
			Path: o.Text("path"), DocumentID: o.Text("document_id", "documentId"), Date: o.Text("date"),
			ChunkID: id,
		}
		cited = append(cited, own.document())
	}
	return cited, retrieved
}

// document returns the document of a chunk. Daemons may put documents below folders of their own,
// unless their names begin with SeedRoot.
func (c Chunk) document() scorer.Document {
	d := scorer.Document{Date: cmp.Or(c.CorpusDate, c.Date)}
	for _, name := range []string{c.Path, c.DocumentID} {
		bare, seeded := strings.CutPrefix(name, SeedRoot)
		d.Exact = d.Exact || seeded
		if bare != "" && !slices.Contains(d.Names, bare) {
			d.Names = append(d.Names, bare)
		}
	}
	if d.Names == nil {
		if other := cmp.Or(c.Title, c.ChunkID); other != "" {
			d.Names = []string{other}
		}
	}
	return d
}
