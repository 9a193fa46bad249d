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
	"unicode"

	"evalctl/harness/history"
	"evalctl/harness/result"
	"evalctl/internal/stats"
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
	style, styleHash := part("style.css")
	script, scriptHash := part("progress.js")
	s.style, s.script = template.CSS(style), template.JS(script)
	s.policy = fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; connect-src 'self'; "+
		"base-uri 'none'; form-action 'self'; frame-ancestors 'none'", styleHash, scriptHash)
	s.templates = template.Must(template.New("").Funcs(template.FuncMap{
		"clean": clean, "join": strings.Join,
	}).ParseFS(files, "pages.html"))
	return s
})

// part returns an embedded file, and the source by which a content security policy allows it.
func part(name string) (text, source string) {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the files are part of the program
	}
	sum := sha256.Sum256(data)
	return string(data), "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// write writes the page of a template.
func (rep *reply) write(name string, data any) error {
	rep.policy = shared().policy
	return shared().templates.ExecuteTemplate(&rep.page, name, data)
}

// frame is what all pages share.
type frame struct {
	Title string
	// Refresh is after how many seconds the page shows the state again, 0 for never.
	Refresh int
}

// Style returns the style sheet, which the content security policy allows by its hash.
func (frame) Style() template.CSS { return shared().style }

// Script returns the script of the page of a run in progress, which the policy allows like the
// style.
func (progressPage) Script() template.JS { return shared().script }

type link struct{ Text, URL string }

type failurePage struct {
	frame
	Text  string
	Links []link
}

type listPage struct {
	frame
	Root       string
	Entries    []entryRow
	Lines      []lineRow
	Journals   []journalRow
	Unreadable []string

	Conformance, Others int
}

// entryRow is a result in the list. ID and URL are empty for a sweep.
type entryRow struct {
	ID, URL                                            string
	Started, Kind, Name, Dataset, Selection, Scorer    string
	Passed, Rate, Interval, Verdict, Class, Cost, File string
}

// measureRow describes what a line measures.
type measureRow struct {
	Name, Kind, Scenario, Dataset, Scorer, Asked string
}

type lineRow struct {
	measureRow
	URL, Bars, Low, High, Last string
	Nights, Changes            int
}

type journalRow struct {
	Name, URL, Problem string
	Done, Planned      int
}

type trendPage struct {
	frame
	measureRow
	Bars, Scale string
	Chart       template.HTML // empty without a rate
	Older       int
	Nights      []nightRow
	Changes     []changeRow
	Test        stats.ChangeTest
	Questions   []history.Turn
	Unreadable  []string
}

type nightRow struct {
	Date, URL, Rate, Interval, Passed, Verdict string
	Changed                                    []string
	Turned                                     bool // the pass rate changed here
	Others                                     int
}

type changeRow struct {
	history.Change
	From, To, Chance string
}

type progressPage struct {
	frame
	File, Dataset, Scorer, Scenario, Started, Age string

	Planned, Done, Answered, Passed, Failed, Errors, Unscored int

	Stopped bool
	Last    []failedRow
}

type failedRow struct{ ID, Outcome, Why string }

// none is shown where there is no figure.
const none = "–"

func rate(f *float64) string {
	if f == nil {
		return none
	}
	return fmt.Sprintf("%.3f", *f)
}

// interval formats an interval for a column titled 95% Wilson. It names any other method.
func interval(i *result.Interval) string {
	if i == nil {
		return none
	}
	text := fmt.Sprintf("%.3f–%.3f", i.Low, i.High)
	if name, known := result.MethodName(i.Method); known && i.Method != result.MethodWilson {
		text += " " + name
	}
	return text
}

// word returns the verdict on a result, or why it stopped.
func word(e *history.Entry) string {
	switch {
	case e.Stopped != "":
		return strings.ReplaceAll(string(e.Stopped), "_", " ")
	case e.Verdict == "":
		return none
	}
	return string(e.Verdict)
}

func rowOf(l *history.Line) measureRow {
	return measureRow{Name: l.Measure.Name, Kind: string(l.Measure.Kind), Scenario: string(l.Measure.Scenario),
		Dataset: filepath.Base(l.Dataset), Scorer: l.Measure.Scorer, Asked: l.Asked()}
}

// scale describes the sparkline of a line.
func scale(lo, hi float64) string {
	if hi == 0 {
		return "no night has a score"
	}
	return fmt.Sprintf("from %.3f (▁) to %.3f (█)", lo, hi)
}

// maxText is the number of characters of a text that are shown.
const maxText = 400

// clean returns text on one line, cut if it is long, with the numbers of characters that cannot be
// seen or that change the order of others.
func clean(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.ToValidUTF8(text, "\ufffd") {
		if n++; n > maxText {
			b.WriteString(" …")
			break
		}
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
