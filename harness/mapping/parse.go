package mapping

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"evalctl/internal/spelling"

	"github.com/theory/jsonpath"
	"go.yaml.in/yaml/v3"
)

// The placeholders of operations.
var (
	rememberNames = []string{"brain", "id", "name", "text", "document", "title", "date"}
	turnNames     = []string{"brain", "id", "name", "text", "texts", "title", "date", "session", "speaker", "role"}
	searchNames   = []string{"brain", "query", "top_k", "mode", "question_date"}
	byIDNames     = []string{"brain", "id", "name"}
	brainNames    = []string{"brain"}
)

// file is a mapping file that is being read.
type file struct{ path string }

func (f *file) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", f.path, line, fmt.Errorf(format, args...))
}

// field is a key of an object, and what reads its value.
type field struct {
	key  string
	read func(n *yaml.Node, key string) error
}

// into returns what reads a value to where it belongs.
func into[T any](to *T, read func(n *yaml.Node, key string) (T, error)) func(*yaml.Node, string) error {
	return func(n *yaml.Node, key string) (err error) {
		*to, err = read(n, key)
		return err
	}
}

// object reads the members of an object. kind names such objects in an error about a key that is
// none of the fields, which also says which one was probably meant.
func (f *file) object(n *yaml.Node, what, kind string, fields ...field) error {
	return f.members(n, what, func(key string, at, value *yaml.Node) error {
		keys := make([]string, len(fields))
		for i, field := range fields {
			if keys[i] = field.key; field.key == key {
				return field.read(value, key)
			}
		}
		meant := ""
		if near := spelling.Nearest(key, keys); near != "" {
			meant = fmt.Sprintf(": did you mean %q", near)
		}
		return f.errorf(at.Line, "unknown key %.80q%s; %s has %s", key, meant, kind, strings.Join(keys, ", "))
	})
}

// Parse reads a mapping. An error names the file, path, and the line.
func Parse(path string, data []byte) (*Mapping, error) {
	f := &file{path}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s is empty; a mapping has a name, remember and search", path)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err) // it has the line
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, f.errorf(more.Line, "the file has more than one document; write one")
	}
	m := &Mapping{SHA256: sum(data), Transport: MCP, Query: Question, Brains: One, per: PerTurn, file: path}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("%s is empty; a mapping has a name, remember and search", path)
	}
	if err := f.mapping(m, doc.Content[0]); err != nil {
		return nil, err
	}
	return m, f.check(m)
}

func (f *file) mapping(m *Mapping, n *yaml.Node) error {
	read := func(to **operation, names []string) func(*yaml.Node, string) error {
		return into(to, func(n *yaml.Node, key string) (*operation, error) { return f.operation(key, n, names) })
	}
	return f.object(n, "the file", "a mapping",
		field{"name", into(&m.Name, f.text)},
		field{"about", into(&m.About, f.text)},
		field{"transport", oneOf(f, &m.Transport, MCP, HTTP)},
		field{"query", oneOf(f, &m.Query, Question, Words)},
		field{"brains", oneOf(f, &m.Brains, One, PerProcess, ByArgument, ByReset)},
		field{"for", func(n *yaml.Node, key string) error {
			return f.object(n, key, key, field{"commands", into(&m.Commands, f.list)}, field{"servers", into(&m.Servers, f.list)})
		}},
		field{"env", into(&m.env, f.texts("env:", "home"))},
		field{"health", read(&m.health, nil)},
		field{"remember", read(&m.remember, rememberNames)},
		field{"turns", into(&m.turns, func(n *yaml.Node, _ string) (*operation, error) { return f.turns(m, n) })},
		field{"search", read(&m.search, searchNames)},
		field{"ask", read(&m.ask, searchNames)},
		field{"get", read(&m.get, byIDNames)},
		field{"delete", read(&m.remove, byIDNames)},
		field{"create", read(&m.create, brainNames)},
		field{"reset", read(&m.reset, brainNames)},
	)
}

// turns reads how conversations are remembered: nil if the file says only how they are grouped.
func (f *file) turns(m *Mapping, n *yaml.Node) (*operation, error) {
	o, err := f.operation("turns", n, turnNames, field{"per", oneOf(f, &m.per, PerTurn, PerSpeaker, PerSession)})
	if len(n.Content) == 0 || len(n.Content) == 2 && n.Content[0].Value == "per" {
		return nil, err
	}
	return o, err
}

// operation reads one operation, which has more fields than others.
func (f *file) operation(name string, n *yaml.Node, names []string, more ...field) (*operation, error) {
	o := &operation{name: name, line: n.Line, method: http.MethodPost, reply: &reply{ranked: true}}
	compile := func(n *yaml.Node, _ string) (*template, error) { return f.compile(n, names) }
	return o, f.object(n, name, "an operation", append([]field{
		{"tool", into(&o.tool, f.text)},
		{"arguments", into(&o.arguments, compile)},
		{"method", oneOf(f, &o.method, http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete)},
		{"path", into(&o.path, func(n *yaml.Node, key string) (*template, error) { return f.template(n, key, names) })},
		{"query", into(&o.query, compile)},
		{"headers", into(&o.headers, f.texts(append([]string{"env:"}, names...)...))},
		{"body", into(&o.arguments, compile)},
		{"limit", into(&o.limit, f.number)},
		{"texts", into(&o.texts, f.number)},
		{"reply", into(&o.reply, f.reply)},
	}, more...)...)
}

// reply reads where a reply has what.
func (f *file) reply(n *yaml.Node, what string) (*reply, error) {
	r, format := &reply{ranked: true}, "json"
	err := f.object(n, what, "a reply",
		field{"format", oneOf(f, &format, "json", "text")},
		field{"items", into(&r.items, f.jsonPath)},
		field{"text", into(&r.text, f.jsonPath)},
		field{"id", into(&r.id, f.jsonPath)},
		field{"score", into(&r.score, f.jsonPath)},
		field{"date", into(&r.date, f.jsonPath)},
		field{"title", into(&r.title, f.jsonPath)},
		field{"mode", into(&r.mod, f.jsonPath)},
		field{"ranked", func(n *yaml.Node, key string) error {
			if n.Decode(&r.ranked) != nil {
				return f.errorf(n.Line, "%s must be true or false", key)
			}
			return nil
		}},
		field{"split", into(&r.split, f.text)},
		field{"pattern", into(&r.pattern, f.pattern)},
		field{"none", into(&r.none, f.pattern)},
	)
	r.plain = format == "text"
	return r, err
}

// check returns an error for a mapping that cannot work.
func (f *file) check(m *Mapping) error {
	if m.Name == "" {
		return fmt.Errorf("%s has no name, which results record; add name: to it", f.path)
	}
	if m.remember == nil && m.search == nil && m.ask == nil {
		return fmt.Errorf("%s maps nothing; a mapping has remember and search", f.path)
	}
	for _, o := range m.operations() {
		if err := f.checkOperation(m, o); err != nil {
			return err
		}
	}
	switch {
	case m.Brains == ByArgument && slices.ContainsFunc(m.operations(), func(o *operation) bool {
		return (o == m.remember || o == m.search || o == m.ask) && !o.sends("brain")
	}):
		return fmt.Errorf("%s: brains: argument needs {brain} in the arguments of remember and search", f.path)
	case m.Brains == ByReset && m.reset == nil:
		return fmt.Errorf("%s: brains: reset needs the operation reset", f.path)
	case m.Brains == PerProcess && m.Transport == HTTP:
		return fmt.Errorf("%s: brains: process is for MCP servers that are started", f.path)
	case m.Transport == HTTP && len(m.env) > 0:
		return fmt.Errorf("%s: env is for MCP servers that are started", f.path)
	}
	return nil
}

func (m *Mapping) operations() []*operation {
	all := []*operation{m.health, m.remember, m.turns, m.search, m.ask, m.get, m.remove, m.create, m.reset}
	return slices.DeleteFunc(all, func(o *operation) bool { return o == nil })
}

func (f *file) checkOperation(m *Mapping, o *operation) error {
	switch {
	case m.Transport == MCP && o.tool == "":
		return f.errorf(o.line, "%s has no tool", o.name)
	case m.Transport == MCP && (o.path != nil || o.query != nil || o.headers != nil):
		return f.errorf(o.line, "%s has a path, a query or headers, which are for transport: http", o.name)
	case m.Transport == HTTP && o.tool != "":
		return f.errorf(o.line, "%s has a tool, which is for transport: mcp", o.name)
	case m.Transport == HTTP && o.path == nil:
		return f.errorf(o.line, "%s has no path", o.name)
	case m.Transport == HTTP && !strings.HasPrefix(o.path.source, "/"):
		return f.errorf(o.path.line, "the path of %s must begin with /", o.name)
	case o.limit < 0 || o.texts < 0:
		return f.errorf(o.line, "a limit of %s is negative", o.name)
	case (o == m.search || o == m.ask) && o.reply.text == nil && !o.reply.plain:
		return f.errorf(o.line, "the reply of %s has no text: say where the texts are, such as text: $.content, "+
			"or format: text", o.name)
	case (o == m.search || o == m.ask) && !o.sends("query"):
		return f.errorf(o.line, "%s does not send {query}", o.name)
	case o == m.remember && !o.arguments.uses("text") && !o.arguments.uses("document"):
		return f.errorf(o.line, "remember sends neither {text} nor {document}")
	case o == m.turns && !o.arguments.uses("text") && !o.arguments.uses("texts"):
		return f.errorf(o.line, "turns send neither {text} nor {texts}")
	}
	return f.checkSecrets(o)
}

// secretHeader matches headers whose values are secrets.
var secretHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(proxy-)?authorization$|^cookie$|api-?key|token|secret`)
})

// checkSecrets rejects secrets in the file.
func (f *file) checkSecrets(o *operation) error {
	for _, name := range slices.Sorted(maps.Keys(o.headers)) {
		t := o.headers[name]
		if secretHeader().MatchString(name) && len(t.secrets()) == 0 {
			return f.errorf(t.line, "%s has a secret, which does not belong in a file that is shared: set it in the "+
				"environment, and write {env:VARIABLE}", name)
		}
	}
	return nil
}

// members calls each for the members of an object.
func (f *file) members(n *yaml.Node, what string, each func(key string, at, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return f.errorf(n.Line, "%s must be an object of keys and values", what)
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || value.Kind == yaml.AliasNode {
			return f.errorf(key.Line, "aliases and merged objects are not read; write the value out")
		}
		if first := seen[key.Value]; first > 0 {
			return f.errorf(key.Line, "%q is set twice, first in line %d", key.Value, first)
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
		return "", f.errorf(n.Line, "%s must be a text", key)
	}
	return n.Value, nil
}

func (f *file) number(n *yaml.Node, key string) (int, error) {
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		return 0, f.errorf(n.Line, "%s must be a whole number", key)
	}
	return v, nil
}

func (f *file) list(n *yaml.Node, key string) ([]string, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, f.errorf(n.Line, "%s must be a list", key)
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
		return nil, f.errorf(n.Line, "%w", err)
	}
	t.line = n.Line
	return t, nil
}

// texts returns what reads an object of templates of text with placeholders of these names.
func (f *file) texts(names ...string) func(n *yaml.Node, key string) (map[string]*template, error) {
	return func(n *yaml.Node, key string) (map[string]*template, error) {
		out := map[string]*template{}
		return out, f.members(n, key, func(name string, _, value *yaml.Node) (err error) {
			out[name], err = f.template(value, name, names)
			return err
		})
	}
}

func (f *file) jsonPath(n *yaml.Node, key string) (*jsonpath.Path, error) {
	text, err := f.text(n, key)
	if err != nil {
		return nil, err
	}
	p, err := jsonpath.Parse(text)
	if err != nil {
		return nil, f.errorf(n.Line, "%s is no JSONPath (RFC 9535), such as $.items[*]: %w", key, err)
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
		return nil, f.errorf(n.Line, "%s: %w", key, err)
	}
	return p, nil
}

// oneOf returns what reads one of the allowed values.
func oneOf[T ~string](f *file, to *T, allowed ...T) func(*yaml.Node, string) error {
	return into(to, func(n *yaml.Node, key string) (T, error) {
		if n.Kind == yaml.ScalarNode && slices.Contains(allowed, T(n.Value)) {
			return T(n.Value), nil
		}
		names := make([]string, len(allowed))
		for i, a := range allowed {
			names[i] = string(a)
		}
		return "", f.errorf(n.Line, "%s must be one of %s", key, strings.Join(names, ", "))
	})
}
