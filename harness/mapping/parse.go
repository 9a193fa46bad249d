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

// unknown returns an error for a key that is none of keys, and says which one was probably meant.
func (f *file) unknown(key *yaml.Node, what string, keys ...string) error {
	meant := ""
	if near := spelling.Nearest(key.Value, keys); near != "" {
		meant = fmt.Sprintf(": did you mean %q", near)
	}
	return f.errorf(key.Line, "unknown key %.80q%s; %s has %s", key.Value, meant, what, strings.Join(keys, ", "))
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
	if err := f.members(doc.Content[0], "the file", func(key string, at, value *yaml.Node) error {
		return f.section(m, key, at, value)
	}); err != nil {
		return nil, err
	}
	return m, f.check(m)
}

// sections are the keys of a mapping.
var sections = []string{"name", "about", "transport", "query", "brains", "for", "env", "health", "remember", "turns",
	"search", "ask", "get", "delete", "create", "reset"}

func (f *file) section(m *Mapping, key string, at, value *yaml.Node) (err error) {
	switch key {
	case "name":
		m.Name, err = f.text(value, key)
	case "about":
		m.About, err = f.text(value, key)
	case "transport":
		m.Transport, err = oneOf(f, value, key, MCP, HTTP)
	case "query":
		m.Query, err = oneOf(f, value, key, Question, Words)
	case "brains":
		m.Brains, err = oneOf(f, value, key, One, PerProcess, ByArgument, ByReset)
	case "for":
		err = f.members(value, key, func(key string, at, value *yaml.Node) (err error) {
			switch key {
			case "commands":
				m.Commands, err = f.list(value, key)
			case "servers":
				m.Servers, err = f.list(value, key)
			default:
				err = f.unknown(at, "for", "commands", "servers")
			}
			return err
		})
	case "env":
		m.env, err = f.texts(value, key, []string{"home"})
	case "health":
		m.health, err = f.operation(key, value, nil)
	case "remember":
		m.remember, err = f.operation(key, value, rememberNames)
	case "turns":
		m.turns, err = f.turns(m, value)
	case "search":
		m.search, err = f.operation(key, value, searchNames)
	case "ask":
		m.ask, err = f.operation(key, value, searchNames)
	case "get":
		m.get, err = f.operation(key, value, byIDNames)
	case "delete":
		m.remove, err = f.operation(key, value, byIDNames)
	case "create":
		m.create, err = f.operation(key, value, brainNames)
	case "reset":
		m.reset, err = f.operation(key, value, brainNames)
	default:
		err = f.unknown(at, "a mapping", sections...)
	}
	return err
}

// turns reads how conversations are remembered.
func (f *file) turns(m *Mapping, n *yaml.Node) (*operation, error) {
	rest := *n
	rest.Content = nil
	err := f.members(n, "turns", func(key string, at, value *yaml.Node) (err error) {
		if key == "per" {
			m.per, err = oneOf(f, value, key, PerTurn, PerSpeaker, PerSession)
			return err
		}
		rest.Content = append(rest.Content, at, value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(rest.Content) == 0 {
		return nil, nil
	}
	return f.operation("turns", &rest, turnNames)
}

// operation reads one operation.
func (f *file) operation(name string, n *yaml.Node, names []string) (*operation, error) {
	o := &operation{name: name, line: n.Line, method: http.MethodPost, reply: &reply{ranked: true}}
	err := f.members(n, name, func(key string, at, value *yaml.Node) (err error) {
		switch key {
		case "tool":
			o.tool, err = f.text(value, key)
		case "method":
			o.method, err = oneOf(f, value, key, http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete)
		case "path":
			o.path, err = f.template(value, key, names)
		case "query":
			o.query, err = f.compile(value, names)
		case "headers":
			o.headers, err = f.texts(value, key, append([]string{"env:"}, names...))
		case "arguments", "body":
			o.arguments, err = f.compile(value, names)
		case "limit":
			o.limit, err = f.number(value, key)
		case "texts":
			o.texts, err = f.number(value, key)
		case "reply":
			o.reply, err = f.reply(value)
		default:
			err = f.unknown(at, "an operation",
				"tool", "arguments", "method", "path", "query", "headers", "body", "limit", "texts", "reply")
		}
		return err
	})
	return o, err
}

// reply reads where a reply has what.
func (f *file) reply(n *yaml.Node) (*reply, error) {
	r := &reply{ranked: true}
	return r, f.members(n, "reply", func(key string, at, value *yaml.Node) (err error) {
		switch key {
		case "format":
			var format string
			format, err = oneOf(f, value, key, "json", "text")
			r.plain = format == "text"
		case "items":
			r.items, err = f.path1(value, key)
		case "text":
			r.text, err = f.path1(value, key)
		case "id":
			r.id, err = f.path1(value, key)
		case "score":
			r.score, err = f.path1(value, key)
		case "date":
			r.date, err = f.path1(value, key)
		case "title":
			r.title, err = f.path1(value, key)
		case "mode":
			r.mod, err = f.path1(value, key)
		case "split":
			r.split, err = f.text(value, key)
		case "pattern":
			r.pattern, err = f.pattern(value, key)
		case "none":
			r.none, err = f.pattern(value, key)
		case "ranked":
			if err = value.Decode(&r.ranked); err != nil {
				err = f.errorf(value.Line, "ranked must be true or false")
			}
		default:
			err = f.unknown(at, "a reply",
				"format", "items", "text", "id", "score", "date", "title", "mode", "ranked", "split", "pattern", "none")
		}
		return err
	})
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
	case m.Brains == ByArgument && !m.names("brain"):
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

// names reports whether remember and the question have a placeholder.
func (m *Mapping) names(name string) bool {
	for _, o := range []*operation{m.remember, m.search, m.ask} {
		if o != nil && !o.arguments.uses(name) && !o.path.uses(name) && !o.query.uses(name) {
			return false
		}
	}
	return true
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
	case (o == m.search || o == m.ask) && !o.arguments.uses("query") && !o.path.uses("query") && !o.query.uses("query"):
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

// texts reads an object of templates of text.
func (f *file) texts(n *yaml.Node, key string, names []string) (map[string]*template, error) {
	out := map[string]*template{}
	return out, f.members(n, key, func(name string, _, value *yaml.Node) (err error) {
		out[name], err = f.template(value, name, names)
		return err
	})
}

func (f *file) path1(n *yaml.Node, key string) (*jsonpath.Path, error) {
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

func oneOf[T ~string](f *file, n *yaml.Node, key string, allowed ...T) (T, error) {
	if n.Kind == yaml.ScalarNode && slices.Contains(allowed, T(n.Value)) {
		return T(n.Value), nil
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	return "", f.errorf(n.Line, "%s must be one of %s", key, strings.Join(names, ", "))
}
