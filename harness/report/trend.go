package report

import (
	"fmt"
	"html/template"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness/history"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/svg"
	"evalctl/internal/terminal"
)

// Trend is the document of what a folder of results shows over time: the lines of comparable
// results, and the benches with the same work.
type Trend struct {
	history.Trend
	// URL returns the page of a result, empty for none. It may be nil.
	URL func(*history.Entry) string
}

// Past is the document of the nights before a result of an arm.
type Past struct {
	Arm string
	history.Past
}

func (Trend) suites() []suite           { return nil }
func (Trend) annotations() []annotation { return nil }
func (Past) suites() []suite            { return nil }
func (Past) annotations() []annotation  { return nil }

func (tr Trend) reports() []*form.Report {
	r := &form.Report{Verdict: tr.verdict()}
	for i, l := range tr.Lines {
		r.Sections = append(r.Sections, tr.line(fmt.Sprintf("line-%d", i+1), l))
	}
	for i, l := range tr.Benches {
		r.Sections = append(r.Sections, benchLine(fmt.Sprintf("bench-%d", i+1), l))
	}
	if left := tr.leftOut(); len(left.Blocks) > 0 {
		r.Sections = append(r.Sections, left)
	}
	how := methodFacts{Section: form.Section{ID: "how", Title: "How to read this", Folded: true}}
	how.say("lines", "Results are on one line if they measure the same. Everything else may change from night to night; "+
		"the tables name it by its key in the results.")
	how.say("changes", fmt.Sprintf("Permutation test with %d orders. A change lasts %d nights or longer, and its p is at most %.2g.",
		history.Test.Resamples, history.Test.MinSegment, history.Test.Alpha))
	r.Sections = append(r.Sections, how.Section)
	return []*form.Report{r}
}

// verdict says where pass rates changed, the newest change first.
func (tr Trend) verdict() form.Verdict {
	v := form.Verdict{Tone: form.None, Mark: "~", Word: "No change shown", Title: form.F("Trends in %s", form.Name(tr.Root))}
	if tr.single() {
		l := tr.Lines[0]
		v.Title, v.About = form.F("Trend of %s", form.Name(l.Last().Name)), about(l)
		if e := l.Last(); e.Scored() {
			v.Rate, v.Figure = figure.Rate(e.PassRate), "pass rate of "+e.Date()
		}
	}
	all := tr.changes()
	for _, c := range all {
		v.Sentences = append(v.Sentences, form.F("%s: %s", tr.name(c.line), form.Join(", ", c.parts()...)))
	}
	switch {
	case len(all) > 0:
		v.Tone, v.Mark, v.Word = form.Doubt, changeMark, "Changed"
	case len(tr.Lines)+len(tr.Benches) == 0:
		v.Mark, v.Word = none, "No results"
	case len(tr.Lines) == 0:
		v.Mark, v.Word = none, "Benches"
	}
	return v
}

// leftOut says in pages which files are not in the trend. A command prints it last.
func (tr Trend) leftOut() form.Section {
	s := form.Section{ID: "left-out", Title: "Left out"}
	if tr.LeftOut > 0 {
		s.FactIn(form.Pages, "left out", "%s: no results of runs, replays or benches", figure.Count(tr.LeftOut, "file"))
	}
	NotRead(&s, form.Pages, tr.Unreadable)
	return s
}

// maxUnread limits the unreadable files that are named.
const maxUnread = 5

// NotRead names the first unreadable files.
func NotRead(s *form.Section, in form.Forms, files []history.Unreadable) {
	for i, u := range files {
		if i == maxUnread {
			s.FactIn(in, "", "and %d more", len(files)-i)
			break
		}
		s.FactIn(in, "not read", "%s", form.Data(u.Reason))
	}
}

// single reports whether there is one line of results and nothing else.
func (tr Trend) single() bool { return len(tr.Lines) == 1 && len(tr.Benches) == 0 }

// name names a line among the others.
func (tr Trend) name(l *history.Line) form.Text {
	if len(tr.Lines) == 1 {
		return form.F("%s", form.Name(l.Last().Name))
	}
	named := func(l *history.Line) string { return l.Last().Name + "\n" + filepath.Base(l.Dataset) }
	name := form.F("%s, %s", form.Name(l.Last().Name), form.Name(filepath.Base(l.Dataset)))
	for _, other := range tr.Lines {
		if other != l && named(other) == named(l) {
			return form.F("%s, %s, %s", name, form.Name(l.Last().Scenario), form.Name(l.Last().Scorer))
		}
	}
	return name
}

// lineChange is a change of the pass rate of a line.
type lineChange struct {
	line *history.Line
	history.Change
}

// changes returns the changes of all lines, the newest first.
func (tr Trend) changes() (all []lineChange) {
	for _, l := range tr.Lines {
		for _, c := range l.Changes {
			all = append(all, lineChange{l, c})
		}
	}
	slices.SortStableFunc(all, func(a, b lineChange) int { return strings.Compare(b.Date, a.Date) })
	return all
}

// closing has how many lines changed, the newest change, and the next command.
func (tr Trend) closing(string) form.Section {
	if len(tr.Lines) == 0 {
		return form.Section{}
	}
	changed := 0
	for _, l := range tr.Lines {
		if len(l.Changes) > 0 {
			changed++
		}
	}
	verdict := form.F("the pass rate changed in %d of %s", changed, figure.Count(len(tr.Lines), "line"))
	if all := tr.changes(); len(all) > 0 {
		c := all[0]
		return form.Closing(verdict, form.F("%s: %.3f → %.3f on %s, p=%.3f", tr.name(c.line), c.Before, c.After, c.Date, c.P), c.next())
	}
	return form.Closing(verdict, form.F("no line has a change that lasts and is clearer than chance"),
		terminal.CommandLine("evalctl", "show", tr.Lines[0].Last().Path))
}

// next returns the command that compares the change's first night with the last one before it
// that has a score.
func (c lineChange) next() string {
	before := ""
	for _, n := range c.line.Nights {
		switch {
		case !n.Entry.Scored():
		case n.Date == c.Date && before != "":
			return comparing(before, n.Entry.Path)
		default:
			before = n.Entry.Path
		}
	}
	return terminal.CommandLine("evalctl", "show", c.line.Last().Path)
}

// about says what a line measures.
func about(l *history.Line) form.Text {
	e := l.Last()
	return form.F("%s  %s  %s  scorer %s  %s", string(e.Kind), form.Name(e.Scenario), form.Name(filepath.Base(l.Dataset)), form.Name(e.Scorer), form.Data(l.Asked()))
}

// line returns the nights of a line, where its pass rate changed, and the questions that turned.
func (tr Trend) line(id string, l *history.Line) form.Section {
	bars := l.Sparkline()
	s := form.Section{ID: id, Title: "Nights"}
	if !tr.single() {
		s.Title = tr.name(l).String()
		s.Note(form.HTML, "%s", about(l))
	}
	title, scale := form.F("%s  %s", form.Name(l.Last().Name), about(l)), form.F("%s  %s", bars.Signs, bars.Scale())
	s.Show(form.Terminal, form.Sentences{title, scale})
	s.Show(form.Terminal, form.Gap{})
	s.Note(form.Markdown, "%s", title)
	s.Note(form.Markdown, "%s", scale)
	tr.nights(&s, l, math.NaN())
	older(&s, l.Older, max(0, len(l.Nights)-maxNights))
	if alone := l.Alone(); alone != "" {
		s.Fact("alone", "%s", alone)
	}
	for _, c := range l.Changes {
		s.Fact("changed", "%s", form.Parts(lineChange{l, c}.parts()...))
	}
	if len(l.Changes) == 0 {
		s.Fact("changed", "no change is shown")
	}
	turns(&s, l.Questions)
	NotRead(&s, form.Everywhere, l.Unread)
	if _, ends := s.Blocks[len(s.Blocks)-1].Content.(*form.Table); !ends {
		s.Show(form.Terminal, form.Gap{})
	}
	return s
}

// maxNights limits the nights that a page lists.
const maxNights = 100

// older says how many nights of a line were not asked for, and how many more a page does not list.
func older(s *form.Section, notAsked, notListed int) {
	if notAsked > 0 {
		s.FactIn(form.Terminal, "older", "%s not shown: give --last 0", figure.Count(notAsked, "night"))
	}
	if n := notAsked + notListed; n > 0 {
		s.FactIn(form.Pages, "older", "%s not listed", figure.Count(n, "night"))
	}
}

// nights draws the pass rates and the costs, with a floor unless it is NaN, and adds the table of
// the nights.
func (tr Trend) nights(s *form.Section, l *history.Line, floor float64) {
	var drawn []svg.Point
	costs := svg.Line{Name: "cost", Joined: true}
	for _, n := range l.Nights {
		e := n.Entry
		if e == nil {
			continue
		}
		if usd := totalUSD(e.Result); usd != nil {
			costs.Points = append(costs.Points, onDay(n.Date, *usd))
		}
		if e.Scored() && e.Interval != nil {
			drawn = append(drawn, svg.Point{Label: n.Date, Change: changedAt(l, n),
				Rate: svg.Interval{Value: *e.PassRate, Low: e.Interval.Low, High: e.Interval.High}})
		}
	}
	if len(drawn) > 0 {
		s.Show(form.HTML, form.Chart{Caption: "Pass rates with their intervals, the oldest first.",
			SVG: func() template.HTML { return svg.Trend("Pass rates by night; the table has the values", drawn, floor) }})
	}
	if len(costs.Points) > 1 && slices.ContainsFunc(costs.Points, func(p svg.Place) bool { return p.Y > 0 }) {
		draw(s, byNight("Cost by night; the table has the values", svg.Dimension{Name: "cost", Zero: true, Format: dollarText}, costs), "Cost of each night in dollars.")
	}
	s.Show(form.Everywhere, tr.table(l))
}

// changeMark marks the first night after a change of the pass rate.
const changeMark = "◆"

// table returns the table of the nights. A night without an entry is missing.
func (tr Trend) table(l *history.Line) *form.Table {
	b := bandsOf(l.Nights)
	t := form.NewTable(form.F("Comparable results by night"), "night", ">rate", ">95% Wilson", ">passed", "verdict", "|>cost",
		form.Column{Name: form.F("%s", b.title()), Spare: true, In: form.Terminal}, "changed")
	for i, n := range l.Nights {
		e, in := n.Entry, form.Everywhere
		if i < len(l.Nights)-maxNights {
			in = form.Terminal
		}
		if e == nil {
			t.RowIn(in, n.Date, none, none, none, "missing", none, "", "")
			continue
		}
		date, changed := form.Cell{Text: form.F("%s", n.Date)}, form.Cell{}
		if tr.URL != nil {
			date.URL = tr.URL(e)
		}
		rate, interval, band := none, form.F("%s", none), ""
		if e.Scored() {
			rate, interval = figure.Rate(e.PassRate), EndsBy(e.Interval, result.MethodWilson)
			if e.Interval != nil {
				band = b.draw(e.Interval.Low, *e.PassRate, e.Interval.High)
			}
		}
		var what []form.Text
		if changedAt(l, n) {
			changed.Mark, changed.Tone, what = changeMark, form.Doubt, []form.Text{form.F("pass rate")}
		}
		for _, key := range n.Changed {
			what = append(what, form.F("%s", form.Name(key)))
		}
		if n.Others > 0 {
			what = append(what, form.F("(%s of this night not shown)", figure.Count(n.Others, "other result")))
		}
		changed.Text = form.Join(", ", what...)
		t.RowIn(in, date, rate, interval, fmt.Sprintf("%d/%d", e.Passed, e.Total), nameOrNone(e.VerdictText()), wording.Amount(e.Result), band, changed)
	}
	return t
}

// changedAt reports whether the pass rate changed at a night.
func changedAt(l *history.Line, n history.Night) bool {
	return slices.ContainsFunc(l.Changes, func(c history.Change) bool { return c.Date == n.Date })
}

// parts describes a change.
func (c lineChange) parts() []form.Text {
	with := form.F("nothing else that results record changed")
	if len(c.Changed) > 0 {
		with = form.F("with it changed %s", form.Join(", ", form.Names(c.Changed)...))
	}
	return []form.Text{form.F("%s", c.Date), form.F("%.3f → %.3f", c.Before, c.After),
		form.F("%s before, %d since", figure.Count(c.NightsBefore, "night"), c.NightsAfter), form.F("p=%.3f", c.P), with}
}

// maxTurns limits the questions of each kind on a terminal, and maxStates the nights of each.
const (
	maxTurns  = 20
	maxStates = 20
)

// turns adds the questions that turned.
func turns(s *form.Section, questions []history.Turn) {
	t := form.NewTable(form.F("Questions that broke, were fixed or are flaky"), "question", "now",
		form.Column{Name: form.F("since"), Spare: true, In: form.Everywhere}, "how",
		form.Column{Name: form.F("by night"), In: form.Terminal}, "|by night: + passed, - not, ~ some repeats")
	count := map[history.TurnKind]int{}
	for _, q := range questions {
		in := form.Everywhere
		if count[q.Kind]++; count[q.Kind] > maxTurns {
			in = form.Pages
		}
		states := q.States
		if more := len(states) - maxStates; more > 0 {
			states = "…" + states[more:]
		}
		t.RowIn(in, form.Name(q.ID), string(q.Kind), q.Since, turnText(q), states, q.States)
	}
	if len(t.Rows) > 0 {
		s.Show(form.Terminal, form.Gap{})
	}
	s.Show(form.Everywhere, t)
	for _, kind := range []history.TurnKind{history.Broke, history.Fixed, history.Flaky} {
		if more := count[kind] - maxTurns; more > 0 {
			s.FactIn(form.Terminal, "", "… and %d more %s, see --json", more, string(kind))
		}
	}
}

// turnText describes how a question turned.
func turnText(q history.Turn) string {
	switch q.Kind {
	case history.Broke:
		return fmt.Sprintf("failed %d nights after %d passes", q.Nights, q.Before)
	case history.Fixed:
		return fmt.Sprintf("passed %d nights after %d failures", q.Nights, q.Before)
	}
	return fmt.Sprintf("passed %d of %d nights", strings.Count(q.States, "+"), len(q.States))
}

// reports returns a line with the pass rates, and the folded nights. Every day has a row.
func (p Past) reports() []*form.Report {
	l := p.EveryDay()
	s, bars := form.Section{}, l.Sparkline()
	s.Note(form.Markdown, "%s  %s  %s", form.Name(p.Arm), bars.Signs, bars.Scale())
	s.Show(form.Markdown, form.Fold{Title: figure.Count(len(l.Nights), "night"), Content: Trend{}.table(l).For(form.Markdown)})
	if p.LeftOut > 0 {
		s.Note(form.Markdown, "%s left out, with another %s, or none recorded", figure.Count(p.LeftOut, "result"), strings.Join(p.Differing, ", "))
	}
	return []*form.Report{{Sections: []form.Section{s}}}
}

// before returns the trend in the page of a run, with its floor.
func (tr Trend) before(run *Run) form.Section {
	s := form.Section{ID: "trend", Title: "Trend"}
	for _, l := range tr.Lines {
		tr.nights(&s, l, run.floor())
	}
	return s
}
