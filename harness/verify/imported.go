package verify

import (
	"fmt"
	"slices"

	"evalctl/harness/result"
	"evalctl/internal/inputfile"
)

// sources compares the files of imported answers with their digests, and returns the paths of
// unreadable files.
func sources(res *result.Result, rep *Report) (absent []string) {
	if res.Imported == nil || res.Identity.Imported == nil {
		return nil
	}
	var sums []string
	for i, file := range res.Imported.Files {
		sums = append(sums, file.SHA256)
		sum, err := inputfile.Digest(file.Path)
		path := fmt.Sprintf(".imported.files[%d].sha256", i)
		switch {
		case err != nil:
			absent = append(absent, file.Path)
		case sum != file.SHA256:
			rep.add(Difference{Path: path, InFile: text(file.SHA256), Recomputed: text(sum), Problem: text(file.Path) + " has changed"})
		}
	}
	if id := res.Identity.Imported; !slices.Equal(id.SHA256, sums) {
		rep.add(Difference{Path: ".identity.imported.sha256", InFile: text(id.SHA256), Recomputed: text(sums)})
	}
	return absent
}

// votes checks the score of an imported answer with several judgements.
func (c *checker) votes(r *result.Record, add reporter) {
	if len(r.Votes) == 0 {
		return
	}
	score, known := c.rule.Score(r.Votes)
	switch {
	case known != (r.Score != nil):
		add(Difference{Path: ".score", InFile: text(r.Score), Problem: "the votes decide by their rule: " + text(known)})
	case known && !near(*r.Score, score):
		add.differ(".score", *r.Score, score)
	}
}
