package main

import (
	"fmt"
	"strings"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// failures are the first questions that did not pass, in the order in which they finished.
type failures struct {
	failed []result.Record // at most listedFailures
	more   int             // the number of the others
}

// add keeps a record that did not pass if it is one of the first.
func (f *failures) add(r result.Record) {
	if len(f.failed) < listedFailures {
		f.failed = append(f.failed, r)
	} else {
		f.more++
	}
}

// failures prints the first questions that did not pass.
func (t *terminal) failures(id result.Identity, f failures) {
	t.blank()
	if len(f.failed) == 0 {
		return
	}
	for _, r := range f.failed {
		mark, text := t.failure(id, r)
		fmt.Fprintln(t.w, t.wrap("  "+mark+" ", text))
	}
	if f.more > 0 {
		fmt.Fprintf(t.w, "  … and %d more, see the result file\n", f.more)
	}
	t.blank()
}

// failure returns a mark for the outcome of a failed question, and its description.
func (t *terminal) failure(id result.Identity, r result.Record) (mark, text string) {
	name := short(r.ID, 40)
	if r.Repeat > 0 {
		name += fmt.Sprintf(" #%d", r.Repeat)
	}
	if len(r.Tags) > 0 {
		name += " " + short(r.Tags[0], 24)
	}
	switch r.Outcome {
	case result.Errored:
		text = fmt.Sprintf("%s  %s (%s)", name, errorText(r), count(r.Attempts, "attempt"))
		return t.tint(false, "ERR "), text
	case result.Unscored:
		return t.tint(false, "????"), fmt.Sprintf("%s  %s", name, short(r.Reason, 200))
	}
	mark = t.tint(false, "FAIL")
	want := r.Reference
	switch needsOf(id.Scorer) {
	case scorer.NeedExpected:
		want = strings.Join(r.Expected, " | ")
	case scorer.NeedGold:
		want = short(strings.Join(r.ExpectedPaths, " | "), 72)
		return mark, fmt.Sprintf("%s  %s: expected \"%s\"", name, short(r.Reason, 200), want)
	}
	text = fmt.Sprintf("%s  expected \"%s\"  got \"%s\"%s", name, short(want, 48), short(r.Answer, 72), blame(id, r))
	return mark, text
}

// errorText returns why a question has no answer.
func errorText(r result.Record) string {
	if r.Error == nil {
		return "no reason is recorded"
	}
	return short(r.Error.Message, 200)
}

// needsOf returns what a scorer needs of a question. A scorer that this evalctl does not know needs
// a reference.
func needsOf(name string) scorer.Need {
	k, err := scorer.Find(name)
	if err != nil {
		return scorer.NeedReference
	}
	return k.Needs
}

// blame names the stage in which a failed question was lost, if its gold documents show it.
func blame(id result.Identity, r result.Record) string {
	if r.Retrieval == nil {
		return ""
	}
	rank, gold := r.GoldRank(), len(r.Retrieval.Gold)
	switch r.LostAt(id.Scenario, id.TopK) {
	case result.StageRetrieval:
		if rank == 0 {
			return "  gold not retrieved → retrieval"
		}
		found := 0
		for _, g := range r.Retrieval.Gold {
			if g.Rank > 0 {
				found++
			}
		}
		return fmt.Sprintf("  %d of %d gold retrieved → retrieval", found, gold)
	case result.StageReader:
		return fmt.Sprintf("  gold at rank %d → reader", rank)
	}
	return fmt.Sprintf("  gold at rank %d", rank)
}
