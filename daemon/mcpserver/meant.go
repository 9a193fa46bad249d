package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"evalctl/internal/jsonobj"
)

// meant returns the value that a client means by another one, and the arguments that it ignores.
// Models send 5 as "5", a list as a text with its JSON, and a missing argument as null or "". Such
// a value is converted if it can mean only one thing. check judges the result.
//
// A number is never read as a text: the interface has that as an error.
func (s *schema) meant(name string, value any) (any, []string) {
	switch s.Type {
	case "object":
		if object, ok := parsed(value).(map[string]any); ok {
			return s.meantObject(name, object)
		}
		if items, ok := value.([]any); ok && len(items) == 0 && name == "" {
			return map[string]any{}, nil // as PHP encodes an empty object
		}
	case "array":
		return s.meantArray(name, value)
	case "integer":
		if text, ok := value.(string); ok && wholeNumber.MatchString(strings.TrimSpace(text)) {
			return json.Number(strings.TrimSpace(text)), nil
		}
	}
	return value, nil
}

var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,15})(\.0{1,16})?$`)

func (s *schema) meantObject(name string, object map[string]any) (map[string]any, []string) {
	out, ignored := map[string]any{}, []string(nil)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		argument := s.argument(key, object)
		property := s.Properties[argument]
		where := key
		if name != "" {
			where = name + "." + key
		}
		switch {
		case property == nil:
			ignored = append(ignored, where)
		case !slices.Contains(s.Required, argument) && property.empty(object[key]):
		default:
			value, more := property.meant(where, object[key])
			out[argument], ignored = value, append(ignored, more...)
		}
	}
	return out, ignored
}

// argument returns the argument that a key of an object names: the key itself or, if the object has
// no other key for it, an argument in another spelling, such as topK. It returns "" if there is
// none.
func (s *schema) argument(key string, object map[string]any) string {
	if s.Properties[key] != nil {
		return key
	}
	for argument := range s.Properties {
		if _, given := object[argument]; given || folded(argument) != folded(key) {
			continue
		}
		others := 0
		for other := range object {
			if folded(other) == folded(key) {
				others++
			}
		}
		if others == 1 {
			return argument
		}
	}
	return ""
}

func folded(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(key))
}

// empty reports whether a value means that an argument is left out. An empty text is a value of an
// argument without an enum.
func (s *schema) empty(value any) bool {
	text, ok := value.(string)
	return value == nil || ok && strings.TrimSpace(text) == "" && (s.Type != "string" || s.Enum != nil)
}

func (s *schema) meantArray(name string, value any) (any, []string) {
	items, ok := parsed(value).([]any)
	if !ok {
		if items = s.one(value); items == nil {
			return value, nil
		}
	}
	out, ignored := make([]any, len(items)), []string(nil)
	for i, item := range items {
		var more []string
		out[i], more = s.Items.meant(name, item)
		ignored = append(ignored, more...)
	}
	return out, slices.Compact(ignored)
}

// one returns a list for a single value. A text with separators may be several values.
func (s *schema) one(value any) []any {
	switch v := parsed(value).(type) {
	case string:
		if s.Items.Type == "string" && strings.TrimSpace(v) != "" && !strings.ContainsAny(v, ",;\n[]{}\"") {
			return []any{v}
		}
	case map[string]any:
		if s.Items.Type == "object" {
			return []any{v}
		}
	}
	return nil
}

// ignoring names the ignored arguments, so that a model can correct them.
func (s *schema) ignoring(names []string) string {
	for i, name := range names {
		names[i] = fmt.Sprintf("%.64q", name)
	}
	return fmt.Sprintf("ignored: there is no argument %s: use %s", strings.Join(names, ", "),
		orNone(slices.Sorted(maps.Keys(s.Properties))))
}

// parsed returns the list or the object whose JSON a text is, else the value.
func parsed(value any) any {
	text, ok := value.(string)
	if trimmed := strings.TrimSpace(text); !ok || trimmed == "" || trimmed[0] != '[' && trimmed[0] != '{' {
		return value
	}
	if inner, err := decoded([]byte(text)); err == nil {
		return inner
	}
	return value
}

var errMore = errors.New("more than one JSON value")

// decoded decodes one JSON value, whose numbers stay as they are. As over HTTP, it refuses what
// decoding would change: two values of a key, and half of a surrogate pair in a path, which would
// be another document's.
func decoded(data []byte) (any, error) {
	d := decoder{json.NewDecoder(bytes.NewReader(data)), data}
	if err := d.Decode(new(json.RawMessage)); err != nil { // also if it is nested too deeply for value
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errMore
	}
	d.Decoder = json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.value()
}

// decoder decodes valid JSON.
type decoder struct {
	*json.Decoder
	data []byte
}

func (d decoder) value() (any, error) {
	token, err := d.Token()
	switch {
	case err != nil:
		return nil, err
	case token == json.Delim('{'):
		return d.object()
	case token == json.Delim('['):
		list := []any{}
		for d.More() {
			item, err := d.value()
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}

func (d decoder) object() (any, error) {
	object := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, from := token.(string), d.InputOffset()
		value, err := d.value()
		if err != nil {
			return nil, err
		}
		if _, ok := value.(string); ok && folded(key) == "path" && jsonobj.HalfSurrogate(d.data[from:d.InputOffset()]) {
			return nil, argumentErrorf("%.64s contains half of a surrogate pair", key)
		}
		if earlier, twice := object[key]; twice && jsonobj.Text(earlier) != jsonobj.Text(value) {
			return nil, argumentErrorf("%.64s is given twice, with different values", key)
		}
		object[key] = value
	}
	_, err := d.Token()
	return object, err
}
