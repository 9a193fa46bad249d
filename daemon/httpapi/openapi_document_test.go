package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"evalctl/daemon/protocol"
	"evalctl/internal/goldentest"
)

// document is openapi.json, in OpenAPI 3.1.
type document struct {
	OpenAPI string `json:"openapi"`
	Info    struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	} `json:"info"`
	Servers    []map[string]string              `json:"servers"`
	Paths      map[string]map[string]*operation `json:"paths"` // by path and method
	Components struct {
		SecuritySchemes map[string]map[string]string `json:"securitySchemes"`
		Parameters      map[string]parameter         `json:"parameters"`
		Responses       map[string]response          `json:"responses"`
		Schemas         map[string]schema            `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	OperationID string                `json:"operationId"`
	Summary     string                `json:"summary"`
	Description string                `json:"description,omitempty"`
	Security    []map[string][]string `json:"security"`
	Parameters  []parameter           `json:"parameters,omitempty"`
	RequestBody *requestBody          `json:"requestBody,omitempty"`
	Responses   map[string]response   `json:"responses"`

	// allowed lists the keys of testKeys that may use the operation, and whether requests without a
	// key (nobody) or with an unknown one (wrong) may. It repeats the scopes of the route table on
	// purpose: a change of a scope must be made in both.
	allowed string
	// failures are the statuses that no rule of complete adds.
	failures []int
	// method and path are set when a document is read.
	method, path string
}

type parameter struct {
	Ref         string `json:"$ref,omitempty"`
	Name        string `json:"name,omitempty"`
	In          string `json:"in,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Description string `json:"description,omitempty"`
	Schema      schema `json:"schema,omitempty"`
	Example     any    `json:"example,omitempty"`
}

type requestBody struct {
	Required    bool             `json:"required"`
	Description string           `json:"description,omitempty"`
	Content     map[string]media `json:"content"`
}

type response struct {
	Ref         string            `json:"$ref,omitempty"`
	Description string            `json:"description,omitempty"`
	Headers     map[string]header `json:"headers,omitempty"`
	Content     map[string]media  `json:"content,omitempty"`
}

type header struct {
	Description string `json:"description,omitempty"`
	Schema      schema `json:"schema"`
}

type media struct {
	Schema schema `json:"schema"`
	// Events are the schemas of the data of an event stream, by event name.
	Events  map[string]schema `json:"x-events,omitempty"`
	Example any               `json:"example,omitempty"`
}

// schema is a JSON Schema that is compiled when a value is validated.
type schema = json.RawMessage

func rawSchema(s *jsonschema.Schema) schema {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return raw
}

func schemaRef(name string) schema {
	return rawSchema(&jsonschema.Schema{Ref: componentRef(name)})
}

// newDocument describes the route table.
func newDocument() document {
	d := document{
		OpenAPI: "3.1.0",
		Servers: []map[string]string{{"url": "http://127.0.0.1:8787"}},
		Paths:   map[string]map[string]*operation{},
	}
	d.Info.Title = "evalctl reference memory service"
	d.Info.Version = "1.0"
	d.Info.Description = apiDescription
	d.Components.SecuritySchemes = map[string]map[string]string{"bearer": {
		"type": "http", "scheme": "bearer",
		"description": "A token issued by evalctl serve keys create. The security requirement of an " +
			"operation names the scope that it needs; without one, any key may use it.",
	}}
	d.Components.Parameters = parameters
	d.Components.Responses = failures
	d.Components.Schemas = map[string]schema{}
	for t, rules := range components {
		d.Components.Schemas[t.Name()] = rawSchema(schemaOfType(t, rules))
	}
	for name, s := range sharedSchemas {
		d.Components.Schemas[name] = rawSchema(s)
	}
	for _, rt := range routes {
		if d.Paths[rt.path()] == nil {
			d.Paths[rt.path()] = map[string]*operation{}
		}
		d.Paths[rt.path()][strings.ToLower(rt.method())] = complete(rt, operations[rt.operation])
	}
	return d
}

// complete adds to an operation what follows from its route.
func complete(rt route, op operation) *operation {
	op.OperationID = rt.operation
	op.Security = []map[string][]string{}
	var inPath []parameter
	for _, segment := range strings.Split(rt.path(), "/") {
		if name := strings.Trim(segment, "{}"); name != segment {
			inPath = append(inPath, parameter{Ref: "#/components/parameters/" + name})
		}
	}
	op.Parameters = append(inPath, op.Parameters...)
	if rt.scope != scopeOpen {
		op.Security = []map[string][]string{{"bearer": {}}}
		if rt.scope != scopeKey {
			op.Security = []map[string][]string{{"bearer": {string(rt.scope)}}}
		}
		op.failures = append(op.failures,
			http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests)
	}
	if rt.kind != kindNone {
		op.failures = append(op.failures, http.StatusServiceUnavailable)
	}
	if rt.ofBrain() {
		op.failures = append(op.failures, http.StatusBadRequest, http.StatusNotFound)
	}
	if op.RequestBody != nil {
		op.failures = append(op.failures, http.StatusBadRequest,
			http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	all := map[string]response{"default": {Ref: failureRef("Problem")}}
	for _, status := range op.failures {
		all[strconv.Itoa(status)] = response{Ref: failureRef(failureOf[status])}
	}
	for status, r := range op.Responses {
		all[status] = withCaching(rt, r)
	}
	op.Responses = all
	return &op
}

func failureRef(name string) string { return "#/components/responses/" + name }

// withCaching documents the header Cache-Control of a response.
func withCaching(rt route, r response) response {
	value := ""
	if rt.uncached() {
		value = "no-store"
	}
	if _, ok := r.Content[protocol.TypeEvents]; ok {
		value = "no-cache"
	}
	if value != "" {
		r.Headers = map[string]header{"Cache-Control": {Schema: inline(constant(value))}}
	}
	return r
}

// inline returns a schema made of rules only.
func inline(rules ...rule) schema {
	s := &jsonschema.Schema{}
	for _, change := range rules {
		change(s)
	}
	return rawSchema(s)
}

// render returns the bytes of openapi.json.
func (d document) render(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		t.Fatal(err)
	}
	// The schema package escapes these.
	return []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(out.String()))
}

// TestOpenAPIIsCurrent fails when openapi.json does not describe the route table, the protocol's
// types or the operations as they are. With -update it rewrites the file.
func TestOpenAPIIsCurrent(t *testing.T) {
	for id := range operations {
		if !slices.ContainsFunc(routes, func(rt route) bool { return rt.operation == id }) {
			t.Errorf("operation %s belongs to no route", id)
		}
	}
	for _, rt := range routes {
		if _, ok := operations[rt.operation]; !ok {
			t.Errorf("%s: operations has no %q", rt.pattern, rt.operation)
		}
	}
	goldentest.Compare(t, "openapi.json", string(newDocument().render(t)))
}
