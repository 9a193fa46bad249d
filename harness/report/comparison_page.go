package report

import (
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/key"
	"evalctl/harness/report/form"
	"evalctl/internal/figure"
)

// reports returns the verdicts, the differences between the runs, and the figures.
func (c Comparison) reports() []*form.Report {
	r := &form.Report{Verdict: c.verdict()}
	if accepted := c.Accepted(); accepted != "" {
		r.Verdict.Headline = form.F("%s. %s", r.Verdict.Headline, form.Data(accepted))
	}
	if lead := c.lead(); len(lead) > 0 {
		s := form.Section{Place: form.First}
		s.Show(form.Terminal, form.Sentences(dataOf(lead)))
		s.Show(form.Terminal, form.Gap{})
		r.Sections = append(r.Sections, s)
	}
	sections := c.sections()
	c.pareto(&sections[0])
	r.Sections = append(r.Sections, sections...)
	r.Sections = append(r.Sections, lastGap(), c.closing())
	return []*form.Report{r}
}

// lead returns the first sentences: accepted differences, and the gain of memory.
func (c Comparison) lead() []string {
	if accepted := c.Accepted(); accepted != "" {
		return append([]string{accepted}, c.MemorySentences()...)
	}
	return c.MemorySentences()
}

// dataOf converts sentences with foreign texts.
func dataOf(sentences []string) (out []form.Text) {
	for _, s := range sentences {
		out = append(out, form.F("%s", form.Data(s)))
	}
	return out
}

func (c Comparison) verdict() form.Verdict {
	worse, leaking, differ, counted := 0, 0, 0, 0
	v := form.Verdict{Tone: form.None, Mark: "~", Word: "No difference shown", Title: form.F("Comparison of %s", c.names()), Sentences: dataOf(c.MemorySentences())}
	for _, p := range c.ordered() {
		v.Sentences = append(v.Sentences, form.F("%s", form.Data(c.sentence(p))))
		if !c.Headlined(p) {
			continue
		}
		counted++
		if c.Baseline != "" && c.MeasuredWorse(p) {
			worse++
		}
		if c.Baseline != "" && len(p.LeakedIDs) > 0 {
			leaking++
		}
		if slices.ContainsFunc(c.PrimaryClaims(p), compare.Claim.Shown) {
			differ++
		}
	}
	pairs := figure.Count(counted, "pair")
	v.Headline = form.F("No difference of the %s shown in %s of runs", c.PrimaryText(), pairs)
	if differ > 0 {
		v.Mark, v.Word = "≠", "Difference shown"
		v.Headline = form.F("Difference of the %s shown in %d of %s of runs", c.PrimaryText(), differ, pairs)
	}
	switch {
	case worse > 0:
		v.Tone, v.Mark, v.Word = form.Bad, "✗", "Worse"
		v.Headline = form.F("Worse: %d of %s", worse, pairs)
		if leaking > 0 {
			v.Headline = form.F("%s. Forbidden texts came back that did not before: %d", v.Headline, leaking)
		}
	case leaking > 0:
		v.Tone, v.Mark, v.Word = form.Bad, "✗", "Forbidden texts"
		v.Headline = form.F("Forbidden texts came back that did not before: %d of %s", leaking, pairs)
	case c.Baseline != "":
		v.Headline = form.F("No regression of the %s shown in %s of runs", c.PrimaryText(), pairs)
	}
	return v
}

func (c Comparison) names() form.Text {
	var names []form.Name
	for i := range c.Runs {
		names = append(names, c.run(i))
	}
	return form.Join(", ", names...)
}

func (c Comparison) run(i int) form.Name { return form.Name(c.name(i)) }

// pair formats a pair: "py vs go".
func (c Comparison) pair(run, reference int) form.Text {
	return form.F("%s vs %s", c.run(run), c.run(reference))
}

// differingID is the section with the questions on which the runs disagree.
const differingID = "differing"

// sections returns the figures of the comparison.
func (c Comparison) sections() []form.Section {
	s := form.Section{ID: "comparison", Title: "Comparison"}
	if accepted := c.Accepted(); accepted != "" {
		s.Warn(form.HTML, "%s", form.Data(accepted))
	}
	c.forest(&s)
	c.comparability(&s, form.Terminal|form.Markdown)
	s.Show(form.Terminal, form.Gap{})
	s.Show(form.Terminal|form.Markdown, c.pairTable())
	if text := c.unlisted(); text != "" {
		s.FactIn(form.Terminal|form.Markdown, "other pairs", "%s", text)
	}
	s.Show(form.HTML, c.runTable())
	c.pairs(&s)
	c.legend(&s, form.Terminal|form.Markdown)
	c.pairFacts(&s)
	c.disagreements(&s)
	c.means(&s)
	c.measures(&s)
	c.latencies(&s)
	c.legend(&s, form.HTML)
	tags := form.Section{ID: "by-tag", Title: "Comparison by tag"}
	c.tags(&tags)
	tags.FactIn(form.Markdown, "all figures", "%s", form.Data(c.command("--format", "json")))
	for _, n := range c.Notes {
		tags.Note(form.Everywhere, "%s", form.Data(n))
	}
	out := []form.Section{s, tags, {ID: differingID, Title: "Disagreements"}, {ID: "comparable", Title: "Whether the runs are comparable", Folded: true}, c.how()}
	out[2].Show(form.HTML, c.differing())
	out[2].Show(form.Markdown, c.differingList())
	c.comparability(&out[3], form.HTML)
	out[3].Show(form.HTML, c.keys())
	return out
}

// shownKeys are the keys whose common value is shown.
var shownKeys = []string{
	"dataset", "scenario", "scorer", "judge", "judge_prompt", "mode", "effective_modes", "top_k", "reader", "corpus",
}

// comparability adds the common settings and the differences of the runs.
func (c Comparison) comparability(s *form.Section, in form.Forms) {
	same := []form.Text{form.F("%s", figure.Count(c.Questions.Compared, "question"))}
	for _, name := range shownKeys {
		if k := c.Key(name); k != nil && k.Common() != "" && k.Common() != key.None {
			same = append(same, form.F("%s %s", strings.ReplaceAll(name, "_", " "), keyValue(k.Common())))
		}
	}
	s.FactIn(in, "comparable", "%s", form.Join("  ", same...))
	for _, k := range c.Keys {
		if k.State != key.Differs {
			continue
		}
		text := form.F("%s:", form.Name(k.Name))
		for i, v := range k.Values {
			text = form.F("%s  %s %s", text, c.run(i), keyValue(v))
		}
		switch {
		case k.Accepted:
			text = form.F("%s  (accepted)", text)
		case k.Note != "":
			text = form.F("%s  (%s)", text, form.Data(k.Note))
		}
		s.FactIn(in, "differs", "%s", text)
	}
	for i, r := range c.Runs {
		if r.Selection != "" {
			s.FactIn(in&form.Pages, "selection", "%s: %s", c.run(i), form.Data(r.Selection))
		}
	}
}

// keyValue formats a value of a key.
func keyValue(v string) form.Name { return form.Name(key.ValueText(v)) }
