package view

import (
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"evalctl/harness/compare"
	"evalctl/harness/history"
	"evalctl/harness/report"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/svg"
)

// maxCompared is the largest number of results of a comparison.
const maxCompared = 8

// links lead from the page of a result or a comparison back to the list.
var links = []form.Link{{Text: "All results", URL: "/"}}

// result writes the page of a result, with its trend.
func (s *server) result(r *http.Request, f *history.Folder, rep *reply) error {
	e, err := entryOf(f, r.PathValue("id"))
	if err != nil {
		return err
	}
	run, err := report.ReadRun(e.Path)
	if err != nil {
		return &failure{status: http.StatusUnprocessableEntity, title: "The result cannot be read", text: err.Error()}
	}
	page := report.Page{Document: run, Links: links}
	for _, l := range history.Lines(f.Entries, maxNights) {
		if slices.ContainsFunc(l.Nights, func(n history.Night) bool { return n.Entry == e }) {
			page.Trend = trendPoints(l)
			page.Links = append(slices.Clip(page.Links), form.Link{Text: "Trend", URL: "/trend/" + lineID(l)})
		}
	}
	return report.HTML(&rep.page, page)
}

// trendPoints returns the nights of a line that have a score.
func trendPoints(l *history.Line) []report.TrendPoint {
	var points []report.TrendPoint
	for _, n := range l.Nights {
		e := n.Entry
		if !e.Scored() || e.Interval == nil {
			continue
		}
		points = append(points, report.TrendPoint{
			Date: e.StartedAt, Passed: e.Passed, Total: e.Total, Rate: *e.PassRate, Low: e.Interval.Low, High: e.Interval.High,
			Interval: e.Interval.Name(), Changed: turned(l, n), Note: strings.Join(n.Changed, ", "), URL: "/result/" + idOf(e.Path),
		})
	}
	return points
}

// turned reports whether the pass rate changed at a night.
func turned(l *history.Line, n history.Night) bool {
	return slices.ContainsFunc(l.Changes, func(c history.Change) bool { return c.Date == n.Date })
}

// chartOf draws the rates of a line with their intervals. It is empty without any.
func chartOf(l *history.Line) template.HTML {
	var points []svg.Point
	for _, p := range trendPoints(l) {
		points = append(points, svg.Point{Label: p.Date.UTC().Format(time.DateOnly),
			Rate: svg.Interval{Value: p.Rate, Low: p.Low, High: p.High}, Change: p.Changed})
	}
	if len(points) == 0 {
		return ""
	}
	return svg.Trend("Pass rates by night; the table has the values", points, math.NaN())
}

// compare writes the comparison of the results that the query names.
func (s *server) compare(r *http.Request, f *history.Folder, rep *reply) error {
	query := r.URL.Query()
	var paths []string
	for _, id := range query["r"] {
		e, err := entryOf(f, id)
		if err != nil {
			return err
		}
		if !slices.Contains(paths, e.Path) {
			paths = append(paths, e.Path)
		}
	}
	if len(paths) < 2 || len(paths) > maxCompared {
		return &failure{status: http.StatusBadRequest, title: "Nothing to compare",
			text: fmt.Sprintf("Select from 2 to %d results in the list.", maxCompared)}
	}
	runs, err := compare.OpenAll(paths)
	if err != nil {
		return &failure{status: http.StatusUnprocessableEntity, title: "A result cannot be read", text: err.Error()}
	}
	c, err := compare.Compare(runs, compare.Options{Intersect: query.Get("intersect") == "1", Accept: query["accept"]})
	if err != nil {
		return incomparable(query, err)
	}
	return report.HTML(&rep.page, report.Page{Document: report.Comparison{Comparison: c}, Links: links})
}

// incomparable returns the failure of a comparison, with a link that accepts what differs.
func incomparable(query url.Values, err error) error {
	if !errors.Is(err, compare.ErrIncomparable) {
		return &failure{status: http.StatusBadRequest, title: "The comparison is not possible", text: err.Error()}
	}
	f := &failure{status: http.StatusUnprocessableEntity, title: "The results are not comparable", text: err.Error()}
	if query.Get("intersect") == "" {
		again := url.Values{"r": query["r"], "intersect": {"1"}, "accept": compare.KeyNames()}
		f.links = append(f.links, link{"Compare them nevertheless, over the questions that all of them have", "/compare?" + again.Encode()})
	}
	return f
}

// list writes the list of the results.
func (s *server) list(_ *http.Request, f *history.Folder, rep *reply) error {
	p := listPage{frame: frame{Title: "Results"}, Root: f.Root, Conformance: len(f.Conformance), Others: len(f.Others)}
	for _, e := range f.Entries {
		p.Entries = append(p.Entries, s.row(e))
	}
	for _, l := range history.Lines(f.Entries, maxNights) {
		bars, lo, hi := l.Sparkline()
		p.Lines = append(p.Lines, lineRow{measureRow: rowOf(l), URL: "/trend/" + lineID(l), Nights: len(l.Nights),
			Bars: bars, Low: rate(&lo), High: rate(&hi), Changes: len(l.Changes), Last: l.Nights[len(l.Nights)-1].Date})
	}
	for _, path := range f.Journals {
		row := journalRow{Name: s.below(path), URL: "/progress/" + idOf(path)}
		progress, err := s.follow(path)
		switch {
		case gone(err):
			continue
		case err != nil:
			row.Problem = err.Error()
		default:
			row.Done, row.Planned = progress.Counts.Finished(), progress.Planned
		}
		p.Journals = append(p.Journals, row)
	}
	for _, u := range f.Unreadable {
		p.Unreadable = append(p.Unreadable, u.Reason)
	}
	return rep.write("list", p)
}

// row returns the row of a result in the list.
func (s *server) row(e *history.Entry) entryRow {
	row := entryRow{
		Started: e.StartedAt.UTC().Format("2006-01-02 15:04"), Kind: string(e.Kind), Name: e.Name,
		Dataset: filepath.Base(e.Dataset), Selection: e.Selection, Scorer: e.Scorer, Verdict: word(e), Class: string(e.Verdict),
		File: s.below(e.Path), Rate: none, Interval: none, Passed: none, Cost: none,
	}
	if e.Result == nil {
		row.Dataset = none
		return row
	}
	row.ID, row.URL = idOf(e.Path), "/result/"+idOf(e.Path)
	row.Passed, row.Cost = fmt.Sprintf("%d/%d", e.Passed, e.Total), e.Result.Amount()
	if e.Scored() {
		row.Rate, row.Interval = rate(e.PassRate), interval(e.Interval)
	}
	return row
}

// trend writes the nights of one line.
func (s *server) trend(r *http.Request, f *history.Folder, rep *reply) error {
	for _, l := range history.Lines(f.Entries, maxNights) {
		if lineID(l) != r.PathValue("id") {
			continue
		}
		l.ReadQuestions()
		p := trendPage{frame: frame{Title: "Trend of " + l.Measure.Name}, measureRow: rowOf(l), Older: l.Older, Questions: l.Questions,
			Test: history.Test}
		bars, low, high := l.Sparkline()
		p.Bars, p.Scale, p.Chart = bars, scale(low, high), chartOf(l)
		for _, n := range l.Nights {
			row := nightRow{Date: n.Date, URL: "/result/" + idOf(n.Entry.Path), Rate: none, Interval: none,
				Passed: fmt.Sprintf("%d/%d", n.Entry.Passed, n.Entry.Total), Verdict: word(n.Entry), Changed: n.Changed, Turned: turned(l, n), Others: n.Others}
			if n.Entry.Scored() {
				row.Rate, row.Interval = rate(n.Entry.PassRate), interval(n.Entry.Interval)
			}
			p.Nights = append(p.Nights, row)
		}
		for _, c := range l.Changes {
			p.Changes = append(p.Changes, changeRow{Change: c, From: rate(&c.Before), To: rate(&c.After), Chance: fmt.Sprintf("%.3f", c.P)})
		}
		for _, u := range l.Unread {
			p.Unreadable = append(p.Unreadable, u.Reason)
		}
		return rep.write("trend", p)
	}
	return notFound("trend")
}

// refreshSeconds is how often the page of a run in progress is loaded again.
const refreshSeconds = 2

// progress writes how far a run is. Once it has finished, the page leads to its result.
func (s *server) progress(r *http.Request, f *history.Folder, rep *reply) error {
	path, ok := s.journalOf(f, r.PathValue("id"))
	if !ok {
		return notFound("run in progress")
	}
	state, err := s.follow(path)
	if gone(err) {
		done := strings.TrimSuffix(path, ".journal") + ".json"
		for _, e := range f.Entries {
			if e.Result != nil && (e.Path == done || slices.Contains(e.Copies, done)) {
				rep.location = "/result/" + idOf(e.Path)
				return nil
			}
		}
		return notFound("run in progress")
	}
	if err != nil {
		return &failure{status: http.StatusUnprocessableEntity, title: "The journal cannot be read", text: err.Error()}
	}
	n := state.Counts
	p := progressPage{
		frame: frame{Title: fmt.Sprintf("%s: %d of %d", state.Identity.SDK, n.Finished(), state.Planned), Refresh: refreshSeconds},
		File:  s.below(path), Dataset: state.Identity.Dataset.Path, Scorer: state.Identity.ScoredBy(),
		Scenario: string(state.Identity.Scenario), Started: state.StartedAt.UTC().Format("2006-01-02 15:04:05"),
		Planned: state.Planned, Done: n.Finished(), Answered: state.Answered, Passed: n.Passed, Failed: n.Scored - n.Passed,
		Errors: n.Errors, Unscored: n.Unscored, Stopped: state.Stopped,
		Age: s.now().Sub(state.ChangedAt).Round(time.Second).String(),
	}
	for _, rec := range state.Failed {
		p.Last = append(p.Last, failedRow{ID: rec.ID, Outcome: string(rec.Outcome), Why: why(rec)})
	}
	return rep.write("progress", p)
}

// why returns why a question did not pass.
func why(rec result.Record) string {
	if rec.Error != nil {
		return rec.Error.Message
	}
	return rec.Reason
}
