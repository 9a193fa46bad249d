package report

import (
	"fmt"
	"math"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// pairFacts adds the intervals that allow for similar questions, and the conclusions from the
// figures of a pair. For the largest difference that is not shown to be real, a terminal shows the
// smallest one that could have been detected.
func (c Comparison) pairFacts(s *form.Section) {
	for i, r := range c.Runs {
		k := r.Clustered
		if k == nil {
			continue
		}
		by := form.F("%s", form.Name(k.Tag))
		if k.Tag == "" {
			by = form.F("question, whose repeats are alike")
		}
		if n := len(r.Files); n > 1 {
			by = form.F("%s, and %d runs", by, n)
		}
		none := ""
		if k.Interval == nil {
			none = "  no interval: one cluster, or all alike"
		}
		s.Fact("clusters", "%s  %d by %s%s   as if all were independent: %s", c.run(i), k.Clusters, by, none, wording.Ends(r.Interval))
	}
	var widest *compare.Pair
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if p.PowerText() != "" && (widest == nil || math.Abs(*p.Difference) > math.Abs(*widest.Difference)) {
			widest = p
		}
		if p.Unscored > 0 {
			s.FactIn(form.Pages, "left out", "%s: %s without a score in one of the runs", c.pair(p.Run, p.Reference), figure.Count(p.Unscored, "question"))
		}
		if p.Margin != nil {
			c.margin(s, p)
		}
		if text := p.RecipesText(); text != "" {
			s.Fact("recipes", "%s: %s", c.pair(p.Run, p.Reference), form.Data(text))
		}
	}
	for i := range c.Pairs {
		p, in := &c.Pairs[i], form.HTML
		if p == widest {
			in = form.Everywhere
		}
		if text := p.PowerText(); text != "" {
			s.FactIn(in, "power", "%s: %s", c.pair(p.Run, p.Reference), text)
		}
	}
}

func (c Comparison) margin(s *form.Section, p *compare.Pair) {
	m := p.Margin
	why := "no interval"
	if m.Interval != nil {
		why = fmt.Sprintf("the interval [%s %s] %s -%.1fpp", figure.Points(m.Interval.Low), figure.Points(m.Interval.High),
			map[result.BaselineVerdict]string{
				result.NotWorse: "is above", result.Worse: "is below", result.Unknown: "contains",
			}[m.Verdict], 100*m.Margin)
	}
	if m.P != nil {
		why += fmt.Sprintf("  one-sided p %s of a loss of %.1fpp or more", figure.Probability(*m.P), 100*m.Margin)
	}
	tone := map[result.BaselineVerdict]form.Tone{result.NotWorse: form.Good, result.Worse: form.Bad}[m.Verdict]
	s.Fact("margin", "%s  %s  %s", c.pair(p.Run, p.Reference), form.Toned(tone, strings.ToUpper(verdictWords(m.Verdict))), why)
}

// idsShown limits the ids of a list on a terminal. The other forms show all.
const idsShown = 12

// disagreements lists the questions that the first run passed and another did not, or the reverse.
func (c Comparison) disagreements(s *form.Section) {
	list := func(passed, failed int, ids []string) {
		if len(ids) == 0 {
			return
		}
		how := "%s passed, %s did not (%d): %s"
		if c.Repeated {
			how = "%s passed more often than %s (%d): %s"
		}
		s.FactIn(form.Terminal, "disagree", how, c.run(passed), c.run(failed), len(ids), someOf(ids, idsShown, " "))
	}
	for _, p := range c.Pairs {
		if p.Reference == 0 {
			list(0, p.Run, p.OnlyReferenceIDs)
			list(p.Run, 0, p.OnlyRunIDs)
		}
	}
}

// closing has the verdict, its reason and the next command.
func (c Comparison) closing() form.Section {
	return form.Closing(c.verdict().Headline, c.reason(), c.next())
}

// reason is the pair that says most.
func (c Comparison) reason() form.Text {
	pairs := c.ordered()
	if len(pairs) == 0 {
		return form.Text{}
	}
	return form.F("%s", form.Data(c.sentence(pairs[0])))
}

// next returns the command that shows more: of a question on which the runs disagree, or else a
// page.
func (c Comparison) next() string {
	var files []string
	for i := range c.Runs {
		files = append(files, c.Runs[i].Paths()...)
	}
	for _, p := range c.ordered() {
		for _, ids := range [][]string{p.OnlyReferenceIDs, p.OnlyRunIDs} {
			if len(ids) > 0 {
				return terminal.CommandLine(append([]string{"evalctl", "compare", "--question=" + ids[0]}, files...)...)
			}
		}
	}
	return c.command("--html", "comparison.html")
}

// command returns the command that makes the same comparison, with further flags. A value is one
// word with its flag, because it may begin with a hyphen.
func (c Comparison) command(flags ...string) string {
	command := []string{"evalctl", "compare"}
	for i := range c.Runs {
		paths := c.Runs[i].Paths()
		side := strings.Join(paths, ",")
		if len(paths) > 1 {
			side = c.name(i) + "=" + side
		}
		command = append(command, side)
	}
	with := func(flag, value string) {
		if value != "" {
			command = append(command, "--"+flag+"="+value)
		}
	}
	if c.Baseline != "" {
		with("baseline", c.Runs[0].Path)
	}
	if c.Options.Margin != nil {
		with("margin", fmt.Sprint(*c.Options.Margin))
	}
	with("tag", c.Options.Tag)
	with("cluster", c.Options.ClusterTag)
	with("primary", strings.Join(c.Options.Primary, ","))
	with("accept", strings.Join(c.acceptedKeys(), ","))
	return terminal.CommandLine(append(command, flags...)...)
}

// acceptedKeys returns the names of the accepted differences.
func (c Comparison) acceptedKeys() (names []string) {
	for _, k := range c.Keys {
		if k.Accepted {
			names = append(names, k.Name)
		}
	}
	return names
}

// someOf lists the first names, and the number of the others.
func someOf(names []string, most int, separator string) form.Text {
	text := form.Join(separator, form.Names(names[:min(len(names), most)])...)
	if more := len(names) - most; more > 0 {
		text = form.F("%s and %d more", text, more)
	}
	return text
}
