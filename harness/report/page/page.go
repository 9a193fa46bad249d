// Package page writes HTML pages: a result with its questions, a comparison, the arms of a replay,
// or a report of conformance. A page is one file that needs no network and no script.
//
// Texts of datasets, daemons and models are data: only html/template writes them, and the page's
// content security policy allows nothing but its own style and script, by their hashes.
package page

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"sync"
	"time"

	"evalctl/harness/bench/record"
	"evalctl/harness/board"
	"evalctl/harness/conformance"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
)

// Content is what a page shows. It needs one of Result, Comparison, Compared, Conformance, Board and Bench; the
// other parts are optional.
type Content struct {
	// Path is that of the result file, as it was given, and Questions are those of Result.
	Path      string
	Result    *result.Result
	Questions []result.Record

	// Report is what has no questions.
	Report      *form.Report
	Conformance *conformance.Report
	// Board has ranked results, BoardURLs their pages by their paths.
	Board     *board.Board
	BoardURLs map[string]string
	// Bench is what a bench measured.
	Bench *record.File
	// Trend has results that are comparable with Result, the oldest first.
	Trend []TrendPoint
	// Links lead to other pages.
	Links []Link
}

// Link is a link to another page. A URL with a scheme other than http and https is replaced by one
// that leads nowhere.
type Link struct{ Text, URL string }

// TrendPoint is one result of a trend.
type TrendPoint struct {
	Date          time.Time
	Passed, Total int
	// Rate is the pass rate and Low and High its interval, from 0 to 1.
	Rate, Low, High float64
	// Interval names the level and the method of the interval, such as 95% Wilson. It may be empty.
	Interval string
	// Changed is set if the pass rates before and from here on differ.
	Changed bool
	// Note says what else changed, such as the judge's prompt. It may be empty.
	Note string
	// URL leads to the page of the result, if there is one.
	URL string
}

// document is what the template page.html shows.
type document struct {
	layout
	Title string
	Band  band
	Links []Link
	// Warnings are what a reader must know before any figure.
	Warnings []string
	Sections []section
	// Tool names the program that measured.
	Tool string
}

func (d *document) add(s section) {
	if len(s.Blocks) > 0 {
		d.Sections = append(d.Sections, s)
	}
}

// layout is what all pages share.
type layout struct {
	templates *template.Template
	Style     template.CSS
	Script    template.JS
	// Policy is the content security policy. It allows this style and this script, and no request.
	Policy string
}

//go:embed *.html style.css script.js
var files embed.FS

// shared reads the embedded files once.
var shared = sync.OnceValue(func() layout {
	style, errStyle := files.ReadFile("style.css")
	script, errScript := files.ReadFile("script.js")
	if err := errors.Join(errStyle, errScript); err != nil {
		panic(err) // the files are part of the program
	}
	return layout{
		templates: template.Must(template.ParseFS(files, "*.html")),
		Style:     template.CSS(style), Script: template.JS(script),
		Policy: fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; "+
			"base-uri 'none'; form-action 'none'", source(style), source(script)),
	}
})

// source returns the hash of a text as a source of a content security policy.
func source(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Write writes the page.
func Write(w io.Writer, c Content) error {
	doc := &document{layout: shared()}
	for _, l := range c.Links {
		doc.Links = append(doc.Links, Link{name(l.Text), l.URL})
	}
	switch {
	case c.Result != nil:
		doc.addRun(c)
	case c.Report != nil:
		doc.addReport(c.Report)
	case c.Conformance != nil:
		doc.addConformance(c.Conformance)
	case c.Board != nil:
		doc.addBoard(c.Board, c.BoardURLs)
	case c.Bench != nil:
		doc.addBench(c.Bench)
	default:
		return errors.New("an HTML page needs a result, a comparison or a conformance report")
	}
	b := bufio.NewWriter(w)
	err := doc.templates.ExecuteTemplate(b, "page.html", doc)
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		return fmt.Errorf("write the HTML page: %w", err)
	}
	return nil
}
