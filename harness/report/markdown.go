package report

import (
	"fmt"
	"io"
	"strings"

	"evalctl/internal/markdown"
)

// MaxSummary is the size of the largest summary that GitHub shows of a step, in bytes.
const MaxSummary = 1 << 20

// Markdown writes a document as a page for the summary of a job: the verdict first, then figures,
// then what did not pass, folded. The page has fewer than limit bytes: what does not fit is left
// out, and the page says how much. The error is that of w.
func Markdown(w io.Writer, d Document, limit int) error {
	p := &summary{limit: limit}
	d.write(p)
	p.finish()
	_, err := io.WriteString(w, p.text.String())
	return err
}

// reserve is the space that is kept for the remarks that something was left out.
const reserve = 512

// maxRows is the number of rows that a table shows.
const maxRows = 100

// summary is a page of limited size.
type summary struct {
	text  strings.Builder
	limit int
	// leftOut is the number of parts that did not fit.
	leftOut int
	folds   []fold
}

// fold is a list that is folded and comes last, when it is known how much space there is.
type fold struct {
	title string
	n     int
	item  func(i int) string
	more  string // where the items are that do not fit
}

// part adds what write writes, or nothing if it does not fit.
func (p *summary) part(write func(w io.Writer)) {
	var b strings.Builder
	write(&b)
	if p.text.Len()+b.Len()+reserve > p.limit {
		p.leftOut++
		return
	}
	p.text.WriteString(b.String())
}

// printf adds a part.
func (p *summary) printf(format string, args ...any) {
	p.part(func(w io.Writer) { fmt.Fprintf(w, format, args...) })
}

// fold adds a list of n items, each of which is a line or several, to the end of the page.
func (p *summary) fold(title string, n int, more string, item func(i int) string) {
	if n > 0 {
		p.folds = append(p.folds, fold{title, n, item, more})
	}
}

// finish adds the lists, each of which gets the same share of the space that is left.
func (p *summary) finish() {
	for i, f := range p.folds {
		share := (p.limit - p.text.Len()) / (len(p.folds) - i)
		p.part(func(w io.Writer) { f.write(w, share-reserve) })
	}
	if note := fmt.Sprintf("%s left out, because the page would be too large.\n", markdown.Count(p.leftOut, "part")); p.leftOut > 0 && p.text.Len()+len(note) < p.limit {
		p.text.WriteString(note)
	}
}

// write writes as many items as fit into some bytes, and how many do not.
func (f fold) write(w io.Writer, space int) {
	head := fmt.Sprintf("<details><summary>%s</summary>\n\n", f.title)
	var b strings.Builder
	b.WriteString(head)
	shown := 0
	for ; shown < f.n; shown++ {
		item := f.item(shown)
		if b.Len()+len(item)+reserve > space {
			break
		}
		b.WriteString(item)
	}
	if more := f.n - shown; more > 0 {
		fmt.Fprintf(&b, "- … and %d more, in %s\n", more, f.more)
	}
	b.WriteString("\n</details>\n\n")
	fmt.Fprint(w, b.String())
}

// rows adds a table of n rows, of which it shows the first.
func (p *summary) rows(t *markdown.Table, n int, what string, row func(i int) []string) {
	for i := range min(n, maxRows) {
		t.Row(row(i)...)
	}
	p.part(func(w io.Writer) {
		t.Write(w)
		if n > maxRows {
			fmt.Fprintf(w, "… and %d more %s, in the result file.\n\n", n-maxRows, what)
		}
	})
}
