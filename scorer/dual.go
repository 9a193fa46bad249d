package scorer

import (
	"context"
	"slices"
)

// dual scores the answers of some items twice.
type dual struct {
	Scorer
	original map[string]Reference
}

// Reference is a question's expected answer before its correction.
type Reference struct {
	Answer string
	// Expected are its expected substrings; nil means the item's own.
	Expected []string
	// Checks are its checks; nil means the item's own.
	Checks []Check
	// Type is the question's type before the correction.
	Type string
}

// NewDual returns a scorer for items whose reference may have been corrected. It scores an answer
// by the item's own reference and, if the item's id is in original, also by the reference there, as
// Verdict.Original. The verdict includes the cost of both. If the original reference cannot be
// scored, for example because it is empty, the answer is unscored by it.
//
// If the only expected substring of an item is its reference, an original reference without
// substrings of its own replaces both.
func NewDual(s Scorer, original map[string]Reference) Scorer {
	return dual{s, original}
}

// Score makes both judgements. If either fails, the verdict is unscored.
func (d dual) Score(ctx context.Context, item Item) (Verdict, error) {
	v, err := d.Scorer.Score(ctx, item)
	ref, ok := d.original[item.ID]
	if err != nil || !ok {
		return v, err
	}
	item = ref.item(item)
	if err := d.Check(item); err != nil {
		v.Original = &Verdict{Reason: err.Error()}
		return v, nil
	}
	original, err := d.Scorer.Score(ctx, item)
	v.spend(original)
	if err != nil {
		v.Scored, v.Score = false, 0
		return v, err
	}
	v.Original, v.Unanswered = &original, v.Unanswered || original.Unanswered
	return v, nil
}

// item returns an item with the original reference.
func (r Reference) item(item Item) Item {
	switch {
	case r.Expected != nil:
		item.Expected = r.Expected
	case slices.Equal(item.Expected, []string{item.Reference}):
		item.Expected = []string{r.Answer}
	}
	if r.Checks != nil {
		item.Checks = r.Checks
	}
	item.Reference, item.Type = r.Answer, r.Type
	return item
}
