package imports

import (
	"evalctl/harness/result"
	"evalctl/replay/source"
)

// errata lists the verdicts based on gold that errata correct, and counts with and without them.
func (im *Import) errata() {
	e := &result.ImportedErrata{OldKey: []string{}, Unknown: []string{}, Excluded: []string{}}
	for i, q := range im.matcher.questions {
		for repeat := 1; repeat <= im.repeats; repeat++ {
			a := im.answers[askedID{i, repeat}]
			if a == nil {
				continue
			}
			r := a.record(q.Dataset(), im.ID.VoteRule, im.judged)
			e.All.Add(r)
			list := listOf(e, q, a)
			if list == nil {
				e.Without.Add(r)
			} else if repeat == 1 {
				*list = append(*list, q.ID)
			}
		}
	}
	if len(e.OldKey)+len(e.Unknown)+len(e.Excluded) > 0 {
		im.Report.Errata = e
	}
}

// listOf returns the list in e for a question, nil for none.
func listOf(e *result.ImportedErrata, q source.Question, a *answer) *[]string {
	switch {
	case q.Erratum == nil:
		return nil
	case excluded(q):
		return &e.Excluded
	case fold(q.Erratum.OriginalAnswer) == fold(q.Answer):
		return nil // the errata correct its evidence only
	case a.gold == "":
		return &e.Unknown
	case fold(a.gold) == fold(q.Answer):
		return nil
	}
	return &e.OldKey
}
