package result

import (
	"cmp"
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
	if _, ok := scorer.Day(c.CorpusDate); !ok && c.Date != "" {
		d.Date = c.Date // the daemon may have read what a check cannot
	}
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
