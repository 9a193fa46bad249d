package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/key"
	"evalctl/internal/figure"
)

// Line is a series of comparable results over time.
type Line struct {
	// Measure has the settings that the results have in common, by name (key.Trend). Everything
	// else may change from night to night.
	Measure map[string]string `json:"measure"`
	// Missing are the unrecorded settings of a single result, which therefore shares its line with
	// no other.
	Missing []string `json:"not_recorded,omitempty"`
	// Dataset and Selection describe the last night's questions.
	Dataset   string `json:"dataset"`
	Selection string `json:"selection,omitempty"`
	// Nights are sorted by date. Dates without a measurement are absent.
	Nights []Night `json:"nights"`
	// Older is the number of earlier nights that were left out.
	Older int `json:"older"`
	// Changes are the changes of the pass rate, sorted by date.
	Changes []Change `json:"changes"`
	// Questions are the broken, fixed and flaky questions, in this order. See ReadQuestions.
	Questions []Turn `json:"questions"`
	// Unread are the nights with unreadable questions.
	Unread []Unreadable `json:"unread"`
}

// Key identifies the line among the lines of its folder, whatever nights it has.
func (l *Line) Key() string { return l.Last().shared() }

// Asked describes the questions and how many times each is asked.
func (l *Line) Asked() string {
	d := l.Last().Result.Identity.Dataset
	text, repeats := figure.Count(d.Questions(), "question"), max(1, d.Repeats)
	if l.Selection != "" {
		text = "selection: " + l.Selection
	}
	if repeats > 1 {
		text += fmt.Sprintf(", each asked %d times", repeats)
	}
	return text
}

// Alone says why the line's result cannot share a line with others, empty if it can.
func (l *Line) Alone() string {
	if len(l.Missing) == 0 {
		return ""
	}
	return fmt.Sprintf("not compared with other results, because this one does not record %s", strings.Join(l.Missing, ", "))
}

// Night is the result for a date.
type Night struct {
	Date string `json:"date"` // in UTC, as time.DateOnly
	// Entry is nil only for a day that EveryDay has added.
	Entry *Entry `json:"result"`
	// Others is the number of other results on the date, which are not shown. The last complete
	// result represents the night, or else the last one.
	Others int `json:"others,omitempty"`
	// Changed are the identity keys, such as daemon.version, that differ from the night before.
	Changed []string `json:"changed,omitempty"`
}

// Lines returns the lines of the results among entries, the line with the latest result first. Each
// has its last nights, or all if last is 0. Changes are computed over these nights; questions are
// not read.
func Lines(entries []*Entry, last int) []*Line {
	byMeasure := map[string]*Line{}
	lines := []*Line{} // not null, as JSON
	for _, e := range slices.Backward(entries) {
		if e.Result == nil {
			continue
		}
		l := byMeasure[e.shared()]
		if l == nil {
			l = newLine(e)
			byMeasure[e.shared()], lines = l, append(lines, l)
		}
		l.add(e)
	}
	for _, l := range lines {
		l.finish(last)
		l.Changes = changesOf(l.Nights)
	}
	slices.SortStableFunc(lines, func(a, b *Line) int {
		return cmp.Or(b.Last().StartedAt.Compare(a.Last().StartedAt), cmp.Compare(a.Last().Name, b.Last().Name))
	})
	return lines
}

// newLine returns the line of a result, without nights.
func newLine(e *Entry) *Line {
	return &Line{Measure: e.measure, Missing: e.missing, Questions: []Turn{}, Unread: []Unreadable{}}
}

// add adds a result that started after all earlier ones.
func (l *Line) add(e *Entry) {
	if n := len(l.Nights); n > 0 && l.Nights[n-1].Date == e.Date() {
		night := &l.Nights[n-1]
		night.Others++
		if e.Stopped == "" || night.Entry.Stopped != "" {
			night.Entry = e
		}
		return
	}
	l.Nights = append(l.Nights, Night{Date: e.Date(), Entry: e})
}

// finish cuts the line to its last nights and compares them.
func (l *Line) finish(last int) {
	if more := len(l.Nights) - last; last > 0 && more > 0 {
		l.Nights, l.Older = l.Nights[more:], more
	}
	for i := range l.Nights[1:] {
		before, night := l.Nights[i], &l.Nights[i+1]
		night.Changed = key.Changed(key.Trend, before.Entry.Result.Identity, night.Entry.Result.Identity)
	}
	l.Dataset, l.Selection = l.Last().Dataset, l.Last().Selection
}

// Last returns the result of the last night.
func (l *Line) Last() *Entry { return l.Nights[len(l.Nights)-1].Entry }
