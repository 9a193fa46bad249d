package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"unicode/utf8"

	"evalctl/harness/report/form"
	"evalctl/internal/figure"
)

// inHTML replaces invisible characters in foreign texts. The templates escape them.
var inHTML = form.Escape{
	Own:  form.Separated,
	Name: name, Path: name,
	Data: func(s string) string { return line(s, dataLength) },
	Message: func(s string) string {
		t := cut(s, messageLength)
		if t.More > 0 {
			return fmt.Sprintf("%s … %s", t.Shown, figure.Count(t.More, "more character"))
		}
		return t.Shown
	},
	Tone: func(_ form.Tone, word string) string { return word },
}

// maxTableRows limits the shown rows of a table.
const maxTableRows = 1000

// The limits of shown texts, and of requests and responses, in bytes.
const (
	dataLength    = 1000
	messageLength = 4 << 10
)

// functions are the functions of the templates.
var functions = template.FuncMap{
	"name": name, "capital": capital, "kind": kind, "items": items, "rows": rows,
	"fits": fits, "parts": figureParts,
	"first":    func(list []form.Text) []form.Text { return list[:min(len(list), form.FirstSentences)] },
	"rest":     func(list []form.Text) []form.Text { return list[min(len(list), form.FirstSentences):] },
	"text":     func(t form.Text) string { return t.With(inHTML) },
	"note":     func(n form.Note) string { return sentence(form.Text(n)) },
	"warning":  func(w form.Warning) string { return sentence(form.Text(w)) },
	"has":      strings.Contains,
	"count":    figure.Count,
	"factsFor": func(f form.Facts) form.Facts { return f.For(form.HTML) },
}

// kind returns the name of the template for the content of a block.
func kind(content any) string {
	switch content.(type) {
	case form.Facts:
		return "facts"
	case form.Note:
		return "note"
	case form.Warning:
		return "warning"
	case *form.Table:
		return "table"
	case form.List:
		return "list"
	case form.Chart:
		return "chart"
	case form.Plot:
		return "plot"
	case form.Fold:
		return "fold"
	case []file:
		return "files"
	case *questions:
		return "questions"
	}
	panic(fmt.Sprintf("no template for a %T", content))
}

// sentence returns a text with a capital letter at the start and a full stop at the end.
func sentence(t form.Text) string { return capital(strings.TrimSuffix(t.With(inHTML), ".") + ".") }

func capital(text string) string {
	if first, n := utf8.DecodeRuneInString(text); n == 1 {
		return strings.ToUpper(string(first)) + text[n:]
	}
	return text
}

// rows returns the shown rows. If rows are omitted, the last one says how many.
func rows(t *form.Table) []form.Row {
	more := len(t.Rows) - maxTableRows
	if more <= 0 {
		return t.Rows
	}
	last := form.Row{Cells: make([]form.Cell, len(t.Columns))}
	last.Cells[0].Text = form.F("… and %d more", more)
	return append(slices.Clip(t.Rows[:maxTableRows]), last)
}

func items(l form.List) (out []form.Item) {
	for i := range l.N {
		out = append(out, l.Item(i))
	}
	return out
}
