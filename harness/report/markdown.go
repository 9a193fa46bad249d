package report

import (
	"fmt"
	"io"

	"evalctl/harness/report/form"
	"evalctl/internal/markdown"
	"evalctl/internal/terminal"
)

// MaxSummary is the size of the largest summary that GitHub shows of a step, in bytes.
const MaxSummary = 1 << 20

// Markdown writes a document as a page for the summary of a job: the verdict first, then figures,
// then what did not pass, folded. The page has fewer than limit bytes: what does not fit is left
// out, and the page says how much. The error is that of w.
func Markdown(w io.Writer, d Document, limit int) error {
	p := form.NewSummary(limit)
	d.write(&summary{p})
	_, err := p.WriteTo(w)
	return err
}

// Text prints a comparison on a terminal, with what memory adds over baselines first.
func Text(t *terminal.Terminal, d Comparison) { d.report().Text(t) }

type summary struct{ *form.Summary }

const maxRows = 100

func (p *summary) part(write func(w io.Writer))      { p.Part(write) }
func (p *summary) printf(format string, args ...any) { p.Printf(format, args...) }

func (p *summary) fold(title string, n int, more string, item func(i int) string) {
	p.Fold(form.Fold{Title: title, N: n, More: more, Raw: item})
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
