package view

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"evalctl/harness/history"
	"evalctl/harness/journal"
	"evalctl/harness/report"
	"evalctl/harness/report/page"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/printable"
)

//go:embed pages.html style.css progress.js
var files embed.FS

// shared reads the embedded files once.
var shared = sync.OnceValue(func() (s struct {
	templates *template.Template
	style     template.CSS
	script    template.JS
	policy    string
}) {
	style, styleHash := part("style.css", page.Stacked())
	script, scriptHash := part("progress.js", "")
	s.style, s.script = template.CSS(style), template.JS(script)
	s.policy = fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; connect-src 'self'; "+
		"base-uri 'none'; form-action 'self'; frame-ancestors 'none'", styleHash, scriptHash)
	s.templates = template.Must(template.New("").Funcs(template.FuncMap{
		"clean": clean, "rate": figure.Rate, "interval": func(i *result.Interval) string { return report.EndsBy(i, result.MethodWilson).String() }, "id": idOf, "lineID": lineID,
		"base": filepath.Base, "amount": wording.Amount, "scoredBy": wording.ScoredBy, "count": figure.Count,
	}).ParseFS(files, "pages.html"))
	return s
})

// part returns an embedded file with more appended, and its source expression for a content
// security policy.
func part(name, more string) (text, source string) {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the files are part of the program
	}
	data = append(data, more...)
	sum := sha256.Sum256(data)
	return string(data), "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// write executes a template.
func (rep *reply) write(name string, data any) error {
	rep.policy = shared().policy
	return shared().templates.ExecuteTemplate(&rep.page, name, data)
}

// frame has the fields common to all pages.
type frame struct {
	Title string
	// Refresh is the refresh interval in seconds, 0 for never.
	Refresh int
}

// Style returns the style sheet, which the content security policy allows by its hash.
func (frame) Style() template.CSS { return shared().style }

// Script returns the script for the page of a run in progress, which the policy allows by its hash.
func (progressPage) Script() template.JS { return shared().script }

type link struct{ Text, URL string }

type failurePage struct {
	frame
	Text  string
	Links []link
}

type listPage struct {
	frame
	*history.Folder
	Lines []*history.Line
	Runs  []runRow
}

// runRow is an unfinished run.
type runRow struct {
	Path string
	journal.Progress
	Problem error
}

type progressPage struct {
	frame
	journal.Progress
	File  string
	Wrong int // answers that did not pass
	Age   time.Duration
}

// maxText limits shown texts, in characters.
const maxText = 400

// clean puts text on one line, shortens it, and replaces invisible characters and characters that
// change the text direction by their numbers.
func clean(text string) string {
	var b strings.Builder
	for _, r := range printable.Short(strings.ToValidUTF8(text, "\ufffd"), maxText) {
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
