package report

import (
	"fmt"
	"strings"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/scorer"
)

// rate returns the pass rate and the verdict, which come last on a terminal.
func (run *Run) rate() form.Section {
	res := &run.Result
	s := form.Section{ID: "rate", Title: "Pass rate", Place: form.Last}
	s.Show(form.Terminal, form.Gap{})
	run.tagPlot(&s)
	run.passRate(&s)
	g := res.Gate
	if g != nil && (res.Replay == nil || g.Word() != result.Measured) {
		run.gate(&s)
	}
	if g != nil && res.Replay == nil && g.Passed < g.Total {
		s.FactIn(form.Terminal, "lost at", "%s", g.Loss)
	}
	s.FactIn(form.Terminal, "file", "%s", form.Path(run.Path))
	if g != nil {
		s.FactIn(form.Pages, "without a score", "errors %d of %d allowed (%s)  unscored %d of %d allowed (%s)",
			g.MaxErrors.Count, g.MaxErrors.Allowed, g.MaxErrors.Max, g.MaxUnscored.Count, g.MaxUnscored.Allowed, g.MaxUnscored.Max)
	}
	if res.MeanScore != nil {
		mean := figure.Rate(res.MeanScore) + " over the scored questions"
		if res.MeanScoreInterval != nil {
			mean += ", " + wording.Interval(res.MeanScoreInterval)
		}
		s.FactIn(form.Pages&run.ifScored(), "mean score", "%s", mean)
	}
	return s
}

// passRate adds the pass rate with its interval.
func (run *Run) passRate(s *form.Section) {
	res := &run.Result
	if res.PassRate == nil {
		if n := res.Counts.Unjudged; n > 0 {
			s.Fact("pass rate", "none: the files have no verdict on %s; evalctl rescore judges them", figure.Count(n, "answer"))
			return
		}
		s.Fact("pass rate", "none: no question finished")
		return
	}
	n := res.Counts
	counted := fmt.Sprintf("%d scored", n.Scored)
	var lost []string
	if n.Errors > 0 {
		counted += fmt.Sprintf(" + %s (as fail)", figure.Count(n.Errors, "error"))
		lost = append(lost, "errors")
	}
	if n.Unscored > 0 {
		counted += fmt.Sprintf(" + %d unscored (as fail)", n.Unscored)
		lost = append(lost, "unscored")
	}
	if n.NoGold > 0 {
		counted += fmt.Sprintf("; %d %s", n.NoGold, leftOut(res))
	}
	if n.NotMeasurable > 0 {
		counted += fmt.Sprintf("; %d not measurable excluded", n.NotMeasurable)
	}
	if n.Unjudged > 0 {
		counted += fmt.Sprintf("; %d without a verdict in the files excluded", n.Unjudged)
	}
	if n.Scored > 0 && n.Scored < n.Total {
		counted += fmt.Sprintf("; %.3f excluding %s", float64(n.Passed)/float64(n.Scored), strings.Join(lost, " and "))
	}
	s.FactIn(run.ifScored(), "pass rate", "%.3f  %d/%d   %s   counted: %s", *res.PassRate, res.Passed, res.Total, wording.Interval(res.Believed()), counted)
	s.Fact("passed", "%s", passedText(res))
}

// leftOut says why questions do not count.
func leftOut(res *result.Result) string {
	if r := res.Replay; r != nil && r.Errata != nil && r.Errata.Excluded > 0 {
		if res.Counts.NoGold == r.Errata.Excluded {
			return "excluded by errata"
		}
		return "without " + lacking(res) + " or excluded by errata"
	}
	return "without " + lacking(res) + " excluded"
}

// lacking names the missing field because of which questions are left out.
func lacking(res *result.Result) string {
	if res.Identity.Scorer == (scorer.Order{}).Name() {
		return "checks called " + scorer.EventName
	}
	if res.GoldBy() == result.ByEvidence {
		return ofEvidence.field
	}
	return ofDocuments.field
}

// gate adds the verdict of a gate.
func (run *Run) gate(s *form.Section) {
	res, g := &run.Result, run.Result.Gate
	switch g.Verdict {
	case result.Pass, result.Fail, result.Measured:
		if g.Stopped != "" {
			s.Fact("floor", "%.3f  %s  %s", g.Floor, form.Toned(form.Bad, "FAIL"), form.Data(g.Sentence))
			return
		}
		floors(s, g)
	case result.Inconclusive:
		s.Fact("stopped", "%s after %d of %s: this is not a score", form.Name(g.Stopped), res.Counts.Finished(), figure.Count(res.Planned, "question"))
	case result.Invalid:
		s.Fact("invalid", "%s", form.Data(g.Sentence))
	}
}

// passWord returns PASS or FAIL.
func passWord(good bool) form.Text {
	if good {
		return form.Toned(form.Good, "PASS")
	}
	return form.Toned(form.Bad, "FAIL")
}

// maxChanged limits the ids of changed questions in the report. The result file has all.
const maxChanged = 20

// floors adds the comparison of a finished run with its floors and its baseline.
func floors(s *form.Section, g *result.Gate) {
	if g.FloorFrom != result.FloorNone {
		s.Fact("floor", "%.3f  %s  %s", g.Floor, passWord(g.Mode.Met(g.Passed, g.Required, g.Proof)), wording.Floor(g))
	}
	for _, tag := range g.Tags {
		s.Fact("floor", "%.3f  %s  tag %s: %s", tag.Floor, passWord(tag.Met), form.Name(tag.Tag), wording.TagFloor(tag, g.Mode))
	}
	b := g.Baseline
	if b == nil {
		return
	}
	s.Fact("baseline", "%s  %s", passWord(b.Verdict == result.NotWorse), form.Data(wording.Baseline(b)))
	text := form.F("%s  sha256 %s", form.Path(b.Path), form.Digest(b.SHA256))
	if b.Unpaired > 0 {
		text = form.F("%s  %s left out", text, figure.Count(b.Unpaired, "unpaired question"))
		if b.Unscored > 0 {
			text = form.F("%s (%d unscored)", text, b.Unscored)
		}
	}
	if len(b.Differs) > 0 {
		text = form.F("%s  differs in %s", text, form.Join(", ", form.Names(b.Differs)...))
	}
	s.Fact("", "%s", text)
	for _, list := range []struct {
		name string
		ids  []string
	}{{"broke", b.Broke}, {"fixed", b.Fixed}} {
		if len(list.ids) > 0 {
			s.Fact(list.name, "%d: %s", len(list.ids), someOf(list.ids, maxChanged, " "))
		}
	}
}
