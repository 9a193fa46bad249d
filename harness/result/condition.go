package result

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/internal/jsonobj"
	"evalctl/internal/visible"
	"evalctl/scorer"
)

// Conditioned returns the verdict on the answer of the question, with a score of 0 if a forbidden
// text came back or a required citation is missing. A verdict without a score is unchanged.
func (r *Record) Conditioned(v scorer.Verdict) scorer.Verdict {
	if broken := r.Broken(); broken != "" && v.Scored {
		v.Score, v.Reason = 0, broken
	}
	return v
}

// Broken names the condition of the question that the answer breaks, independently of the scorer.
// It is empty if there is none, and may quote the dataset.
func (r *Record) Broken() string {
	switch {
	case len(r.Leaks) == 1:
		return r.Leaks[0].String()
	case len(r.Leaks) > 1:
		return fmt.Sprintf("%s, and %d more", r.Leaks[0], len(r.Leaks)-1)
	case len(r.MustCite) > 0 && !slices.ContainsFunc(r.MustCite, r.cites):
		return fmt.Sprintf("none of the documents is cited that must be: %s", strings.Join(r.MustCite, ", "))
	}
	return ""
}

// cites reports whether the answer cites a document. For an answer without citations, the retrieved
// passages count.
func (r *Record) cites(path string) bool {
	named := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			name, path := visible.Path(name), visible.Path(path)
			return bare(name) == bare(path) || strings.HasSuffix(name, "/"+bare(path))
		})
	}
	if len(r.Citations) == 0 {
		return slices.ContainsFunc(r.Retrieved, func(c Chunk) bool { return named(c.Path, c.DocumentID) })
	}
	for _, raw := range r.Citations {
		o, err := jsonobj.Parse(raw)
		if err != nil {
			continue
		}
		chunk, document := o.Text("chunk_id", "chunkId"), o.Text("document_id", "documentId")
		if named(o.Text("path"), document) {
			return true
		}
		if slices.ContainsFunc(r.Retrieved, func(c Chunk) bool {
			return (chunk != "" && c.ChunkID == chunk || chunk == "" && document != "" && c.DocumentID == document) &&
				named(c.Path, c.DocumentID)
		}) {
			return true
		}
	}
	return false
}
