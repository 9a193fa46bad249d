package mapping

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"evalctl/daemon/mcpclient"
	"evalctl/internal/figure"
	"evalctl/internal/printable"
)

// offer is an action of a service: a tool of an MCP server, or an HTTP route.
type offer struct {
	name   string   // of the tool, or the method and the path
	words  []string // of the name, and of the path
	schema schema   // of all arguments

	method, path string            // over HTTP
	in           map[string]string // where an argument belongs that is not of the body: path or query
	whole        bool              // the body is the argument "body"
}

// offersOf returns the tools of an MCP server as offers.
func offersOf(tools []mcpclient.Tool) (all []*offer) {
	for _, t := range tools {
		if s, err := schemaOf(t); err == nil {
			all = append(all, &offer{name: t.Name, words: wordsIn(t.Name), schema: s})
		}
	}
	return all
}

// openAPI is the part of an OpenAPI description that is used.
type openAPI struct {
	Info  struct{ Title, Version string }
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Parameters  []struct {
			Name, In string
			Required bool
			Schema   schema
		}
		RequestBody struct {
			Content map[string]struct{ Schema schema }
		} `json:"requestBody"`
	}
	Components struct{ Schemas map[string]schema }
}

// routesOf returns the routes of an OpenAPI description as offers, and the service's name.
func routesOf(data []byte) (name string, all []*offer, err error) {
	var raw struct {
		Info       json.RawMessage
		Paths      map[string]map[string]json.RawMessage
		Components json.RawMessage
	}
	if err := json.Unmarshal(data, &raw); err != nil || len(raw.Paths) == 0 {
		return "", nil, fmt.Errorf("it is not an OpenAPI description in JSON with paths")
	}
	for _, methods := range raw.Paths { // which may also have parameters, servers and the like
		maps.DeleteFunc(methods, func(method string, _ json.RawMessage) bool {
			return !slices.Contains([]string{"get", "post", "put", "patch", "delete"}, method)
		})
	}
	clean, err := json.Marshal(raw)
	if err != nil {
		return "", nil, err
	}
	var doc openAPI
	if err := json.Unmarshal(clean, &doc); err != nil {
		return "", nil, fmt.Errorf("its paths cannot be read: %w", err)
	}
	for path, methods := range doc.Paths {
		for method, route := range methods {
			o := &offer{
				name: strings.ToUpper(method) + " " + path, method: strings.ToUpper(method), path: path,
				words: append(wordsIn(path), wordsIn(route.OperationID)...), in: map[string]string{},
			}
			body := route.RequestBody.Content["application/json"].Schema.plain(doc.Components.Schemas, 0)
			if o.whole = body.is("array"); o.whole {
				body = schema{Type: types{"object"}, Properties: map[string]schema{"body": body}, Required: []string{"body"}}
			}
			o.schema = body
			if o.schema.Properties == nil {
				o.schema.Properties = map[string]schema{}
			}
			for _, p := range route.Parameters {
				if p.In != "path" && p.In != "query" {
					continue
				}
				o.in[p.Name] = p.In
				o.schema.Properties[p.Name] = p.Schema.plain(doc.Components.Schemas, 0)
				if p.Required {
					o.schema.Required = append(o.schema.Required, p.Name)
				}
			}
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *offer) int { return cmp.Compare(a.name, b.name) })
	return doc.Info.Title, all, nil
}

// Call is an offer with arguments. Strings in the arguments are templates.
type Call struct {
	*offer
	Arguments map[string]any
}

// entry is an operation of a mapping file.
type entry struct {
	Tool      string         `yaml:"tool,omitempty"`
	Method    string         `yaml:"method,omitempty"`
	Path      string         `yaml:"path,omitempty"`
	Arguments map[string]any `yaml:"arguments,flow,omitempty"`
	Query     map[string]any `yaml:"query,flow,omitempty"`
	Body      any            `yaml:"body,flow,omitempty"`
	Within    string         `yaml:"within,omitempty"`
	Reply     map[string]any `yaml:"reply,flow,omitempty"`
}

// entry returns the call as an operation of a mapping file.
func (c *Call) entry(reply map[string]any) *entry {
	if c == nil {
		return nil
	}
	if c.method == "" {
		return &entry{Tool: c.name, Arguments: c.Arguments, Reply: reply}
	}
	e := &entry{Method: c.method, Path: c.path, Query: map[string]any{}, Reply: reply}
	body := map[string]any{}
	for name, v := range c.Arguments {
		switch c.in[name] {
		case "path":
			e.Path = strings.ReplaceAll(e.Path, "{"+name+"}", fmt.Sprint(v))
		case "query":
			e.Query[name] = v
		default:
			body[name] = v
		}
	}
	if e.Method == http.MethodPost {
		e.Method = ""
	}
	switch {
	case c.whole:
		e.Body = body["body"]
	case len(body) > 0 || c.method == http.MethodPost:
		e.Body = body
	}
	return e
}

// with returns the call with additional arguments.
func (c *Call) with(more map[string]any) *Call {
	all := maps.Clone(c.Arguments)
	maps.Copy(all, more)
	return &Call{c.offer, all}
}

func toolNames(tools []mcpclient.Tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

func namesOf(offers []*offer) (names []string) {
	for _, o := range offers {
		names = append(names, o.name)
	}
	return names
}

const (
	// maxListed limits the names listed in an error.
	maxListed = 40
	// maxReported limits the length of a name reported by a server when it is quoted in an error,
	// in characters.
	maxReported = 200
)

// listed returns names for an error, and marks an incomplete list.
func listed(names []string) string { return figure.List(names, maxListed, reported) }

// reported returns a server's name on one line, and marks it if it was cut.
func reported(name string) string { return printable.Line(name, maxReported) }

// wordsIn returns the words of a name in snake case, kebab case or camel case.
func wordsIn(name string) []string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.FieldsFunc(strings.ToLower(b.String()), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}
