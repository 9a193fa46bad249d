package rows

import (
	"reflect"
	"strings"
)

// Column is a column of the table.
type Column struct {
	Name string
	// Type is string, int64, double or boolean.
	Type string
	// Optional is set if a row may have no value.
	Optional bool
	Doc      string
}

// Columns returns the columns in order.
func Columns() []Column {
	var out []Column
	t := reflect.TypeFor[Row]()
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		kind := of.String()
		switch of.Kind() {
		case reflect.Float64:
			kind = "double"
		case reflect.Bool:
			kind = "boolean"
		}
		out = append(out, Column{Name: name, Type: kind, Optional: option == "optional", Doc: f.Tag.Get("doc")})
	}
	return out
}
