package result

import (
	"cmp"
	"slices"
	"strings"

	"evalctl/internal/jsonobj"
	"evalctl/internal/visible"
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

// documents returns the cited and the retrieved documents for a scorer. A citation of a
// retrieved chunk or document is that document.
func (r *Record) documents() (cited, retrieved []scorer.Document) {
	known := map[string]int{} // the first chunk of each name
	for i, c := range r.Retrieved {
		retrieved = append(retrieved, c.document())
		if len(r.Citations) == 0 {
			continue
		}
		for _, name := range c.names() {
			if _, ok := known[name]; !ok {
				known[name] = i
			}
		}
	}
	for _, raw := range r.Citations {
		o, err := jsonobj.Parse(raw)
		if err != nil {
			continue
		}
		own := Chunk{
			Path: o.Text("path"), DocumentID: o.Text("document_id", "documentId"), Date: o.Text("date"),
			ChunkID: o.Text("chunk_id", "chunkId"),
		}
		document := own.document()
		for _, name := range own.names() {
			if at, ok := known[name]; ok {
				document = retrieved[at]
				break
			}
		}
		cited = append(cited, document)
	}
	return cited, retrieved
}

// names returns what identifies a chunk and then its document, by kind.
func (c Chunk) names() (names []string) {
	if c.ChunkID != "" {
		names = append(names, "chunk "+c.ChunkID)
	}
	for _, name := range []string{c.Path, c.DocumentID} {
		if name != "" {
			names = append(names, "document "+visible.Path(bare(name)))
		}
	}
	return names
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
