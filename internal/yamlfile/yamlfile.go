// Package yamlfile decodes small hand-written YAML files into structs, with errors that name the
// line, the key and the key that was probably meant, and no Go type.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"evalctl/internal/spelling"
)

// ErrEmpty is returned for a file without a value.
var ErrEmpty = errors.New("the file is empty")

// Decode decodes the only document of a file into the struct that into points to. Its fields are
// texts, numbers, lists of texts and structs of these, with yaml tags. The error names path; it is
// ErrEmpty for a file without a value.
func Decode(path string, data []byte, into any) error {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF), err == nil && (len(doc.Content) == 0 || doc.Content[0].Tag == "!!null"):
		return ErrEmpty
	case err != nil:
		return Syntax(path, err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s:%d: the file has more than one document; write one", path, max(more.Line, 1))
	}
	return (&file{path}).members(doc.Content[0], "the file", reflect.ValueOf(into).Elem())
}

// Syntax returns an error of the YAML parser about the file at path in the form of the other
// messages.
func Syntax(path string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	place := path
	if line, rest, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(line, "line ") {
		place, text = path+":"+strings.TrimPrefix(line, "line "), rest
	}
	if strings.HasSuffix(text, "found character that cannot start any token") {
		text += "; if it is a tab, indent with spaces"
	}
	return fmt.Errorf("%s: %s", place, text)
}

type file struct{ path string }

func (f *file) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", f.path, line, fmt.Errorf(format, args...))
}

// members decodes a mapping into a struct.
func (f *file) members(n *yaml.Node, what string, to reflect.Value) error {
	fields := map[string]reflect.Value{}
	var names []string
	for i := range to.NumField() {
		name, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("yaml"), ",")
		names = append(names, name)
		fields[name] = to.Field(i)
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return f.errorf(n.Line, "%s must be a mapping, such as %s: …", what, names[0])
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		field, ok := fields[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || !ok:
			return f.errorf(key.Line, "%s", unknown(key.Value, names))
		case seen[key.Value] > 0:
			return f.errorf(key.Line, "%q is set twice, first in line %d", key.Value, seen[key.Value])
		}
		seen[key.Value] = key.Line
		if err := f.value(value, key.Value, field); err != nil {
			return err
		}
	}
	return nil
}

// unknown is the error of an unknown key. It suggests the key that was probably meant.
func unknown(key string, names []string) string {
	if near := spelling.Nearest(key, names); near != "" {
		return fmt.Sprintf("unknown key %q: did you mean %q?", key, near)
	}
	sorted := slices.Sorted(slices.Values(names))
	return fmt.Sprintf("unknown key %.80q; known are %s", key, strings.Join(sorted, ", "))
}

// value decodes the value of a key.
func (f *file) value(n *yaml.Node, key string, to reflect.Value) error {
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	if to.Kind() == reflect.Struct {
		return f.members(n, key, to)
	}
	if n.Decode(to.Addr().Interface()) != nil {
		return f.errorf(n.Line, "%s must be %s", key, wants[to.Kind()])
	}
	return nil
}

var wants = map[reflect.Kind]string{
	reflect.String: "a text", reflect.Float64: "a number", reflect.Int: "a whole number",
	reflect.Bool: "true or false", reflect.Slice: "a list of texts, such as [yes, no]",
}
