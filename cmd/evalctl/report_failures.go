package main

import (
	"fmt"
	"strings"

	"evalctl/harness/result"
	"evalctl/scorer"
)

func (t *terminal) failures(c *runCmd, p *progress) {
	t.blank()
	if len(p.failed) == 0 {
		return
	}
	for _, r := range p.failed {
		mark, text := t.failure(c, r)
		fmt.Fprintln(t.w, t.wrap("  "+mark+" ", text))
	}
	if p.more > 0 {
		fmt.Fprintf(t.w, "  … and %d more, see the result file\n", p.more)
	}
	t.blank()
}

// failure returns a mark for the outcome of a failed question, and its description.
func (t *terminal) failure(c *runCmd, r result.Record) (mark, text string) {
	name := short(r.ID, 40)
	if len(r.Tags) > 0 {
		name += " " + short(r.Tags[0], 24)
	}
	switch r.Outcome {
	case result.Errored:
		text = fmt.Sprintf("%s  %s (%s)", name, short(r.Error.Message, 200), count(r.Attempts, "attempt"))
		return t.tint(false, "ERR "), text
	case result.Unscored:
		return t.tint(false, "????"), fmt.Sprintf("%s  %s", name, short(r.Reason, 200))
	}
	mark = t.tint(false, "FAIL")
	want := r.Reference
	switch c.scorer.Needs {
	case scorer.NeedExpected:
		want = strings.Join(r.Expected, " | ")
	case scorer.NeedGold:
		want = short(strings.Join(r.ExpectedPaths, " | "), 72)
		return mark, fmt.Sprintf("%s  %s: expected \"%s\"", name, r.Reason, want)
	}
	text = fmt.Sprintf("%s  expected \"%s\"  got \"%s\"%s", name, short(want, 48), short(r.Answer, 72), c.blame(r))
	return mark, text
}

// blame names the stage in which a failed question was lost, if its gold documents show it.
func (c *runCmd) blame(r result.Record) string {
	if r.Retrieval == nil {
		return ""
	}
	rank, gold := r.GoldRank(), len(r.Retrieval.Gold)
	switch r.LostAt(c.scenario.Name, c.TopK) {
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
