package compare

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"evalctl/harness/key"
	"evalctl/harness/result"
)

// keys checks whether the runs measured the same thing over the questions of a. It returns a
// key.IncomparableError for differences that matter and were not accepted.
func keys(runs []*Run, names []string, a *alignment, opts Options) ([]key.Agreement, error) {
	files := make([]*key.File, len(runs))
	for i, r := range runs {
		files[i] = &key.File{Name: names[i], Result: r.res, Asked: &key.QuestionKey{
			Questions: fmt.Sprintf("%d, sha256 %s", len(a.ids[i]), result.IDsSHA256(slices.Values(a.ids[i]))),
			Dates:     a.dates(i),
			Gold:      a.gold(i, func(q *question) [sha256.Size]byte { return q.gold }),
			Documents: a.gold(i, func(q *question) [sha256.Size]byte { return q.documents }),
		}}
	}
	accept := opts.Accept
	if opts.Intersect {
		accept = slices.Concat(accept, key.OfQuestions())
	}
	all, refused := key.Check(opts.For, files, accept)
	for i := range all {
		if k := &all[i]; k.Name == "questions" && k.State == key.Differs {
			k.Note = fmt.Sprintf("%d are in all runs", a.common)
		}
	}
	if refused != nil {
		refused.Common = a.common
		return nil, refused
	}
	return all, nil
}
