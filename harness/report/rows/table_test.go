package rows

import (
	"bytes"
	"encoding/csv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestCells checks what a spreadsheet would run, and what separates cells in any of them.
func TestCells(t *testing.T) {
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "'x": "''x", "＝1": "'＝1", " =1": "' =1", "\ufeff=1": "'\ufeff=1",
		"\u200b @x": "'\u200b @x", "\tx": "'\tx", "a=1": "a=1", "": "", " x": " x", "é": "é",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	var out bytes.Buffer
	table := NewTable(&out, "\r\n")
	table.Row("a", "tea;=2*3;milk", "b\t=1", `say "x"`, "c,d", "e\nf", " g", "")
	if err := table.Flush(); err != nil || out.String() != "a,\"tea;=2*3;milk\",\"b\t=1\",\"say \"\"x\"\"\",\"c,d\",\"e\nf\",\" g\",\r\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// TestTableIsRead checks that a reader of CSV gets what was written.
func TestTableIsRead(t *testing.T) {
	cell := rapid.StringOf(rapid.SampledFrom([]rune("a,;\t\"\n =é'")))
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.SliceOfN(cell, 3, 3), 1, 4).Draw(t, "rows")
		var out bytes.Buffer
		table := NewTable(&out, "\n")
		for _, row := range want {
			table.Row(row...)
		}
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
		got, err := csv.NewReader(&out).ReadAll()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}
