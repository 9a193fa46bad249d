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

func TestFigures(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{markdown.Dollars(0), "0.00"}, {markdown.Dollars(2.7925), "2.79"}, {markdown.Dollars(0.0405), "0.04050"},
		{markdown.Dollars(0.123456), "0.1235"}, {markdown.Dollars(0.000012346), "0.00001235"},
		{markdown.Dollars(1e-12), "0.000000000"}, {markdown.Dollars(1234.5), "1234.50"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}
