package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
)

// Measure is what two results must have in common to be points of one line: what was measured, with
// which questions, and how the answers were judged. Everything else may change from night to night,
// and is what a line is about: the daemon, its models and settings, the corpus.
type Measure struct {
	Kind     Kind            `json:"kind"`
	Name     string          `json:"name"` // the SDK or the arm
	Scenario result.Scenario `json:"scenario"`
	// DatasetSHA256 is that of the file. Selected is the number of questions with their repeats, and
	// Selection the SHA-256 of their ids, empty if they were not selected one by one.
	DatasetSHA256 string `json:"dataset_sha256"`
	Selected      int    `json:"selected"`
	Repeats       int    `json:"repeats,omitempty"`
	Selection     string `json:"selection_sha256,omitempty"`
	Scorer        string `json:"scorer"`
	// Judge is the provider, the model and the prompt of the judge, empty without one.
	Judge string `json:"judge,omitempty"`
	// Sample, Errata and Style are of a replay: the signature of its questions, the SHA-256 of its
	// errata, and what wrote the answers.
	Sample string `json:"sample,omitempty"`
	Errata string `json:"errata_sha256,omitempty"`
	Style  string `json:"style,omitempty"`
}

// measureOf returns the measure of a result.
func measureOf(e *Entry) Measure {
	id := &e.Result.Identity
	m := Measure{
		Kind: e.Kind, Name: e.Name, Scenario: id.Scenario, DatasetSHA256: id.Dataset.SHA256,
		Selected: id.Dataset.Selected, Repeats: id.Dataset.Repeats, Scorer: e.Scorer,
		Judge: judgeOf(e.Result),
	}
	if s := id.Dataset.Selection; s != nil {
		m.Selection = s.SHA256
	}
	if r := id.Replay; r != nil {
		m.Sample, m.Errata, m.Style = r.Sample, r.Errata, r.Actor.Style
	}
	return m
}

// judgeOf identifies the judge of a result.
func judgeOf(res *result.Result) string {
	j := res.Identity.Judge
	if j == nil {
		return ""
	}
	return strings.Join([]string{j.Provider, j.BaseURL, j.Model, j.PromptVersion, j.PromptSHA256, j.TemperatureText()}, " ")
}

// Line is one thing over time.
type Line struct {
	Measure Measure `json:"measure"`
	// Dataset and Selection describe the questions of the last night.
	Dataset   string `json:"dataset"`
	Selection string `json:"selection,omitempty"`
	// Nights are in order of the date. Every date is one on which something was measured.
	Nights []Night `json:"nights"`
	// Older is the number of nights before them that were left out.
	Older int `json:"older"`
	// Changes are where the pass rate changed, in order of the date.
	Changes []Change `json:"changes"`
	// Questions are those that broke, were fixed or are flaky, in this order. See ReadQuestions.
	Questions []Turn `json:"questions"`
	// Unread are the nights whose questions could not be read.
	Unread []Unreadable `json:"unread"`
}

// Asked describes the questions, and how often each is asked.
func (l *Line) Asked() string {
	repeats := max(1, l.Measure.Repeats)
	text := fmt.Sprintf("%d questions", l.Measure.Selected/repeats)
	switch {
	case l.Selection != "":
		text = "selection: " + l.Selection
	case l.Measure.Selected == repeats:
		text = "1 question"
	}
	if repeats > 1 {
		text += fmt.Sprintf(", each asked %d times", repeats)
	}
	return text
}

// Night is the result of a date.
type Night struct {
	Date  string `json:"date"` // in UTC, as time.DateOnly
	Entry *Entry `json:"result"`
	// Others is the number of further results of the same date, which are not shown: the last one
	// that is complete stands for the night, or else the last one.
	Others int `json:"others,omitempty"`
	// Changed are the keys of the identity, such as daemon.version, that differ from the night before.
	Changed []string `json:"changed,omitempty"`
}

// Lines returns the lines of the results among entries, that with the latest result first, and each
// with its last nights, of which there may be any number if last is 0. The changes are found in
// these nights; the questions are not read.
func Lines(entries []*Entry, last int) []*Line {
	byMeasure := map[Measure]*Line{}
	lines := []*Line{} // not null, as JSON
	for _, e := range slices.Backward(entries) {
		if e.Result == nil {
			continue
		}
		m := measureOf(e)
		l := byMeasure[m]
		if l == nil {
			l = &Line{Measure: m, Questions: []Turn{}, Unread: []Unreadable{}}
			byMeasure[m], lines = l, append(lines, l)
		}
		l.add(e)
	}
	for _, l := range lines {
		l.finish(last)
	}
	slices.SortStableFunc(lines, func(a, b *Line) int {
		return cmp.Or(b.Last().StartedAt.Compare(a.Last().StartedAt), cmp.Compare(a.Measure.Name, b.Measure.Name))
	})
	return lines
}

// add adds a result that began after those that were added before.
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
		night.Changed = before.Entry.Result.Identity.Changed(night.Entry.Result.Identity)
	}
	l.Dataset, l.Selection = l.Last().Dataset, l.Last().Selection
	l.Changes = changesOf(l.Nights)
}

// Last returns the result of the last night.
func (l *Line) Last() *Entry { return l.Nights[len(l.Nights)-1].Entry }
