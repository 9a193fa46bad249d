package rows

import "reflect"

// Column is a column of the table.
type Column struct {
	Name string
	// Type is string, int64, double or boolean.
	Type string
	// Optional is set if values may be missing.
	Optional bool
	Doc      string
}

// Columns returns the columns in order.
func Columns() []Column {
	var out []Column
	t := reflect.TypeFor[Row]()
	for i := range t.NumField() {
		f := t.Field(i)
		of := f.Type
		optional := of.Kind() == reflect.Pointer
		if optional {
			of = of.Elem()
		}
		kind := of.String()
		switch of.Kind() {
		case reflect.Float64:
			kind = "double"
		case reflect.Bool:
			kind = "boolean"
		}
		out = append(out, Column{Name: f.Tag.Get("json"), Type: kind, Optional: optional, Doc: f.Tag.Get("doc")})
	}
	return out
}
