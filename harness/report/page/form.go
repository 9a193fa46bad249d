package page

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"evalctl/harness/report/form"
)

// inHTML shows what cannot be seen of the texts of others. The templates escape it.
var inHTML = form.Escape{
	Own:  form.Separated,
	Name: name, Path: name,
	Data: func(s string) string { return line(s, dataLength) },
	Message: func(s string) string {
		t := cut(s, messageLength)
		if t.More > 0 {
			return fmt.Sprintf("%s … %d more characters", t.Shown, t.More)
		}
		return t.Shown
	},
	Tone: func(_ form.Tone, word string) string { return word },
}

// maxTableRows is how many rows of a table are shown.
const maxTableRows = 1000

// How much of a longer text is shown, and of a request or a response, in bytes.
const (
	dataLength    = 1000
	messageLength = 4 << 10
)

// addReport adds the parts of a report that HTML shows.
func (d *document) addReport(r *form.Report) {
	v := r.Verdict
	d.Title = v.Title.With(inHTML)
	d.Band = band{Class: string(v.Tone), Mark: v.Mark, Word: v.Word, Heading: d.Title, About: v.About.With(inHTML), Rate: v.Rate, Figure: v.Figure}
	for i, s := range v.Sentences {
		if i == 0 {
			d.Band.Sentence = s.With(inHTML)
			continue
		}
		d.Band.More = append(d.Band.More, s.With(inHTML))
	}
	for _, w := range r.Warnings {
		d.Warnings = append(d.Warnings, w.With(inHTML))
	}
	d.Tool = name(r.Tool)
	for _, l := range r.Links {
		d.Links = append(d.Links, form.Link{Text: name(l.Text), URL: l.URL})
	}
	for _, s := range r.Sections {
		d.add(sectionOf(s))
	}
}

func sectionOf(s form.Section) section {
	out := section{ID: s.ID, Title: s.Title}
	for _, b := range s.Blocks {
		if b.In&form.HTML == 0 {
			continue
		}
		switch c := b.Content.(type) {
		case form.Facts:
			if facts := factsOf(c); len(facts) > 0 {
				out.add(block{Facts: facts})
			}
		case form.Note:
			out.add(block{Text: sentence(form.Text(c))})
		case form.Warning:
			out.add(block{Warning: sentence(form.Text(c))})
		case *form.Table:
			if t := tableOf(c); len(t.Rows) > 0 {
				out.add(block{Table: t})
			}
		case form.List:
			if c.N > 0 {
				out.add(block{Text: capital(c.Title), Items: itemsOf(c)})
			}
		case form.Chart:
			out.add(block{Chart: &chart{c.SVG(), c.Caption}})
		}
	}
	return out
}

// sentence returns a text that begins with a capital letter and ends with a full stop.
func sentence(t form.Text) string { return capital(strings.TrimSuffix(t.With(inHTML), ".") + ".") }

func capital(text string) string {
	if first, n := utf8.DecodeRuneInString(text); n == 1 {
		return strings.ToUpper(string(first)) + text[n:]
	}
	return text
}

func factsOf(facts form.Facts) (out []fact) {
	for _, f := range facts.For(form.HTML) {
		out = append(out, fact{Name: capital(f.Name), Value: f.Value.With(inHTML)})
	}
	return out
}

func tableOf(t *form.Table) *table {
	heads, rows := t.For(form.HTML)
	out := &table{Caption: t.Caption.With(inHTML)}
	for _, c := range heads {
		out.Columns = append(out.Columns, column{c.Name.With(inHTML), c.Number})
	}
	for i, row := range rows {
		if i == maxTableRows {
			out.row(append(cells(fmt.Sprintf("… and %d more", len(rows)-i)), make([]cell, len(heads)-1)...)...)
			break
		}
		var shown []cell
		for _, c := range row {
			shown = append(shown, cell{Text: c.Text.With(inHTML), Mark: c.Mark, Class: string(c.Tone), URL: c.URL})
			if c.Bar != nil {
				shown[len(shown)-1].Bar = c.Bar()
			}
		}
		out.row(shown...)
	}
	return out
}

func itemsOf(l form.List) (out []item) {
	for i := range l.N {
		one := l.Item(i)
		out = append(out, item{Class: string(one.Tone), Head: one.Head.With(inHTML), Facts: factsOf(one.Below)})
	}
	return out
}
