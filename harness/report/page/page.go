// Package page writes a report and the questions of a result as an HTML page. A page is a single
// file that works without network and without scripts.
//
// Only html/template writes texts of datasets, daemons and models, and the page's content security
// policy allows only its own style and script, by their hashes.
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
	"strings"
	"sync"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
)

// Content is the content of a page.
type Content struct {
	Report *form.Report
	// Result and Questions are shown after the report, nil if there are no questions.
	Result    *result.Result
	Questions []result.Record
}

// document is the data of the template page.html.
type document struct {
	layout
	*form.Report
	Sections []form.Section
}

// add adds a section unless it is empty.
func (d *document) add(s form.Section) {
	if len(s.Blocks) > 0 {
		d.Sections = append(d.Sections, s)
	}
}

// layout has the fields common to all pages.
type layout struct {
	templates *template.Template
	Style     template.CSS
	Script    template.JS
	// Policy is the content security policy. It allows this style and this script, and no requests.
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
	style = append(style, Stacked()...)
	return layout{
		templates: template.Must(template.New("").Funcs(functions).ParseFS(files, "*.html")),
		Style:     template.CSS(style), Script: template.JS(script),
		Policy: fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; "+
			"base-uri 'none'; form-action 'none'", source(style), source(script)),
	}
})

// source returns the hash of a text as a source expression of a content security policy.
func source(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Write writes the page.
func Write(w io.Writer, c Content) error {
	doc := &document{layout: shared(), Report: c.Report}
	for _, s := range c.Report.Sections {
		s.Blocks = s.For(form.HTML)
		for _, b := range s.Blocks {
			if t, ok := b.Content.(*form.Table); ok && strings.EqualFold(t.Caption.String(), s.Title) {
				t.Caption = form.Text{} // For has made a copy
			}
		}
		if c.Result != nil && s.ID == "ran" {
			s.Show(form.HTML, runFiles(c))
		}
		doc.add(s)
	}
	if c.Result != nil {
		doc.add(newQuestions(c).section())
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
