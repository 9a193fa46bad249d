package text

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness/history"
	"evalctl/harness/report"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// NotInTrend prints the files that the trend of a folder omits. target is the filter of the trend,
// empty for none.
func NotInTrend(t *terminal.Terminal, f *history.Folder, trend history.Trend, target string) {
	if len(trend.Lines)+len(trend.Benches) == 0 {
		t.Field("empty", "%s", noResults(f, target, ""))
	}
	if trend.LeftOut > 0 {
		t.Field("left out", "%s: no results of runs, replays or benches", figure.Count(trend.LeftOut, "file"))
	}
	unreadable(t, f.Unreadable)
}

// Trend prints a line of comparable results.
func Trend(t *terminal.Terminal, l *history.Line) {
	e := l.Last()
	title := fmt.Sprintf("%s  %s %s  %s  scorer %s  %s", terminal.Short(e.Name, 32), e.Kind, terminal.Short(string(e.Scenario), 24),
		terminal.Short(filepath.Base(l.Dataset), 48), terminal.Short(e.Scorer, 24), terminal.Short(l.Asked(), 160))
	fmt.Fprintln(t, t.Wrap("", title))
	bars := l.Sparkline()
	fmt.Fprintf(t, "  %s  %s\n\n", bars.Signs, bars.Scale())
	rows, columns := nightRows(l), "lrlrlll"
	if !t.Fits(rows) { // the bands say the same as the intervals
		for i, row := range rows {
			rows[i] = slices.Delete(row, bandColumn, bandColumn+1)
		}
		columns = "lrlrll"
	}
	for row := range strings.Lines(t.Fit(rows, columns)) {
		fmt.Fprint(t, " "+row)
	}
	t.Blank()
	if l.Older > 0 {
		t.Field("older", "%s not shown: give --last 0", figure.Count(l.Older, "night"))
	}
	if len(l.Missing) > 0 {
		t.Field("alone", "%s", l.Alone())
	}
	printChanges(t, l.Changes)
	printTurns(t, l.Questions)
	unreadable(t, l.Unread)
	t.Blank()
}

// Trends prints a summary of the lines of a folder: how many changed, the newest change, and the
// command that compares the nights before and after it.
func Trends(t *terminal.Terminal, lines []*history.Line) {
	if len(lines) == 0 {
		return
	}
	changed, newest, of := 0, history.Change{}, lines[0]
	for _, l := range lines {
		if n := len(l.Changes); n > 0 {
			if changed++; l.Changes[n-1].Date > newest.Date {
				newest, of = l.Changes[n-1], l
			}
		}
	}
	reason, next := form.F("no line has a change that lasts and is clearer than chance"), terminal.CommandLine("evalctl", "show", of.Last().Path)
	if changed > 0 {
		reason = form.F("%s: %.3f → %.3f on %s, p=%.3f", form.Name(of.Last().Name), newest.Before, newest.After, newest.Date, newest.P)
	}
	if night := slices.IndexFunc(of.Nights, func(n history.Night) bool { return n.Date == newest.Date }); night > 0 {
		next = terminal.CommandLine("evalctl", "compare", of.Nights[night-1].Entry.Path, of.Nights[night].Entry.Path)
	}
	last := form.Closing(form.F("the pass rate changed in %d of %s", changed, figure.Count(len(lines), "line")), reason, next)
	last.Text(t)
}

// bandWidth is the width of a drawn interval in characters, bandColumn its column in the table.
const (
	bandWidth  = 24
	bandColumn = 5
)

// nightRows returns the table of the nights of a line.
func nightRows(l *history.Line) [][]string {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, n := range l.Nights {
		if i := n.Entry.Interval; n.Entry.Scored() && i != nil {
			lo, hi = min(lo, i.Low), max(hi, i.High)
		}
	}
	rows := [][]string{{"night", "rate", "95% Wilson", "passed", "verdict", bandTitle(lo, hi), "changed"}}
	for _, n := range l.Nights {
		e := n.Entry
		row := []string{n.Date, "–", "–", fmt.Sprintf("%d/%d", e.Passed, e.Total), terminal.Short(e.VerdictText(), 16), "", ""}
		if e.Scored() {
			row[1], row[2] = fmt.Sprintf("%.3f", *e.PassRate), report.EndsBy(e.Interval, result.MethodWilson).String()
			if e.Interval != nil {
				row[5] = band(lo, hi, e.Interval.Low, *e.PassRate, e.Interval.High)
			}
		}
		changed := slices.Clone(n.Changed)
		if n.Others > 0 {
			changed = append(changed, fmt.Sprintf("(%s of this night not shown)", figure.Count(n.Others, "other result")))
		}
		row[6] = strings.Join(changed, " ")
		rows = append(rows, row)
	}
	return rows
}

// bandTitle returns the scale of the bands.
func bandTitle(lo, hi float64) string {
	if lo > hi {
		return ""
	}
	left, right := fmt.Sprintf("%.2f", lo), fmt.Sprintf("%.2f", hi)
	return left + strings.Repeat(" ", bandWidth-len(left)-len(right)) + right
}

// band draws an interval with its rate on a scale from lo to hi.
func band(lo, hi, low, rate, high float64) string {
	at := func(v float64) int {
		if hi <= lo {
			return 0
		}
		return min(bandWidth-1, max(0, int(math.Round((v-lo)/(hi-lo)*(bandWidth-1)))))
	}
	cells := []rune(strings.Repeat("·", bandWidth))
	for i := at(low); i <= at(high); i++ {
		cells[i] = '─'
	}
	cells[at(rate)] = '●'
	return string(cells)
}

// printChanges prints where the pass rate changed.
func printChanges(t *terminal.Terminal, changes []history.Change) {
	for _, c := range changes {
		what := "nothing else that results record changed"
		if len(c.Changed) > 0 {
			what = "with it changed " + strings.Join(c.Changed, ", ")
		}
		t.Field("changed", "%s  %.3f → %.3f  %d nights before, %d since  p=%.3f  %s",
			c.Date, c.Before, c.After, c.NightsBefore, c.NightsAfter, c.P, what)
	}
	if len(changes) == 0 {
		t.Field("changed", "no change is shown")
	}
}

// maxTurns limits the printed questions of each kind.
const maxTurns = 20

// printTurns prints the questions that turned.
func printTurns(t *terminal.Terminal, questions []history.Turn) {
	printed := map[history.TurnKind]int{}
	for _, q := range questions {
		if printed[q.Kind]++; printed[q.Kind] > maxTurns {
			continue
		}
		t.Field(string(q.Kind), "%s  since %s  %s  %s", terminal.Short(q.ID, 40), q.Since, turnText(q), lastStates(q.States))
	}
	for _, kind := range []history.TurnKind{history.Broke, history.Fixed, history.Flaky} {
		if more := printed[kind] - maxTurns; more > 0 {
			t.Field("", "… and %d more %s, see --json", more, kind)
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

// lastStates returns the characters for the last nights of a question.
func lastStates(states string) string {
	const most = 30
	if more := len(states) - most; more > 0 {
		return "…" + states[more:]
	}
	return states
}
