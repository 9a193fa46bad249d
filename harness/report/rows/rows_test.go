package rows_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/report/rows"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/harness/resulttest"
	"evalctl/internal/filetest"
	"evalctl/internal/goldentest"
	"evalctl/scorer"
)

// hostile are texts that a table must not change, or let end a cell.
var hostile = []string{
	`=HYPERLINK("http://x","y")`, "+1", "-1", "@SUM(A1)", "\t=1", "'quoted'", "a,b;\"c\"\n=1\r\nd\re", "naïve ☃ 🦭", "",
}

// open opens a result file whose answers are hostile.
func open(t *testing.T) *resultfile.Reader {
	t.Helper()
	return reader(t, write(t, func([]result.Record) {}))
}

// write writes a result file with a question for each hostile text, which change may change.
func write(t *testing.T, change func([]result.Record)) string {
	t.Helper()
	data := filetest.Read(t, "../../testdata/result.json")
	var file resulttest.File
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	first := file.Questions[1]
	file.Questions = nil
	for i, text := range hostile {
		q := first
		q.ID, q.Answer, q.Tags = fmt.Sprint(i), text, []string{text + "x"}
		q.Checks = []result.Check{{Check: scorer.Check{Contains: "a"}, Holds: new(true)}, {Check: scorer.Check{Judge: "b"}}}
		file.Questions = append(file.Questions, q)
	}
	change(file.Questions)
	n := len(hostile)
	file.Counts = result.Counts{Total: n, Passed: n, Scored: n}
	file.Total, file.Passed, file.Planned, file.Stopped = n, n, n, ""
	file.Gate.Total, file.Gate.Passed = n, n
	return file.Save(t, t.TempDir(), "go.json")
}

func reader(t *testing.T, path string) *resultfile.Reader {
	t.Helper()
	r, err := resultfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestCSV(t *testing.T) {
	var out bytes.Buffer
	if err := rows.CSV(&out, open(t)); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(lines) != len(hostile)+1 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	at := map[string]int{}
	for i, c := range rows.Columns() {
		if at[c.Name] = i; lines[0][i] != c.Name {
			t.Errorf("column %d is %s, want %s", i, lines[0][i], c.Name)
		}
	}
	for i, want := range hostile {
		line := lines[i+1]
		// encoding/csv reads CRLF within quotes as LF.
		got := line[at["answer"]]
		if want = strings.ReplaceAll(want, "\r\n", "\n"); strings.TrimPrefix(got, "'") != want && got != want {
			t.Errorf("answer %q, want %q", got, want)
		}
		if strings.ContainsAny(got[:min(1, len(got))], "=+-@\t\r\n") {
			t.Errorf("a formula: %q", got)
		}
		if line[at["checks"]] != "2" || line[at["checks_held"]] != "1" || line[at["passed"]] != "true" || line[at["repeat"]] != "1" {
			t.Errorf("%q", line)
		}
	}
}

// A time that was not recorded is no value, and neither is that of a question that was not asked.
func TestUntimed(t *testing.T) {
	path := write(t, func(q []result.Record) {
		q[0].Untimed, q[0].LatencyMS, q[0].FeltMS = true, 0, nil
		q[1].LatencyMS, q[1].FeltMS = 5, nil
		q[2].LatencyMS, q[2].FeltMS = 5, new(9.0)
	})
	var table, lines bytes.Buffer
	if err := errors.Join(rows.CSV(&table, reader(t, path)), rows.JSONLines(&lines, reader(t, path))); err != nil {
		t.Fatal(err)
	}
	cells, err := csv.NewReader(&table).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got := decode(t, &lines)
	took, felt := slices.Index(cells[0], "latency_ms"), slices.Index(cells[0], "felt_ms")
	for i, want := range [][2]*float64{{nil, nil}, {new(5.0), new(5.0)}, {new(5.0), new(9.0)}} {
		cell := func(v *float64) string {
			if v == nil {
				return ""
			}
			return fmt.Sprint(*v)
		}
		if line := cells[i+1]; line[took] != cell(want[0]) || line[felt] != cell(want[1]) {
			t.Errorf("row %d of CSV: %q %q", i, line[took], line[felt])
		}
		if diff := cmp.Diff(want, [2]*float64{got[i].LatencyMS, got[i].FeltMS}); diff != "" {
			t.Errorf("row %d of JSON Lines: %s", i, diff)
		}
	}
}

// decode reads JSON Lines.
func decode(t *testing.T, lines io.Reader) []rows.Row {
	t.Helper()
	var got []rows.Row
	d := json.NewDecoder(lines)
	d.DisallowUnknownFields()
	for {
		var row rows.Row
		err := d.Decode(&row)
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, row)
	}
}

func TestJSONLines(t *testing.T) {
	var out bytes.Buffer
	if err := rows.JSONLines(&out, open(t)); err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(out.Bytes(), []byte("\n"))
	got := decode(t, &out)
	if len(got) != len(hostile) {
		t.Fatalf("%d rows", len(got))
	}
	for i, want := range hostile {
		var tags []string
		if err := json.Unmarshal([]byte(got[i].Tags), &tags); err != nil || tags[0] != want+"x" || got[i].Answer != want {
			t.Errorf("%q %q, want %q", got[i].Answer, tags, want)
		}
		if got[i].Score == nil || got[i].ErrorKind != nil || *got[i].ChecksHeld != 1 {
			t.Errorf("%+v", got[i])
		}
	}
	var object map[string]any
	if err := json.Unmarshal(first, &object); err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, c := range rows.Columns() {
		if i := bytes.Index(first, []byte(`"`+c.Name+`":`)); i <= at {
			t.Errorf("%s: not in order", c.Name)
		} else {
			at = i
		}
		if _, ok := object[c.Name]; !ok || object[c.Name] == nil && !c.Optional {
			t.Errorf("%s: %v", c.Name, object[c.Name])
		}
	}
	if len(object) != len(rows.Columns()) {
		t.Errorf("%d columns, want %d", len(object), len(rows.Columns()))
	}
}

// A file that is damaged in its questions is an error, not a shorter table.
func TestDamagedResult(t *testing.T) {
	data := filetest.Read(t, "../../testdata/result.json")
	path := filetest.Write(t, filepath.Join(t.TempDir(), "go.json"), bytes.Replace(data, []byte(`"id":"q3"`), []byte(`"id":"q2"`), 1))
	for _, write := range []func(*bytes.Buffer, *resultfile.Reader) error{
		func(b *bytes.Buffer, r *resultfile.Reader) error { return rows.CSV(b, r) },
		func(b *bytes.Buffer, r *resultfile.Reader) error { return rows.JSONLines(b, r) },
	} {
		r, err := resultfile.Open(path)
		if err == nil {
			err = errors.Join(write(new(bytes.Buffer), r), r.Close())
		}
		if err == nil {
			t.Error("two questions with one id are no error")
		}
	}
}

// docs/table.schema.json describes the columns.
func TestSchema(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "urn:evalctl:table:1",
  "title": "A row of evalctl show --csv and --jsonl",
  "description": "A question of a result and one of its repeats. The columns are in this order; more may be added at the end or between them, and none is renamed or removed. In CSV, no value is an empty cell, and a text that begins with = + - @ ' or a control character has an apostrophe before it.",
  "type": "object",
  "additionalProperties": false,
  "properties": {
`)
	types := map[string]string{"string": "string", "int64": "integer", "double": "number", "boolean": "boolean"}
	columns := rows.Columns()
	for i, c := range columns {
		kind := fmt.Sprintf("%q", types[c.Type])
		if c.Optional {
			kind = fmt.Sprintf(`[%q, "null"]`, types[c.Type])
		}
		doc, err := json.Marshal(c.Doc)
		if err != nil || types[c.Type] == "" || c.Doc == "" {
			t.Fatalf("%+v %v", c, err)
		}
		end := ","
		if i == len(columns)-1 {
			end = ""
		}
		fmt.Fprintf(&b, "    %q: {\"type\": %s, \"description\": %s}%s\n", c.Name, kind, doc, end)
	}
	b.WriteString("  }\n}\n")
	goldentest.Compare(t, "../../../docs/table.schema.json", b.String())
}
