package view

import (
	"errors"
	"fmt"
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
)

// maxCompared limits the number of results in a comparison.
const maxCompared = 8

// links lead from a page back to the list.
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
			page.Trend = trendOf(f, l)
			page.Links = append(slices.Clip(page.Links), form.Link{Text: "Trend", URL: "/trend/" + lineID(l)})
		}
	}
	return report.HTML(&rep.page, page)
}

// trendOf returns the trend of a line. Its nights lead to their results.
func trendOf(f *history.Folder, l *history.Line) report.Trend {
	return report.Trend{Trend: history.Trend{Root: f.Root, Lines: []*history.Line{l}},
		URL: func(e *history.Entry) string { return "/result/" + idOf(e.Path) }}
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
		return report.HTML(&rep.page, report.Page{Document: trendOf(f, l), Links: links})
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
