package rows

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"evalctl/harness/resultfile"
	"evalctl/internal/visible"
)

// formulas are the characters that make a spreadsheet treat a cell as a formula, including the
// full-width ones of East Asian keyboards, and the apostrophe that marks text.
const formulas = "=+-@＝＋－＠\t\r\n'"

// Text returns foreign text for a CSV cell. A spreadsheet would execute text that begins with one
// of formulas, even within quotes and after spaces. A preceding apostrophe prevents this. Text that
// begins with an apostrophe gets another one, so that a reader can always remove the first.
func Text(s string) string {
	first := strings.TrimLeftFunc(s, func(r rune) bool { return r == ' ' || visible.IsHidden(r) })
	if r, size := utf8.DecodeRuneInString(first); size > 0 && strings.ContainsRune(formulas, r) {
		return "'" + s
	}
	return s
}

// CSV writes the questions of a result with a header. Cells are quoted as in RFC 4180 and keep
// their line feeds. Rows end with a line feed.
func CSV(w io.Writer, r *resultfile.Reader) error {
	out := NewTable(w, "\n")
	var header []string
	for _, c := range Columns() {
		header = append(header, c.Name)
	}
	out.Row(header...)
	res, cells := r.Result(), make([]string, len(header))
	for rec, err := range r.Questions() {
		if err != nil {
			return err
		}
		row := reflect.ValueOf(rowOf(&res, &rec))
		for i := range cells {
			cells[i] = cell(row.Field(i))
		}
		out.Row(cells...)
	}
	return out.Flush()
}

// cell returns the text of a value, empty for nil.
func cell(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		return Text(v.String())
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	panic(fmt.Sprintf("no cell for a %s", v.Kind()))
}
