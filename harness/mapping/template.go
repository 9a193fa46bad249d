package mapping

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// template is an argument: a YAML value whose strings may contain placeholders {name}. {{ and }}
// stand for braces. A string that consists of one placeholder becomes the value with its type;
// without a value, it is left out together with its key. Within other text, a value is inserted as
// text. Values are never searched for placeholders.
type template struct {
	source string
	at     *yaml.Node

	literal any         // a date, a number, a truth value or null
	parts   []part      // a string
	keys    []string    // an object, with values
	values  []*template // of an object, or of a list
	kind    yaml.Kind
}

// part is literal text or the name of a placeholder.
type part struct{ text, name string }

// absent stands for a placeholder without a value.
type absent struct{}

// placeholder matches a word in braces, or two braces.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{|\}\}|\{([a-z_]+|env:[A-Za-z_][A-Za-z0-9_]*)\}`)
})

// compileText compiles a string. allowed are the placeholders it may contain.
func compileText(text string, allowed []string) (*template, error) {
	t := &template{source: text, kind: yaml.ScalarNode, parts: []part{}}
	add := func(text string) {
		if n := len(t.parts); text != "" && n > 0 && t.parts[n-1].name == "" {
			t.parts[n-1].text += text
		} else if text != "" {
			t.parts = append(t.parts, part{text: text})
		}
	}
	rest := text
	for {
		at := placeholder().FindStringSubmatchIndex(rest)
		if at == nil {
			add(rest)
			return t, t.checkLists()
		}
		add(rest[:at[0]])
		switch found := rest[at[0]:at[1]]; {
		case at[2] < 0:
			add(found[:1])
		default:
			name := rest[at[2]:at[3]]
			secret := strings.HasPrefix(name, "env:") && slices.Contains(allowed, "env:")
			if !secret && !slices.Contains(allowed, name) {
				return nil, fmt.Errorf("no placeholder is called {%s} here; known are {%s}; for a brace write {{",
					name, strings.Join(allowed, "}, {"))
			}
			t.parts = append(t.parts, part{name: name})
		}
		rest = rest[at[1]:]
	}
}

// checkLists returns an error for a list within other text, where it would have no form.
func (t *template) checkLists() error {
	for _, p := range t.parts {
		if len(t.parts) > 1 && slices.Contains(listNames, p.name) {
			return fmt.Errorf("{%s} is a list, so that it must be the whole string", p.name)
		}
	}
	return nil
}

// compile compiles a node. Errors have its line.
func (f *file) compile(n *yaml.Node, allowed []string) (*template, error) {
	t := &template{at: n, kind: n.Kind}
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag != "!!str" {
			var err error
			t.literal, err = f.literal(n)
			return t, err
		}
		text, err := compileText(n.Value, allowed)
		if err != nil {
			return nil, f.errorf(n, "%w", err)
		}
		text.at = n
		return text, nil
	case yaml.SequenceNode:
		for _, item := range n.Content {
			one, err := f.compile(item, allowed)
			if err != nil {
				return nil, err
			}
			t.values = append(t.values, one)
		}
		return t, nil
	case yaml.MappingNode:
		err := f.members(n, "arguments", func(key string, _, value *yaml.Node) error {
			one, err := f.compile(value, allowed)
			t.keys, t.values = append(t.keys, key), append(t.values, one)
			return err
		})
		return t, err
	}
	return nil, f.errorf(n, "aliases are not read; write the value out")
}

// literal returns the value of a scalar that is not a string. A date is its text, and a number
// keeps its digits: a version such as 1.0 stays what it is.
func (f *file) literal(n *yaml.Node) (v any, err error) {
	switch n.Tag {
	case "!!timestamp":
		return n.Value, nil
	case "!!int", "!!float":
		v, _ := decode(strings.NewReader(n.Value))
		if number, ok := v.(json.Number); ok {
			return number, nil
		}
	}
	if err := n.Decode(&v); err != nil {
		return nil, f.errorf(n, "%w", err)
	}
	if x, ok := v.(float64); ok && (math.IsInf(x, 0) || math.IsNaN(x)) {
		return nil, f.errorf(n, "JSON has no number %s; write a text in quotes", n.Value)
	}
	return v, nil
}

// query compiles the query of a URL, whose values are texts or lists of texts.
func (f *file) query(n *yaml.Node, names []string) (*template, error) {
	if n.Kind != yaml.MappingNode {
		return nil, f.errorf(n, "query must be an object of keys and values")
	}
	t, err := f.compile(n, without(names, "items")) // which are objects
	if err != nil {
		return nil, err
	}
	for _, v := range t.values {
		if v.kind == yaml.MappingNode {
			return nil, f.errorf(v.at, "an object has no form in a URL; write a text, or a list of texts")
		}
		for _, item := range v.values {
			if item.kind != yaml.ScalarNode {
				return nil, f.errorf(item.at, "a list within a list has no form in a URL, nor has an object; write texts")
			}
		}
	}
	return t, nil
}

// without returns placeholders without some of them.
func without(names []string, some ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(some, name) })
}

// render returns the value with placeholders replaced. The result can be encoded as JSON.
func (t *template) render(values map[string]any) any {
	if t == nil {
		return absent{}
	}
	switch t.kind {
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range t.values {
			v := item.render(values)
			if _, none := v.(absent); !none {
				list = append(list, v)
			}
		}
		return list
	case yaml.MappingNode:
		object := map[string]any{}
		for i, key := range t.keys {
			v := t.values[i].render(values)
			if _, none := v.(absent); !none {
				object[key] = v
			}
		}
		return object
	}
	if t.parts == nil {
		return t.literal
	}
	if len(t.parts) == 1 && t.parts[0].name != "" {
		if v, ok := values[t.parts[0].name]; ok {
			return v
		}
		return absent{}
	}
	return t.text(values)
}

// text returns a string with placeholders replaced. A placeholder without a value is empty.
func (t *template) text(values map[string]any) string {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.text)
		if v, ok := values[p.name]; ok && p.name != "" {
			b.WriteString(textOf(v))
		}
	}
	return b.String()
}

// uses reports whether the template contains a placeholder.
func (t *template) uses(name string) bool {
	if t == nil {
		return false
	}
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.name == name }) ||
		slices.ContainsFunc(t.values, func(v *template) bool { return v.uses(name) })
}

// literally reports whether a string contains a text outside its placeholders.
func (t *template) literally(text string) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return strings.Contains(p.text, text) })
}

// secrets returns the sorted names of the environment variables in a template.
func (t *template) secrets() []string {
	names := map[string]bool{}
	for _, p := range t.parts {
		if name, ok := strings.CutPrefix(p.name, "env:"); ok {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
