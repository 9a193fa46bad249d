package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/key"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/svg"
	"evalctl/internal/terminal"
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

// lead returns what a reader must know first: accepted differences, and the gain of memory.
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
	worse, differ, counted := 0, 0, 0
	v := form.Verdict{Tone: form.None, Mark: "~", Word: "No difference shown", Title: form.F("Comparison of %s", c.names()), Sentences: dataOf(c.MemorySentences())}
	for _, p := range c.ordered() {
		v.Sentences = append(v.Sentences, form.F("%s", form.Data(c.sentence(p))))
		if !c.Headlined(p) {
			continue
		}
		counted++
		if _, regression := c.verdictOn(p); regression {
			worse++
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

// pairTable returns a row for each run, with its difference from the first, and one for each other
// pair.
func (c Comparison) pairTable() *form.Table {
	t := form.NewTable(form.F("Pass rates with 95%% intervals, and their differences with intervals at the level of their test"), "", ">passed", ">pass rate", "|>errors", "|>unscored",
		form.Column{Name: form.F("vs %s", c.run(0)), Number: true, In: form.Everywhere}, ">only this / only other", ">p, Holm", ">")
	for i, r := range c.Runs {
		name := form.F("%s", c.run(i))
		if n := len(r.Files); n > 0 {
			name = form.F("%s, %d runs", c.run(i), n)
		}
		row := []any{name, fmt.Sprintf("%d/%d", r.Counts.Passed, r.Counts.Total), rateWithin(r.PassRate, r.Interval),
			r.Counts.Errors, r.Counts.Unscored}
		if i == 0 {
			t.Row(append(row, "", "", "", "")...)
			continue
		}
		p := slices.IndexFunc(c.Pairs, func(p compare.Pair) bool { return p.Reference == 0 && p.Run == i })
		t.Row(append(row, c.pairCells(&c.Pairs[p])...)...)
	}
	for i := range c.Pairs {
		if p := &c.Pairs[i]; p.Reference > 0 && (isShown(p.Verdict) || len(c.Pairs) <= pairsListed) {
			t.Row(append([]any{c.pair(p.Run, p.Reference), "", "", "", ""}, c.pairCells(p)...)...)
		}
	}
	return t
}

// pairsListed is up to how many pairs the table has those between other runs than the first of which
// no difference is shown.
const pairsListed = 6

// unlisted says how many pairs the table of pairs does not have, empty for none.
func (c Comparison) unlisted() string {
	n := 0
	for i := range c.Pairs {
		if p := &c.Pairs[i]; p.Reference > 0 && !isShown(p.Verdict) && len(c.Pairs) > pairsListed {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("no difference is shown in %s; evalctl compare --format json has them", figure.Count(n, "more pair"))
}

// runTable has a row for each run, for a page whose differences are elsewhere.
func (c Comparison) runTable() *form.Table {
	t := form.NewTable(form.F("Pass rates with 95%% intervals"), "", ">passed", ">pass rate", "0 to 1", ">errors", ">unscored")
	for i, r := range c.Runs {
		name := form.F("%s", c.run(i))
		if n := len(r.Files); n > 0 {
			name = form.F("%s, %d runs", c.run(i), n)
		}
		t.Row(name, fmt.Sprintf("%d/%d", r.Counts.Passed, r.Counts.Total), rateWithin(r.PassRate, r.Interval),
			rateBar(r.PassRate, r.Interval, math.NaN()), r.Counts.Errors, r.Counts.Unscored)
	}
	return t
}

// pairs adds the differences of the pairs for HTML.
func (c Comparison) pairs(s *form.Section) {
	t := pairRows{columns: []any{"pair", ">difference", ">only this / only other", ">p, Holm", "verdict"}}
	for _, p := range c.ordered() {
		t.add(p.Verdict, value(p.Difference), append([]any{c.pair(p.Run, p.Reference)}, c.pairCells(p)...)...)
	}
	t.in(s, form.HTML, form.F("Differences of the pass rates"), "pass rates")
}

// value returns *v, 0 for nil.
func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// pairCells returns the difference, the disagreements, the p-values and the verdict.
func (c Comparison) pairCells(p *compare.Pair) []any {
	if p.Difference == nil {
		return []any{"–", "–", "–", "nothing to compare"}
	}
	return append(tableCells(p.Table), c.verdictCell(p.Verdict))
}

// tableCells returns the difference, the disagreements and the p-values.
func tableCells(t compare.Table) []any {
	if t.Difference == nil {
		return []any{"–", "–", "–"}
	}
	p := "not tested"
	if t.P != nil {
		p = probabilities(*t.P, t.Adjusted)
	}
	return []any{pointsWithin(t), fmt.Sprintf("%d / %d", t.OnlyRun, t.OnlyReference), p}
}

// probabilities formats a p-value and, after an arrow, the adjusted one.
func probabilities(p float64, adjusted *float64) string {
	if adjusted == nil {
		return figure.Probability(p)
	}
	return figure.Probability(p) + " → " + figure.Probability(*adjusted)
}

func (c Comparison) verdictCell(v compare.Verdict) form.Cell {
	tone := map[compare.Verdict]form.Tone{compare.Better: form.Good, compare.Worse: form.Bad}[v]
	if tone == form.Bad && c.Baseline == "" {
		tone = form.Doubt
	}
	return form.Cell{Text: form.F("%s", v.Words()), Mark: v.Mark(), Tone: tone}
}

// widest returns the largest absolute end of the interval of a difference, for the scale of a
// drawing.
func widest(t compare.Table) float64 {
	if t.Interval == nil {
		return 0
	}
	return max(math.Abs(t.Interval.Low), math.Abs(t.Interval.High))
}

// scale names the ends of the scale of drawn differences.
func scale(most float64) string { return fmt.Sprintf("−%.0f to +%.0f pp", 100*most, 100*most) }

// differenceBar draws a difference.
func differenceBar(t compare.Table, most float64) form.Cell {
	if t.Difference == nil {
		return form.Cell{}
	}
	v := intervalOf(*t.Difference, t.Interval)
	return form.Cell{Bar: func() template.HTML { return svg.Difference(v, math.NaN(), most) }}
}

// legend describes how the figures of the table were computed.
func (c Comparison) legend(s *form.Section, in form.Forms) {
	test, within := form.F("exact McNemar"), "Newcombe, paired"
	switch {
	case c.ClusterTag != "":
		test, within = c.clusterFlips(), "what the test does not reject"
	case c.Repeated:
		test, within = form.F("sign flips, seed %d", c.Seed), "what the test does not reject"
	}
	if c.severalRuns() {
		test = form.F("%s, and a t test over questions and runs", test)
	}
	s.FactIn(in, "methods", "intervals: Wilson for rates, 95%%; %s for differences, %s  p: %s", within, c.levels(), test)
	s.FactIn(in, "tests", "primary: %s; p adjusted by Holm over %s, below 0.05 is shown  others: over %s, below 0.05 if a primary measure differs, else 0.005",
		c.PrimaryText(), figure.Count(c.Tests, "test"), figure.Count(c.OtherTests, "test"))
}

// levels formats the lowest and the highest level of the intervals of the pairs.
func (c Comparison) levels() string {
	var levels []*result.Interval
	for i := range c.Pairs {
		if within := c.Pairs[i].Interval; within != nil {
			levels = append(levels, within)
		}
	}
	if len(levels) == 0 {
		return "at the level of the test"
	}
	byLevel := func(x, y *result.Interval) int { return cmp.Compare(x.Confidence, y.Confidence) }
	least, most := wording.Level(slices.MinFunc(levels, byLevel)), wording.Level(slices.MaxFunc(levels, byLevel))
	if least == most {
		return least
	}
	return least + " to " + most
}

// clusterFlips describes the test over clusters. The number of clusters differs between pairs if
// questions have no score.
func (c Comparison) clusterFlips() form.Text {
	var clusters []int
	resampled, exact := false, false
	for _, p := range c.Pairs {
		clusters = append(clusters, p.Clusters)
		resampled, exact = resampled || p.Resampled(), exact || strings.HasSuffix(p.Test, "_exact")
	}
	least, most := slices.Min(clusters), slices.Max(clusters)
	of := figure.Count(most, "cluster")
	if least < most {
		of = fmt.Sprintf("%d to %s", least, of)
	}
	text := form.F("sign flips of %s by %s", of, form.Name(c.ClusterTag))
	if resampled {
		text = form.F("%s, %d resamples, seed %d", text, c.Resamples, c.Seed)
		if exact {
			text = form.F("%s (p by all signs if few clusters differ)", text)
		}
	}
	return text
}

// pairFacts adds the intervals that allow for similar questions, and the conclusions from the
// figures of a pair. For the largest difference that is not shown to be real, a terminal shows the
// smallest one that could have been detected.
func (c Comparison) pairFacts(s *form.Section) {
	for i, r := range c.Runs {
		k := r.Clustered
		if k == nil || k.Interval == nil {
			continue
		}
		by := form.F("%s", form.Name(k.Tag))
		if k.Tag == "" {
			by = form.F("question, whose repeats are alike")
		}
		if n := len(r.Files); n > 1 {
			by = form.F("%s, and %d runs", by, n)
		}
		s.Fact("clustered", "%s  %s  95%% t interval over %s by %s", c.run(i), rateWithin(r.PassRate, k.Interval), figure.Count(k.Clusters, "cluster"), by)
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

// next returns the command that shows more: of a question on which the runs disagree, or else a page.
func (c Comparison) next() string {
	var files []string
	for i := range c.Runs {
		files = append(files, c.Runs[i].Paths()...)
	}
	for _, p := range c.ordered() {
		for _, ids := range [][]string{p.OnlyReferenceIDs, p.OnlyRunIDs} {
			if len(ids) > 0 {
				return terminal.CommandLine(append([]string{"evalctl", "compare", "--question", ids[0]}, files...)...)
			}
		}
	}
	return c.command("--html", "comparison.html")
}

// command returns the command that compares the same runs, with further flags.
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
	if accepted := c.acceptedKeys(); len(accepted) > 0 {
		command = append(command, "--accept", strings.Join(accepted, ","))
	}
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
