package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/printable"
)

// replayFigures adds the parts specific to a replay: estimates for the whole benchmark, errata, the
// check of the judge, and the causes of losses.
func (run *Run) replayFigures(s *form.Section) {
	r, n := run.Result.Replay, run.Result.Counts.Total
	if r == nil {
		return
	}
	var parts []string
	if w := r.Estimate(); w != nil && r.Sample.Size < r.Sample.Population {
		parts = append(parts, fmt.Sprintf("all %d questions %.3f [%.3f %.3f] (%s)", r.Sample.Population, w.Mean, w.Interval.Low, w.Interval.High, wording.IntervalName(&w.Interval)))
	}
	if r.Macro != nil {
		parts = append(parts, fmt.Sprintf("mean of the strata %.3f", *r.Macro))
	}
	if len(parts) > 0 {
		s.Fact("estimate", "%s", form.Parts(parts...))
	}
	if e := r.Errata; e != nil && e.OriginalPassRate != nil {
		s.Fact("original", "%.3f  %d/%d by the dataset's own gold, %s (errata: %d excluded, %d corrected)",
			*e.OriginalPassRate, e.Original.Passed, e.Original.Total, wording.Interval(e.OriginalInterval), e.Excluded, e.Corrected)
	}
	controls(s, r.Controls)
	lost, causes := 0, []form.Text{{}}
	for _, cause := range slices.SortedFunc(maps.Keys(r.Losses), func(a, b result.Cause) int {
		return cmp.Or(cmp.Compare(r.Losses[b], r.Losses[a]), strings.Compare(string(a), string(b)))
	}) {
		causes = append(causes, form.F("%s %d", form.Name(strings.ReplaceAll(string(cause), "_", "-")), r.Losses[cause]))
		lost += r.Losses[cause]
	}
	if causes[0] = form.F("%d of %d", lost, n); lost > 0 {
		s.FactIn(form.Terminal, "losses", "%s", form.Parts(causes...))
	}
	var verdicts []form.Text
	for _, v := range sortedKeys(r.Verdicts) {
		verdicts = append(verdicts, form.F("%s %d", form.Name(v), r.Verdicts[v]))
	}
	if len(verdicts) > 0 {
		s.FactIn(form.Pages, "verdicts", "%s", form.Parts(verdicts...))
	}
}

// maxFailedControls limits the listed misjudged controls.
const maxFailedControls = 5

// controls adds the verdicts on answers known to be right or wrong.
func controls(s *form.Section, c *result.Controls) {
	if c == nil {
		return
	}
	word := form.Toned(form.Good, "VALID")
	switch {
	case !c.Valid():
		word = form.Toned(form.Bad, "INVALID")
	case !c.Enough():
		word = form.Toned(form.Bad, "NOT JUDGED")
	}
	right, wrong := c.Judged()
	parts := []form.Text{form.F("%s  %d/%d right passed, %d/%d wrong failed", word, c.RightPassed, right, c.WrongFailed, wrong)}
	if c.FalsePositiveRate != nil {
		parts = append(parts, form.F("false positives %.3f", *c.FalsePositiveRate))
	}
	if c.FalseNegativeRate != nil {
		parts = append(parts, form.F("false negatives %.3f", *c.FalseNegativeRate))
	}
	if c.Unscored > 0 {
		parts = append(parts, form.F("%d without a verdict", c.Unscored))
	}
	s.Fact("controls", "%s", form.Parts(parts...))
	failed := func(what string, list []result.FailedControl, most int) {
		for _, f := range list[:min(len(list), most)] {
			s.Fact("", "%s: %s, %s \"%s\": %s", what, form.Name(f.ID), form.Name(f.Kind), form.Data(printable.Short(f.Answer, 60)), form.Data(printable.Short(f.Reason, 240)))
		}
		if more := len(list) - most; more > 0 {
			s.Fact("", "… and %d more, see the result file", more)
		}
	}
	failed("misjudged", c.Failed, maxFailedControls)
	failed("no verdict", c.Unjudged, 1) // most often all for the same reason
	if note := wording.Controls(c); note != "" {
		s.Warn(form.Everywhere, "%s", note)
	}
}

// listedDisputes limits the disputed answers on a terminal.
const listedDisputes = 8

// panel adds the verdicts of the recipes of a panel, disputed answers first.
func panel(s *form.Section, p *result.Panel) {
	if p == nil {
		return
	}
	n := len(p.Disputed)
	s.Show(form.Terminal, form.Gap{})
	s.Fact("disputed", "%s on which the recipes disagree", figure.Count(n, "answer"))
	for _, d := range p.Disputed[:min(n, listedDisputes)] {
		s.FactIn(form.Terminal, "", "%s", form.Data(d.String()))
	}
	if n > listedDisputes {
		s.FactIn(form.Terminal, "", "… and %d more, all in the result", n-listedDisputes)
	}
	disputed := form.NewTable(form.F("Disputed answers, the most evenly split first"), "disputed", "passed by", "failed by")
	for _, d := range p.Disputed {
		disputed.Row(form.Name(d.ID), form.Join(", ", form.Names(d.Passed)...), form.Join(", ", form.Names(d.Failed)...))
	}
	s.Show(form.Pages, disputed)
	s.Show(form.Terminal, form.Gap{})
	recipes := form.NewTable(form.F("Pass rates by recipe, with their 95%% intervals"), "recipe", ">passed", ">pass rate", "#0 to 1", ">unscored")
	for i, r := range p.Recipes {
		name := form.F("%s", form.Name(r.Recipe))
		if i == 0 {
			name = form.F("%s (headline)", name)
		}
		recipes.Row(name, fmt.Sprintf("%d/%d", r.Counts.Passed, r.Counts.Total), rateWithin(r.PassRate, r.Interval), rateBar(r.PassRate, r.Interval, math.NaN()), r.Counts.Unscored)
	}
	s.Show(form.Everywhere, recipes)
	t := form.NewTable(form.F("Agreement of recipes"), "agreement", ">answers", ">agree", ">kappa", ">AC1")
	for _, a := range p.Pairs {
		t.Row(form.F("%s, %s", form.Name(a.First), form.Name(a.Second)), a.N, figure.Rate(a.Agreement), a.Kappa, a.AC1)
	}
	if len(p.Recipes) > 2 {
		t.Row("all, Fleiss' kappa", p.Judged, "", p.Fleiss, p.AC1)
	}
	s.Show(form.Everywhere, t)
	if p.Low != nil && p.High != nil {
		s.Fact("span", "%.3f to %.3f over %s; the headline is %s", *p.Low, *p.High, figure.Count(len(p.Recipes), "recipe"), form.Name(p.Headline))
	}
}
