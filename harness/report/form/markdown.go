package form

import (
	"fmt"
	"io"
	"strings"

	"evalctl/internal/figure"
	"evalctl/internal/markdown"
)

// The limits in Markdown of names and of longer texts, in characters, and of the rows of a table.
const (
	nameLength = 100
	dataLength = 600
	maxRows    = 100
)

// Separated prepares the program's words for a page. Where a terminal separates parts by two blanks
// or a line break, a page has a separator.
func Separated(s string) string {
	if !strings.Contains(s, "  ") && !strings.Contains(s, partBreak) {
		return s
	}
	return separators.Replace(s)
}

var separators = strings.NewReplacer(partBreak, " · ", ":  ", ": ", "   ", " · ", "  ", " · ")

// ownMarkdown escapes the program's words for Markdown. GitHub treats text between two dollar signs
// as a formula.
func ownMarkdown(s string) string { return special.Replace(Separated(s)) }

var special = strings.NewReplacer("|", `\|`, "*", `\*`, "~", `\~`, "$", `\$`, "`", "\\`")

// inMarkdown shows foreign texts as code.
var inMarkdown = Escape{
	Own: ownMarkdown, Name: markdown.Code, Path: markdown.Code,
	Data: func(s string) string { return markdown.Span(s, dataLength) }, Message: func(s string) string { return markdown.Span(s, dataLength) }, Tone: bold,
}

// Markdown returns the text as Markdown shows it.
func (t Text) Markdown() string { return t.With(inMarkdown) }

func bold(tone Tone, word string) string {
	if tone != Bad {
		return word
	}
	return "**" + word + "**"
}

// inCell shows foreign texts as code in a cell of a table.
var inCell = Escape{
	Own: ownMarkdown, Name: markdown.Cell, Path: markdown.Cell,
	Data: func(s string) string { return markdown.LongCell(s, dataLength) }, Message: func(s string) string { return markdown.LongCell(s, dataLength) }, Tone: bold,
}

// Markdown adds the report to a page.
func (r *Report) Markdown(p *Summary) {
	headline := r.Verdict.Headline
	if headline.Empty() {
		headline = F("%s: %s", r.Verdict.Word, r.Verdict.Title)
	}
	if r.Verdict.Word != "" || !r.Verdict.Headline.Empty() {
		p.printf("## %s\n\n", headline.With(inMarkdown))
	}
	for _, s := range r.Verdict.Sentences {
		p.printf("- %s\n", s.With(inMarkdown))
	}
	if len(r.Verdict.Sentences) > 0 {
		p.printf("\n")
	}
	for _, w := range r.Warnings {
		p.printf("**Warning:** %s.\n\n", w.With(inMarkdown))
	}
	for _, s := range r.Sections {
		s.Markdown(p)
	}
}

// Markdown adds the section to a page, without its heading.
func (s *Section) Markdown(p *Summary) {
	for _, b := range s.For(Markdown) {
		switch c := b.Content.(type) {
		case Facts:
			c.markdown(p)
		case Note:
			p.printf("%s.\n\n", strings.TrimSuffix(Text(c).With(inMarkdown), "."))
		case Warning:
			p.printf("**Warning:** %s.\n\n", strings.TrimSuffix(Text(c).With(inMarkdown), "."))
		case *Table:
			c.markdown(p)
		case List:
			// WriteTo writes lists at the end, when the remaining space is known.
			p.folds = append(p.folds, c)
		case Fold:
			c.markdown(p)
		}
	}
}

func (facts Facts) markdown(p *Summary) {
	t := markdown.NewTable("ll", "what", "value")
	for _, f := range facts {
		t.Row(f.Name, f.Value.With(inCell))
	}
	p.part(t.Write)
}

// markdown adds a folded table.
func (f Fold) markdown(p *Summary) {
	p.part(func(w io.Writer) {
		fmt.Fprintf(w, "<details><summary>%s</summary>\n\n", plain(f.Title))
		f.Content.(*Table).write(w)
		fmt.Fprint(w, "</details>\n\n")
	})
}

func (table *Table) markdown(p *Summary) { p.part(table.write) }

// write writes the first rows.
func (table *Table) write(w io.Writer) {
	rows := table.Rows
	var header []string
	align := ""
	for _, c := range table.Columns {
		header = append(header, c.Name.With(inCell))
		align += c.align()
	}
	t := markdown.NewTable(align, header...)
	for _, r := range rows[:min(len(rows), maxRows)] {
		var row []string
		for _, c := range r.Cells {
			row = append(row, bold(c.Tone, c.Text.With(inCell)))
		}
		t.Row(row...)
	}
	t.Write(w)
	if more := len(rows) - maxRows; more > 0 {
		fmt.Fprintf(w, "… and %s, in the result file.\n\n", figure.Count(more, "more row"))
	}
}

// reserve is the space kept for notes about omitted parts.
const reserve = 512

// Summary is a Markdown page of limited size.
type Summary struct {
	text  strings.Builder
	limit int
	// leftOut is the number of omitted parts.
	leftOut int
	folds   []List
}

// NewSummary returns an empty page of fewer than limit bytes.
func NewSummary(limit int) *Summary { return &Summary{limit: limit} }

// part adds the output of write, or nothing if it does not fit.
func (p *Summary) part(write func(w io.Writer)) {
	var b strings.Builder
	write(&b)
	if p.text.Len()+b.Len()+reserve > p.limit {
		p.leftOut++
		return
	}
	p.text.WriteString(b.String())
}

// printf adds a part.
func (p *Summary) printf(format string, args ...any) {
	p.part(func(w io.Writer) { fmt.Fprintf(w, format, args...) })
}

// WriteTo writes the page with its lists, which share the remaining space equally, and the number
// of omitted parts.
func (p *Summary) WriteTo(w io.Writer) (int64, error) {
	for i, f := range p.folds {
		share := (p.limit - p.text.Len()) / (len(p.folds) - i)
		p.part(func(w io.Writer) { f.write(w, share-reserve) })
	}
	if note := fmt.Sprintf("%s left out, because the page would be too large.\n", figure.Count(p.leftOut, "part")); p.leftOut > 0 && p.text.Len()+len(note) < p.limit {
		p.text.WriteString(note)
	}
	n, err := io.WriteString(w, p.text.String())
	return int64(n), err
}

// write writes as many items as fit into space bytes, and the number of omitted ones.
func (l List) write(w io.Writer, space int) {
	var b strings.Builder
	fmt.Fprintf(&b, "<details><summary>%s</summary>\n\n", plain(l.Title))
	shown, most := 0, l.N
	if l.Folded > 0 {
		most = min(most, l.Folded)
	}
	for ; shown < most; shown++ {
		item := l.Item(shown).markdown()
		if b.Len()+len(item)+reserve > space {
			break
		}
		b.WriteString(item)
	}
	if more := l.N - shown; more > 0 {
		fmt.Fprintf(&b, "- … and %d more, in %s\n", more, l.More.With(inMarkdown))
	}
	b.WriteString("\n</details>\n\n")
	fmt.Fprint(w, b.String())
}

// markdown returns an item on one line, so that the source of a long page is readable.
func (i Item) markdown() string {
	text := "- " + i.Head.With(inMarkdown)
	for _, f := range i.Below {
		if f.Name != "" {
			f.Value = F("%s: %s", f.Name, f.Value)
		}
		text += " · " + f.Value.With(inMarkdown)
	}
	return text + "\n"
}

// plain returns a text for the HTML title of a folded list. It keeps only letters, digits and a few
// other characters.
func plain(title string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_. ,:", r) {
			return r
		}
		return '?'
	}, title)
}
