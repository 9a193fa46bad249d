package httpapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// rule changes the schema that a Go type implies.
type rule func(*jsonschema.Schema)

// schemaOf returns the schema of T with rules applied.
func schemaOf[T any](rules ...rule) *jsonschema.Schema {
	return schemaOfType(reflect.TypeFor[T](), rules)
}

// schemaOfType refers to the schemas of components, unless t itself is one.
func schemaOfType(t reflect.Type, rules []rule) *jsonschema.Schema {
	known := map[reflect.Type]*jsonschema.Schema{}
	for other := range components {
		if other != t {
			known[other] = &jsonschema.Schema{Ref: componentRef(other.Name())}
		}
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		panic(err)
	}
	neverNull(s)
	for _, change := range rules {
		change(s)
	}
	return s
}

func componentRef(name string) string { return "#/components/schemas/" + name }

// neverNull removes null from lists and from optional objects: a nil one is left out.
func neverNull(s *jsonschema.Schema) {
	switch {
	case s.Ref != "":
		s.Types = nil
	case slices.Equal(s.Types, []string{"null", "array"}):
		s.Type, s.Types = "array", nil
	}
	for _, property := range s.Properties {
		neverNull(property)
	}
	for _, inner := range []*jsonschema.Schema{s.Items, s.AdditionalProperties} {
		if inner != nil {
			neverNull(inner)
		}
	}
}

// field applies rules to a field of a struct, by its JSON name.
func field(name string, rules ...rule) rule {
	return func(s *jsonschema.Schema) {
		property := s.Properties[name]
		if property == nil {
			panic(fmt.Sprintf("no field %s among %v", name, s.PropertyOrder))
		}
		for _, change := range rules {
			change(property)
		}
	}
}

// items applies rules to the elements of a list.
func items(rules ...rule) rule {
	return func(s *jsonschema.Schema) {
		for _, change := range rules {
			change(s.Items)
		}
	}
}

func doc(format string, args ...any) rule {
	return func(s *jsonschema.Schema) { s.Description = fmt.Sprintf(format, args...) }
}

// open allows keys that are not listed, as the bodies of most requests do.
func open(s *jsonschema.Schema) { s.AdditionalProperties = nil }

// anyObject is an object with any keys and values.
func anyObject(s *jsonschema.Schema) { *s = jsonschema.Schema{Type: "object"} }

// require makes fields required that their JSON tags may omit.
func require(names ...string) rule {
	return func(s *jsonschema.Schema) { s.Required = append(s.Required, names...) }
}

// optional is for fields of requests that the client package always sends.
func optional(name string) rule {
	return func(s *jsonschema.Schema) {
		s.Required = slices.DeleteFunc(s.Required, func(n string) bool { return n == name })
	}
}

// ref refers to one of sharedSchemas.
func ref(name string) rule {
	return func(s *jsonschema.Schema) { *s = jsonschema.Schema{Ref: componentRef(name)} }
}

func ofType(name string) rule {
	return func(s *jsonschema.Schema) { s.Type, s.Types = name, nil }
}

// chars limits the length of a string. A limit of 0 is none.
func chars(least, most int) rule {
	return func(s *jsonschema.Schema) {
		s.MinLength, s.MaxLength = orNil(least), orNil(most)
	}
}

// count limits the length of a list. A limit of 0 is none.
func count(least, most int) rule {
	return func(s *jsonschema.Schema) {
		s.MinItems, s.MaxItems = orNil(least), orNil(most)
	}
}

func orNil(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

func between(least, most int) rule {
	return func(s *jsonschema.Schema) {
		s.Minimum, s.Maximum = jsonschema.Ptr(float64(least)), jsonschema.Ptr(float64(most))
	}
}

func least(n int) rule {
	return func(s *jsonschema.Schema) { s.Minimum = jsonschema.Ptr(float64(n)) }
}

func pattern(expr string) rule {
	return func(s *jsonschema.Schema) { s.Pattern = expr }
}

// date is a time in the form of RFC 3339.
func date(s *jsonschema.Schema) { s.Format = "date-time" }

// base64Text is how JSON has a []byte.
func base64Text(s *jsonschema.Schema) {
	*s = jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
}

func oneOf(choices ...string) rule {
	return func(s *jsonschema.Schema) {
		for _, choice := range choices {
			s.Enum = append(s.Enum, choice)
		}
	}
}

func constant(value any) rule {
	return func(s *jsonschema.Schema) { s.Const = &value }
}

func byDefault(value any) rule {
	return func(s *jsonschema.Schema) {
		var err error
		if s.Default, err = json.Marshal(value); err != nil {
			panic(err)
		}
	}
}

// camelCase turns path_prefix into pathPrefix.
func camelCase(name string) string {
	first, rest, _ := strings.Cut(name, "_")
	var b strings.Builder
	b.WriteString(first)
	for _, word := range strings.Split(rest, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
