package view

import (
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"evalctl/harness/compare"
	"evalctl/harness/history"
	"evalctl/harness/key"
	"evalctl/harness/report"
	"evalctl/harness/report/form"
	"evalctl/harness/wording"
	"evalctl/internal/svg"
)

// maxCompared limits the number of results in a comparison.
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
			Interval: wording.IntervalName(e.Interval), Changed: turned(l, n), Note: strings.Join(n.Changed, ", "), URL: "/result/" + idOf(e.Path),
			USD: report.TotalUSD(e.Result),
		})
	}
	return points
}

// turned reports whether the pass rate changed at a night.
func turned(l *history.Line, n history.Night) bool {
	return slices.ContainsFunc(l.Changes, func(c history.Change) bool { return c.Date == n.Date })
}

// chartOf draws the rates of a line with their intervals. It returns "" if there are none.
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

// compare writes the comparison of the results in the query.
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

// incomparable returns the failure of a comparison, with a link that accepts the differences.
func incomparable(query url.Values, err error) error {
	if !errors.Is(err, key.ErrIncomparable) {
		return &failure{status: http.StatusBadRequest, title: "The comparison is not possible", text: err.Error()}
	}
	f := &failure{status: http.StatusUnprocessableEntity, title: "The results are not comparable", text: err.Error()}
	if query.Get("intersect") == "" {
		again := url.Values{"r": query["r"], "intersect": {"1"}, "accept": key.Names(key.Compare)}
		f.links = append(f.links, link{"Compare them nevertheless, over the questions that all of them have", "/compare?" + again.Encode()})
	}
	return f
}

// list writes the list of results.
func (s *server) list(_ *http.Request, f *history.Folder, rep *reply) error {
	p := listPage{frame: frame{Title: "Results"}, Folder: f, Lines: history.Lines(f.Entries, maxNights)}
	for _, path := range f.Journals {
		row := runRow{Path: path}
		row.Progress, row.Problem = s.follow(path)
		if gone(row.Problem) {
			continue
		}
		p.Runs = append(p.Runs, row)
	}
	return rep.write("list", p)
}

// trend writes the nights of one line.
func (s *server) trend(r *http.Request, f *history.Folder, rep *reply) error {
	for _, l := range history.Lines(f.Entries, maxNights) {
		if lineID(l) != r.PathValue("id") {
			continue
		}
		l.ReadQuestions()
		p := trendPage{frame: frame{Title: "Trend of " + l.Last().Name}, Line: l, Chart: chartOf(l), Costs: report.CostChart(trendPoints(l)), Test: history.Test}
		return rep.write("trend", p)
	}
	return notFound("trend")
}

// refreshSeconds is the refresh interval of the page of a run in progress.
const refreshSeconds = 2

// progress writes the progress of a run. Once it has finished, the page leads to its result.
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
	return rep.write("progress", progressPage{
		frame:    frame{Title: fmt.Sprintf("%s: %d of %d", state.Identity.SDK, state.Counts.Finished(), state.Planned), Refresh: refreshSeconds},
		Progress: state, File: f.Below(path), Wrong: state.Counts.Scored - state.Counts.Passed, Age: s.now().Sub(state.ChangedAt).Round(time.Second),
	})
}
