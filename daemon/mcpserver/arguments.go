package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"evalctl/daemon/protocol"
)

// schema has the keywords of JSON Schema that the definitions of the tools use.
type schema struct {
	Type        string `json:"type"`
	Description string `json:"description"`
	Default     any    `json:"default"`

	Properties           map[string]*schema `json:"properties"`
	Required             []string           `json:"required"`
	AdditionalProperties *bool              `json:"additionalProperties"`

	Items    *schema `json:"items"`
	MinItems *int    `json:"minItems"`
	MaxItems *int    `json:"maxItems"`

	MinLength *int     `json:"minLength"` // in code points
	MaxLength *int     `json:"maxLength"`
	Pattern   string   `json:"pattern"`
	Format    string   `json:"format"` // only uri
	Enum      []string `json:"enum"`
	pattern   *regexp.Regexp

	Minimum *float64 `json:"minimum"`
	Maximum *float64 `json:"maximum"`
}

// compile prepares the schema for use, and rejects keywords that check does not implement.
func (s *schema) compile() (err error) {
	switch s.Type {
	case "string", "integer":
	case "object":
		if s.AdditionalProperties == nil || *s.AdditionalProperties {
			return errors.New("an object does not set additionalProperties to false")
		}
	case "array":
		if s.Items == nil {
			return errors.New("an array has no items")
		}
		if err := s.Items.compile(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("type %q is not supported", s.Type)
	}
	if s.Format != "" && s.Format != "uri" {
		return fmt.Errorf("format %q is not supported", s.Format)
	}
	if s.Pattern != "" {
		if s.pattern, err = regexp.Compile(s.Pattern); err != nil {
			return err
		}
	}
	for name, property := range s.Properties {
		if err := property.compile(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// arguments are the arguments of a call that fit the schema of its tool. A missing optional
// argument is "", 0 or nil.
type arguments map[string]any

func (a arguments) text(name string) string {
	s, _ := a[name].(string)
	return s
}

func (a arguments) number(name string) int {
	n, _ := a[name].(json.Number)
	f, _ := n.Float64()
	return int(f)
}

func (a arguments) list(name string) []any {
	items, _ := a[name].([]any)
	return items
}

func (a arguments) texts(name string) []string {
	var all []string
	for _, item := range a.list(name) {
		all = append(all, item.(string))
	}
	return all
}

// parseArguments decodes the arguments of a call, reads them as they are meant, and checks them
// against the schema of its tool. Missing arguments are an empty object. Arguments with a default
// get it. ignored are keys that the schema does not have.
func parseArguments(data json.RawMessage, s *schema) (args arguments, ignored []string, err error) {
	value := any(map[string]any{})
	if len(data) > 0 && !bytes.Equal(data, []byte("null")) && !bytes.Equal(data, []byte(`""`)) {
		value, err = decoded(data)
		switch refused, ok := errors.AsType[*toolError](err); {
		case ok:
			return nil, nil, refused
		case errors.Is(err, errMore):
			return nil, nil, argumentErrorf("the arguments are %v", err)
		case err != nil:
			return nil, nil, argumentErrorf("the arguments are not valid JSON: %v", err)
		}
	}
	value, ignored = s.meant("", value)
	args, ok := value.(map[string]any)
	if !ok {
		return nil, nil, argumentErrorf("the arguments must be an object, not %s", kindOf(value))
	}
	if err := s.check("", map[string]any(args)); err != nil {
		return nil, nil, err
	}
	for name, property := range s.Properties {
		if _, given := args[name]; given || property.Default == nil {
			continue
		}
		args[name] = property.Default
		if f, ok := property.Default.(float64); ok {
			args[name] = json.Number(strconv.FormatFloat(f, 'f', -1, 64))
		}
	}
	return args, ignored, nil
}

func argumentErrorf(format string, args ...any) error {
	return &toolError{Code: protocol.CodeValidation, Message: fmt.Sprintf(format, args...)}
}

// check returns the first violation. name is the name of the argument; the arguments themselves
// have none.
func (s *schema) check(name string, value any) error {
	switch v := value.(type) {
	case map[string]any:
		if s.Type == "object" {
			return s.checkObject(name, v)
		}
	case []any:
		if s.Type == "array" {
			return s.checkArray(name, v)
		}
	case string:
		if s.Type == "string" {
			return s.checkString(name, v)
		}
	case json.Number:
		if s.Type == "integer" {
			return s.checkInteger(name, v)
		}
	}
	return argumentErrorf("%s must be %s, not %s", name, article(s.Type), kindOf(value))
}

func (s *schema) checkObject(name string, object map[string]any) error {
	prefix, where := "", ""
	if name != "" {
		prefix, where = name+".", " in "+name
	}
	for _, required := range s.Required {
		if _, given := object[required]; !given {
			return argumentErrorf("%s is missing", prefix+required)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		property, known := s.Properties[key]
		if !known {
			return argumentErrorf("there is no argument %.64q%s: use %s", key, where,
				orNone(slices.Sorted(maps.Keys(s.Properties))))
		}
		if err := property.check(prefix+key, object[key]); err != nil {
			return err
		}
	}
	return nil
}

func (s *schema) checkArray(name string, items []any) error {
	n := len(items)
	if s.MinItems != nil && n < *s.MinItems {
		return argumentErrorf("%s has %d entries, it must have at least %d", name, n, *s.MinItems)
	}
	if s.MaxItems != nil && n > *s.MaxItems {
		return argumentErrorf("%s has %d entries, the limit is %d", name, n, *s.MaxItems)
	}
	for i, item := range items {
		if err := s.Items.check(fmt.Sprintf("%s[%d]", name, i), item); err != nil {
			return err
		}
	}
	return nil
}

func (s *schema) checkString(name, text string) error {
	n := utf8.RuneCountInString(text)
	if s.MinLength != nil && n < *s.MinLength {
		if n == 0 {
			return argumentErrorf("%s is empty", name)
		}
		return argumentErrorf("%s has %d characters, it must have at least %d", name, n, *s.MinLength)
	}
	if s.MaxLength != nil && n > *s.MaxLength {
		return argumentErrorf("%s has %d characters, the limit is %d", name, n, *s.MaxLength)
	}
	if s.Enum != nil && !slices.Contains(s.Enum, text) {
		return argumentErrorf("%s is %.64q, it must be one of %s", name, text, strings.Join(s.Enum, ", "))
	}
	if s.pattern != nil && !s.pattern.MatchString(text) {
		return argumentErrorf("%s is %.64q, it must match %s", name, text, s.Pattern)
	}
	if s.Format == "uri" {
		if n == 0 {
			return argumentErrorf("%s is empty", name)
		}
		if u, err := url.Parse(text); err != nil || !u.IsAbs() {
			return argumentErrorf("%s is not a valid URL", name)
		}
	}
	return nil
}

func (s *schema) checkInteger(name string, number json.Number) error {
	f, err := number.Float64()
	if err != nil || f != math.Trunc(f) {
		return argumentErrorf("%s is %.32s, it must be a whole number", name, number)
	}
	if s.Minimum != nil && f < *s.Minimum || s.Maximum != nil && f > *s.Maximum {
		return argumentErrorf("%s is %.32s, it must be %s", name, number, s.numbers())
	}
	return nil
}

// numbers describes the permitted numbers.
func (s *schema) numbers() string {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("%v to %v", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		return fmt.Sprintf("at least %v", *s.Minimum)
	}
	return fmt.Sprintf("at most %v", *s.Maximum)
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}

func article(kind string) string {
	if strings.ContainsAny(kind[:1], "aeio") {
		return "an " + kind
	}
	return "a " + kind
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "no arguments"
	}
	return strings.Join(names, ", ")
}
