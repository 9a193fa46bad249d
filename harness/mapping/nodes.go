package mapping

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/theory/jsonpath"
	"go.yaml.in/yaml/v3"

	"evalctl/internal/spelling"
)

// file is a mapping file being read.
type file struct{ path string }

// errorf returns an error that names the file, the line and the column of a node.
func (f *file) errorf(at *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %w", f.path, at.Line, at.Column, fmt.Errorf(format, args...))
}

// field is a key of an object with the reader of its value.
type field struct {
	key  string
	read func(n *yaml.Node, key string) error
}

// into returns a reader that stores its value in to.
func into[T any](to *T, read func(n *yaml.Node, key string) (T, error)) func(*yaml.Node, string) error {
	return func(n *yaml.Node, key string) (err error) {
		*to, err = read(n, key)
		return err
	}
}

// object reads the members of an object. kind names such objects in an error about an unknown key,
// which also suggests the closest one.
func (f *file) object(n *yaml.Node, what, kind string, fields ...field) error {
	return f.members(n, what, func(key string, at, value *yaml.Node) error {
		keys := make([]string, len(fields))
		for i, field := range fields {
			if keys[i] = field.key; field.key == key {
				return field.read(value, key)
			}
		}
		if near := spelling.Nearest(key, keys); near != "" {
			return f.errorf(at, "unknown key %.80q: did you mean %q?", key, near)
		}
		return f.errorf(at, "unknown key %.80q; %s has %s", key, kind, strings.Join(keys, ", "))
	})
}

// members calls each for the members of an object.
func (f *file) members(n *yaml.Node, what string, each func(key string, at, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return f.errorf(n, "%s must be an object of keys and values", what)
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || value.Kind == yaml.AliasNode {
			return f.errorf(key, "aliases and merged objects are not read; write the value out")
		}
		if first := seen[key.Value]; first > 0 {
			return f.errorf(key, "%q is set twice, first in line %d", key.Value, first)
		}
		seen[key.Value] = key.Line
		if err := each(key.Value, key, value); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) text(n *yaml.Node, key string) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return "", f.errorf(n, "%s must be a text", key)
	}
	return n.Value, nil
}

func (f *file) number(n *yaml.Node, key string) (int, error) {
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		return 0, f.errorf(n, "%s must be a whole number", key)
	}
	return v, nil
}

func (f *file) truth(n *yaml.Node, key string) (value bool, err error) {
	if n.Decode(&value) != nil {
		return false, f.errorf(n, "%s must be true or false", key)
	}
	return value, nil
}

func (f *file) duration(n *yaml.Node, key string) (time.Duration, error) {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || d <= 0 {
		return 0, f.errorf(n, "%s must be a time such as 90s or 5m", key)
	}
	return d, nil
}

func (f *file) list(n *yaml.Node, key string) ([]string, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, f.errorf(n, "%s must be a list", key)
	}
	var out []string
	for _, item := range n.Content {
		text, err := f.text(item, key)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

func (f *file) template(n *yaml.Node, key string, names []string) (*template, error) {
	text, err := f.text(n, key)
	if err != nil {
		return nil, err
	}
	t, err := compileText(text, names)
	if err != nil {
		return nil, f.errorf(n, "%w", err)
	}
	t.at = n
	return t, nil
}

// texts returns a reader for an object of text templates with these placeholders.
func (f *file) texts(names ...string) func(n *yaml.Node, key string) (map[string]*template, error) {
	return func(n *yaml.Node, key string) (map[string]*template, error) {
		out := map[string]*template{}
		return out, f.members(n, key, func(name string, _, value *yaml.Node) (err error) {
			out[name], err = f.template(value, name, names)
			return err
		})
	}
}

func (f *file) headers(names ...string) func(n *yaml.Node, key string) (Headers, error) {
	read := f.texts(names...)
	return func(n *yaml.Node, key string) (Headers, error) { return read(n, key) }
}

func (f *file) jsonPath(n *yaml.Node, key string) (*jsonpath.Path, error) {
	text, err := f.text(n, key)
	if err != nil {
		return nil, err
	}
	p, err := jsonpath.Parse(text)
	if err != nil {
		return nil, f.errorf(n, "%s is not a JSONPath (RFC 9535), such as $.items[*]: %w", key, err)
	}
	return p, nil
}

func (f *file) pattern(n *yaml.Node, key string) (*regexp.Regexp, error) {
	text, err := f.text(n, key)
	if err != nil {
		return nil, err
	}
	p, err := regexp.Compile(text)
	if err != nil {
		return nil, f.errorf(n, "%s: %w", key, err)
	}
	return p, nil
}

// patterns reads a regular expression, or a list of them.
func (f *file) patterns(n *yaml.Node, key string) (out []*regexp.Regexp, err error) {
	items := n.Content
	if n.Kind != yaml.SequenceNode {
		items = []*yaml.Node{n}
	}
	for _, item := range items {
		p, err := f.pattern(item, key)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// oneOf returns a reader for one of the allowed values.
func oneOf[T ~string](f *file, to *T, allowed ...T) func(*yaml.Node, string) error {
	return into(to, func(n *yaml.Node, key string) (T, error) {
		if n.Kind == yaml.ScalarNode && slices.Contains(allowed, T(n.Value)) {
			return T(n.Value), nil
		}
		names := make([]string, len(allowed))
		for i, a := range allowed {
			names[i] = string(a)
		}
		return "", f.errorf(n, "%s must be one of %s", key, strings.Join(names, ", "))
	})
}
