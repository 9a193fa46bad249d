package mapping

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"go.yaml.in/yaml/v3"

	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/yamlfile"
)

// The placeholders of operations. {home} is the directory of a started server.
var (
	documentNames = []string{"id", "name", "text", "document", "title", "date"}
	listNames     = []string{"texts", "ids", "names", "items"} // of several texts in one call
	turnNames     = []string{"id", "name", "text", "title", "date", "session", "speaker", "role"}
	pageNames     = []string{"cursor", "offset", "page"}
	brainNames    = []string{"brain", "home"}

	rememberNames = slices.Concat(brainNames, documentNames, listNames)
	turnsNames    = slices.Concat(brainNames, turnNames, listNames)
	searchNames   = slices.Concat(brainNames, []string{"query", "top_k", "mode", "question_date"}, pageNames)
	byIDNames     = slices.Concat(brainNames, documentNames)
)

// Parse parses a mapping. An error names the file, the line and the column.
func Parse(path string, data []byte) (*Mapping, error) {
	f := &file{path}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s is empty; a mapping has a name, remember and search", path)
	} else if err != nil {
		return nil, yamlfile.Syntax(path, err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, f.errorf(&more, "the file has more than one document; write one")
	}
	m := &Mapping{SHA256: sum(data), Transport: MCP, Query: Question, Brains: One, per: PerTurn, writes: 1, file: path}
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
			return f.object(n, key, key, field{"packages", into(&m.Packages, f.list)}, field{"commands", into(&m.Commands, f.list)}, field{"servers", into(&m.Servers, f.list)})
		}},
		field{"env", into(&m.env, f.texts("env:", "home", gatewayURL, gatewayKey))},
		field{"models", oneOf(f, &m.models, result.ModelsNone)},
		field{"headers", into(&m.headers, f.headers("env:"))},
		field{"writes", into(&m.writes, f.number)},
		field{"error", into(&m.errors, f.patterns)},
		field{"health", read(&m.health, nil)},
		field{"remember", read(&m.remember, rememberNames)},
		field{"turns", into(&m.turns, func(n *yaml.Node, _ string) (*operation, error) { return f.turns(m, n) })},
		field{"update", read(&m.update, byIDNames)},
		field{"finish", read(&m.finish, brainNames)},
		field{"ready", into(&m.ready, f.ready)},
		field{"search", read(&m.search, searchNames)},
		field{"ask", read(&m.ask, searchNames)},
		field{"get", read(&m.get, byIDNames)},
		field{"delete", read(&m.remove, byIDNames)},
		field{"create", read(&m.create, brainNames)},
		field{"reset", read(&m.reset, brainNames)},
	)
}

// turns reads how conversations are remembered. It returns nil if the file sets only their
// grouping.
func (f *file) turns(m *Mapping, n *yaml.Node) (*operation, error) {
	o, err := f.operation("turns", n, turnsNames, field{"per", oneOf(f, &m.per, PerTurn, PerSpeaker, PerSession)})
	if len(n.Content) == 0 || len(n.Content) == 2 && n.Content[0].Value == "per" {
		return nil, err
	}
	return o, err
}

// ready reads the call that tells whether written texts can be searched.
func (f *file) ready(n *yaml.Node, key string) (*readiness, error) {
	r := &readiness{}
	var err error
	r.operation, err = f.operation(key, n, brainNames,
		field{"until", func(n *yaml.Node, key string) error {
			return f.object(n, key, key,
				field{"at", into(&r.at, f.jsonPath)},
				field{"is", into(&r.is, func(n *yaml.Node, _ string) (*template, error) { return f.compile(n, nil) })},
				field{"matches", into(&r.matches, f.pattern)})
		}},
		field{"progress", into(&r.progress, f.jsonPath)})
	if err == nil && (r.at == nil || r.is == nil) == (r.matches == nil) {
		err = f.errorf(n, "ready needs until: {at: PATH, is: VALUE} or until: {matches: REGEXP}")
	}
	return r, err
}

// operation reads one operation, with additional fields in more.
func (f *file) operation(name string, n *yaml.Node, names []string, more ...field) (*operation, error) {
	o := &operation{name: name, at: n, method: http.MethodPost, within: target.CallTimeout, reply: &reply{ranked: true}}
	compile := func(n *yaml.Node, _ string) (*template, error) { return f.compile(n, names) }
	of := without(names, listNames...) // one text
	return o, f.object(n, name, "an operation", append([]field{
		{"tool", into(&o.tool, f.text)},
		{"arguments", into(&o.arguments, compile)},
		{"method", oneOf(f, &o.method, http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete)},
		{"path", into(&o.path, func(n *yaml.Node, key string) (*template, error) { return f.template(n, key, of) })},
		{"query", into(&o.query, func(n *yaml.Node, _ string) (*template, error) { return f.query(n, names) })},
		{"headers", into(&o.headers, f.headers(append([]string{"env:"}, of...)...))},
		{"body", into(&o.arguments, compile)},
		{"item", into(&o.item, func(n *yaml.Node, _ string) (*template, error) { return f.compile(n, of) })},
		{"limit", into(&o.limit, f.number)},
		{"top_k", into(&o.topK, f.number)},
		{"texts", into(&o.texts, f.number)},
		{"within", into(&o.within, f.duration)},
		{"reply", into(&o.reply, f.reply)},
	}, more...)...)
}

// reply reads where to find the parts of a reply.
func (f *file) reply(n *yaml.Node, what string) (*reply, error) {
	r, format := &reply{ranked: true}, "json"
	err := f.object(n, what, "a reply",
		field{"format", oneOf(f, &format, "json", "text")},
		field{"items", into(&r.items, f.jsonPath)},
		field{"columns", into(&r.columns, f.truth)},
		field{"text", into(&r.text, f.jsonPath)},
		field{"id", into(&r.id, f.jsonPath)},
		field{"score", into(&r.score, f.jsonPath)},
		field{"date", into(&r.date, f.jsonPath)},
		field{"title", into(&r.title, f.jsonPath)},
		field{"mode", into(&r.mod, f.jsonPath)},
		field{"next", into(&r.next, f.jsonPath)},
		field{"ranked", into(&r.ranked, f.truth)},
		field{"split", into(&r.split, f.pattern)},
		field{"pattern", into(&r.pattern, f.pattern)},
		field{"none", into(&r.none, f.pattern)},
	)
	if r.plain = format == "text"; err == nil && r.columns && (r.items != nil || r.plain) {
		err = f.errorf(n, "columns: true is for lists side by side in a JSON reply, without items")
	}
	return r, err
}
