package form_test

import (
	"strings"
	"testing"

	"evalctl/harness/report/form"
)

func TestOneMoreRow(t *testing.T) {
	table := form.NewTable(form.F("Many"), "n")
	for i := range 101 {
		table.Row(i)
	}
	s := form.Section{ID: "many", Title: "Many"}
	s.Show(form.Markdown, table)
	p := form.NewSummary(1 << 20)
	(&form.Report{Sections: []form.Section{s}}).Markdown(p)
	var b strings.Builder
	if _, err := p.WriteTo(&b); err != nil || !strings.Contains(b.String(), "… and 1 more row, in the result file.") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
