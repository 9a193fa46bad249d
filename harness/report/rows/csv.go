package rows

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"evalctl/harness/result"
	"evalctl/internal/visible"
)

// formulas are the characters with which a spreadsheet takes a cell for a formula, also the wide
// ones of East Asian keyboards, and the apostrophe that marks one that is not.
const formulas = "=+-@＝＋－＠\t\r\n'"

// Text returns foreign text for a cell of CSV. A spreadsheet would run what begins with one of some
// characters as a formula, also within quotes and after spaces; after an apostrophe it is text. A
// text that begins with an apostrophe gets another one, so that a reader can remove the first of
// any.
func Text(s string) string {
	first := strings.TrimLeftFunc(s, func(r rune) bool { return r == ' ' || visible.IsHidden(r) })
	if r, size := utf8.DecodeRuneInString(first); size > 0 && strings.ContainsRune(formulas, r) {
		return "'" + s
	}
	return s
}

// CSV writes the questions of a result with a header. Cells are quoted as in RFC 4180, with line feeds
// as they are in the texts; rows end with a line feed, since a CRLF would change those.
func CSV(w io.Writer, r *result.Reader) error {
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
