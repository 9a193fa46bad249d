package markdown_test

import (
	"strings"
	"testing"

	"evalctl/internal/markdown"
	"evalctl/internal/markdown/markdowntest"
	"evalctl/internal/printable"
)

// spanLength is the number of characters that the spans of these tests show.
const spanLength = 300

func TestSpan(t *testing.T) {
	for _, data := range markdowntest.Hostile {
		checkSpan(t, data)
		checkCell(t, data)
	}
}

func FuzzSpan(f *testing.F) {
	for _, data := range markdowntest.Hostile {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		checkSpan(t, data)
		checkCell(t, data)
	})
}

// checkSpan checks that a text is shown as it is in a list.
func checkSpan(t *testing.T, data string) {
	t.Helper()
	want := printable.Line(data, spanLength)
	if want == "" {
		return
	}
	page := markdowntest.Read(t, "- what: "+markdown.Span(data, spanLength)+", more\n")
	if got := page.Spans; len(got) != 1 || got[0] != want || page.Headings > 0 {
		t.Errorf("%q became %q with %d headings", data, got, page.Headings)
	}
}

// checkCell checks that a name is shown as it is in a table.
func checkCell(t *testing.T, data string) {
	t.Helper()
	want := printable.Line(data, markdown.NameLength)
	if want == "" {
		return
	}
	var b strings.Builder
	table := markdown.NewTable("ll", "a", "b")
	table.Row(markdown.Cell(data), "end")
	table.Write(&b)
	page := markdowntest.Read(t, b.String())
	row := page.Row()
	if len(row) != 2 || strings.TrimSpace(row[0]) != strings.TrimSpace(want) || row[1] != "end" {
		t.Errorf("%q became the cells %q:\n%s", data, row, b.String())
	}
	// Text outside code spans could become a mention or a link.
	if spans := strings.Join(page.Spans, ""); strings.ReplaceAll(spans, " ", "") != strings.NewReplacer("|", "", " ", "").Replace(want) {
		t.Errorf("%q has %q in code spans", data, page.Spans)
	}
}

func TestTableWithoutRows(t *testing.T) {
	var b strings.Builder
	markdown.NewTable("l", "a").Write(&b)
	if b.Len() > 0 {
		t.Errorf("wrote %q", b.String())
	}
}
