package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// schema has the keywords of JSON Schema (2020-12) used by the schemas in docs. Decoding fails for
// any other.
type schema struct {
	// Ignored.
	Version     string `json:"$schema"`
	ID          string `json:"$id"`
	Title       string `json:"title"`
	Description string `json:"description"`

	Ref  string             `json:"$ref"`
	Defs map[string]*schema `json:"$defs"`

	Type  oneOrMore       `json:"type"`
	Const json.RawMessage `json:"const"`
	Enum  []any           `json:"enum"` // with the constant

	Required              []string           `json:"required"`
	Properties            map[string]*schema `json:"properties"`
	PropertyNames         *schema            `json:"propertyNames"`
	MinProperties         int                `json:"minProperties"`
	AdditionalProperties  *schema            `json:"additionalProperties"`
	UnevaluatedProperties *schema            `json:"unevaluatedProperties"`

	Items       *schema `json:"items"`
	MinItems    int     `json:"minItems"`
	MaxItems    *int    `json:"maxItems"`
	UniqueItems bool    `json:"uniqueItems"` // of values that are neither objects nor lists

	MinLength int    `json:"minLength"` // in code points
	MaxLength *int   `json:"maxLength"`
	Pattern   string `json:"pattern"`
	Format    string `json:"format"` // date or date-time

	Minimum          *float64 `json:"minimum"`
	Maximum          *float64 `json:"maximum"`
	ExclusiveMinimum *float64 `json:"exclusiveMinimum"`

	AllOf []*schema `json:"allOf"`
	AnyOf []*schema `json:"anyOf"`
	OneOf []*schema `json:"oneOf"`
	Not   *schema   `json:"not"`
	If    *schema   `json:"if"`
	Then  *schema   `json:"then"`
	Else  *schema   `json:"else"`

	never   bool // the schema is false
	ref     *schema
	pattern *regexp.Regexp
}

// UnmarshalJSON implements json.Unmarshaler. A schema may also be a boolean.
func (s *schema) UnmarshalJSON(data []byte) error {
	if string(data) == "true" || string(data) == "false" {
		s.never = string(data) == "false"
		return nil
	}
	type keywords schema
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode((*keywords)(s)); err != nil || s.Const == nil {
		return err
	}
	constant, err := decode(s.Const)
	s.Enum = []any{constant}
	return err
}

// oneOrMore is a list that may also be written as a single element.
type oneOrMore []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *oneOrMore) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		return json.Unmarshal(data, (*[]string)(l))
	}
	*l = make([]string, 1)
	return json.Unmarshal(data, &(*l)[0])
}

// link resolves references in s and compiles its patterns. base is the document of s; documents has
// all documents by $id.
func (s *schema) link(base *schema, documents map[string]*schema) (err error) {
	if s.Ref != "" {
		id, pointer, _ := strings.Cut(s.Ref, "#")
		if id != "" {
			base = documents[id]
		}
		if s.ref = base.find(pointer); s.ref == nil {
			return fmt.Errorf("there is no schema %s", s.Ref)
		}
	}
	if s.Format != "" && s.Format != "date" && s.Format != "date-time" {
		return fmt.Errorf("format %q is not supported", s.Format)
	}
	if s.pattern, err = regexp.Compile(s.Pattern); err != nil {
		return err
	}
	parts := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, []*schema{
		s.PropertyNames, s.AdditionalProperties, s.UnevaluatedProperties, s.Items, s.Not, s.If, s.Then, s.Else,
	}, slices.Collect(maps.Values(s.Properties)), slices.Collect(maps.Values(s.Defs)))
	for _, part := range parts {
		if part != nil && err == nil {
			err = part.link(base, documents)
		}
	}
	return err
}

// find returns the schema at a pointer such as /$defs/run/properties/stopped, or nil.
func (s *schema) find(pointer string) *schema {
	for pointer != "" && s != nil {
		keyword, rest, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		name, rest, more := strings.Cut(rest, "/")
		in := map[string]map[string]*schema{"$defs": s.Defs, "properties": s.Properties}
		s, pointer = in[keyword][name], ""
		if more {
			pointer = "/" + rest
		}
	}
	return s
}

// check calls add with the path and a description of each violation. v is from decode.
func (s *schema) check(path string, v any, add func(path, problem string)) {
	if s.never {
		add(path, "unknown key")
		return
	}
	if problem := s.mismatch(v); problem != "" {
		add(path, problem)
		return // any other violation is a consequence
	}
	if s.ref != nil {
		s.ref.check(path, v, add)
	}
	switch v := v.(type) {
	case map[string]any:
		s.checkObject(path, v, add)
	case []any:
		s.checkList(path, v, add)
	case string:
		s.checkString(path, v, add)
	case json.Number:
		s.checkNumber(path, v, add)
	}
	s.checkCombined(path, v, add)
}

// accepts reports whether a value is valid.
func (s *schema) accepts(v any) bool {
	ok := true
	s.check("", v, func(string, string) { ok = false })
	return ok
}

// mismatch describes a wrong type or value, or "".
func (s *schema) mismatch(v any) string {
	kind := kindOf(v)
	if len(s.Type) > 0 && !slices.Contains(s.Type, kind) && (!slices.Contains(s.Type, "integer") || !whole(v)) {
		return fmt.Sprintf("got %s, want %s", kind, strings.Join(s.Type, " or "))
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(want any) bool { return equal(v, want) }) {
		var want []string
		for _, value := range s.Enum {
			want = append(want, display(value))
		}
		if len(want) == 1 {
			return "value must be " + want[0]
		}
		return "value must be one of " + strings.Join(want, ", ")
	}
	text, ok := v.(string)
	if !ok || s.Format == "" {
		return ""
	}
	var err error
	if s.Format == "date" {
		_, err = time.Parse(time.DateOnly, text)
	} else {
		err = new(time.Time).UnmarshalText([]byte(text)) // stricter than Parse
	}
	if err != nil {
		return fmt.Sprintf("%s is not valid %s", display(text), s.Format)
	}
	return ""
}

func (s *schema) checkObject(path string, object map[string]any, add func(path, problem string)) {
	if n := len(object); n < s.MinProperties {
		add(path, fmt.Sprintf("minProperties: got %d, want %d", n, s.MinProperties))
	}
	var missing, unknown []string
	for _, key := range s.Required {
		if _, ok := object[key]; !ok {
			missing = append(missing, display(key))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		property, other := s.Properties[key], s.AdditionalProperties
		switch {
		case property != nil:
			property.check(path+step(key), object[key], add)
		case other != nil && other.never:
			unknown = append(unknown, display(key))
		case other != nil:
			other.check(path+step(key), object[key], add)
		case s.UnevaluatedProperties != nil && !s.defines(key):
			s.UnevaluatedProperties.check(path+step(key), object[key], add)
		}
		if s.PropertyNames != nil {
			s.PropertyNames.check(path, key, func(path, problem string) {
				add(path, fmt.Sprintf("key %s: %s", display(key), problem))
			})
		}
	}
	if len(missing) == 1 {
		add(path, "missing property "+missing[0])
	} else if len(missing) > 1 {
		add(path, "missing properties "+strings.Join(missing, ", "))
	}
	if len(unknown) > 0 {
		add(path, "additional properties "+strings.Join(unknown, ", ")+" not allowed")
	}
}

// defines reports whether s or the schema it refers to has a property. Beside
// unevaluatedProperties, the schemas in docs define properties in no other way.
func (s *schema) defines(key string) bool {
	return s != nil && (s.Properties[key] != nil || s.ref.defines(key))
}

func (s *schema) checkList(path string, list []any, add func(path, problem string)) {
	n := len(list)
	if n < s.MinItems {
		add(path, fmt.Sprintf("minItems: got %d, want %d", n, s.MinItems))
	}
	if s.MaxItems != nil && n > *s.MaxItems {
		add(path, fmt.Sprintf("maxItems: got %d, want %d", n, *s.MaxItems))
	}
	first := map[any]int{}
	for i, item := range list {
		if s.Items != nil {
			s.Items.check(fmt.Sprintf("%s[%d]", path, i), item, add)
		}
		if !s.UniqueItems {
			continue
		}
		key := identity(item)
		if j, found := first[key]; found {
			add(path, fmt.Sprintf("items at %d and %d are equal", j, i))
			continue
		}
		first[key] = i
	}
}

func (s *schema) checkString(path, text string, add func(path, problem string)) {
	n := utf8.RuneCountInString(text)
	if n < s.MinLength {
		add(path, fmt.Sprintf("minLength: got %d, want %d", n, s.MinLength))
	}
	if s.MaxLength != nil && n > *s.MaxLength {
		add(path, fmt.Sprintf("maxLength: got %d, want %d", n, *s.MaxLength))
	}
	if !s.pattern.MatchString(text) {
		add(path, fmt.Sprintf("%s does not match pattern '%s'", display(text), s.Pattern))
	}
}

func (s *schema) checkNumber(path string, number json.Number, add func(path, problem string)) {
	f, _ := number.Float64() // infinite if it is too large
	if s.Minimum != nil && f < *s.Minimum {
		add(path, fmt.Sprintf("minimum: got %s, want %v", number, *s.Minimum))
	}
	if s.Maximum != nil && f > *s.Maximum {
		add(path, fmt.Sprintf("maximum: got %s, want %v", number, *s.Maximum))
	}
	if s.ExclusiveMinimum != nil && f <= *s.ExclusiveMinimum {
		add(path, fmt.Sprintf("exclusiveMinimum: got %s, want %v", number, *s.ExclusiveMinimum))
	}
}

// checkCombined checks a value against the subschemas of s.
func (s *schema) checkCombined(path string, v any, add func(path, problem string)) {
	for _, part := range s.AllOf {
		part.check(path, v, add)
	}
	if s.AnyOf != nil && !slices.ContainsFunc(s.AnyOf, func(part *schema) bool { return part.accepts(v) }) {
		for _, part := range s.AnyOf {
			part.check(path, v, add)
		}
	}
	if s.OneOf != nil {
		s.checkOneOf(path, v, add)
	}
	if s.Not != nil && s.Not.accepts(v) {
		add(path, "'not' failed")
	}
	if s.If == nil {
		return
	}
	part := s.Else
	if s.If.accepts(v) {
		part = s.Then
	}
	if part != nil {
		part.check(path, v, add)
	}
}

func (s *schema) checkOneOf(path string, v any, add func(path, problem string)) {
	var matched []int
	for i, part := range s.OneOf {
		if part.accepts(v) {
			matched = append(matched, i)
		}
	}
	if len(matched) > 1 {
		add(path, fmt.Sprintf("'oneOf' failed, subschemas %d, %d matched", matched[0], matched[1]))
	}
	if len(matched) > 0 {
		return
	}
	for _, part := range s.OneOf {
		part.check(path, v, add)
	}
}

// kindOf returns the type name of a value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func whole(v any) bool {
	n, ok := v.(json.Number)
	f, _ := n.Float64()
	return ok && f == math.Trunc(f)
}

// composite is the text of a list or object.
type composite string

// identity returns a comparable value that is equal for equal values.
func identity(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64()
		return f
	case []any, map[string]any:
		text, _ := json.Marshal(v) // of a parsed JSON text, with sorted keys: cannot fail
		return composite(text)
	}
	return v
}

// equal reports whether two values are equal. Outside objects and lists, numbers are compared by
// value.
func equal(a, b any) bool {
	x, ok := a.(json.Number)
	y, both := b.(json.Number)
	if !ok || !both {
		return reflect.DeepEqual(a, b)
	}
	f, _ := x.Float64()
	g, _ := y.Float64()
	return f == g
}

// display formats a value for messages.
func display(v any) string {
	if text, ok := v.(string); ok {
		return "'" + text + "'"
	}
	return fmt.Sprint(v)
}
