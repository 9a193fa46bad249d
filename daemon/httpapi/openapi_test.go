package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/admission"
	"evalctl/internal/llm"
	"evalctl/internal/sse"
)

const documentURL = "https://evalctl.test/openapi.json"

// apiDocument is openapi.json as it is served, with its schemas ready to validate.
type apiDocument struct {
	document

	mu       sync.Mutex
	compiler *jsonschema.Compiler
}

func readDocument(t *testing.T) *apiDocument {
	t.Helper()
	d := &apiDocument{compiler: jsonschema.NewCompiler()}
	if err := json.Unmarshal(openAPI, &d.document); err != nil {
		t.Fatal(err)
	}
	whole, err := jsonschema.UnmarshalJSON(strings.NewReader(string(openAPI)))
	if err != nil {
		t.Fatal(err)
	}
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(documentURL, whole); err != nil {
		t.Fatal(err)
	}
	for path, methods := range d.Paths {
		for method, op := range methods {
			op.method, op.path = strings.ToUpper(method), path
			for i, p := range op.Parameters {
				if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
					op.Parameters[i] = d.Components.Parameters[name]
				}
			}
			for status, r := range op.Responses {
				if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
					op.Responses[status] = d.Components.Responses[name]
				}
			}
		}
	}
	return d
}

// operations returns the operations by id.
func (d *apiDocument) operations(t *testing.T) map[string]*operation {
	ops := map[string]*operation{}
	for _, methods := range d.Paths {
		for _, op := range methods {
			if ops[op.OperationID] != nil {
				t.Errorf("operationId %s is used twice", op.OperationID)
			}
			ops[op.OperationID] = op
		}
	}
	return ops
}

// validate checks a value against a schema of the document.
func (d *apiDocument) validate(s schema, value any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(
		strings.ReplaceAll(string(s), `"#/`, `"`+documentURL+`#/`)))
	if err != nil {
		return fmt.Errorf("schema %s: %w", s, err)
	}
	// A compiler never forgets a resource, so that each schema needs a name of its own.
	name := "https://evalctl.test/inline/" + url.PathEscape(string(s))
	_ = d.compiler.AddResource(name, doc) // an error means that the schema is known already
	compiled, err := d.compiler.Compile(name)
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

// check fails the test unless a text is JSON of a schema.
func (d *apiDocument) check(t *testing.T, s schema, text string) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = d.validate(s, value)
	}
	if err != nil {
		t.Errorf("%s\n%v", text, err)
	}
}

// fixture starts a server whose brain notes has the documents of the examples.
func fixture(t *testing.T, keys *Keys) *server {
	t.Helper()
	s := startWith(t, llm.NewFake(), llm.FakeModel, keys)
	if _, err := s.brains.Create(t.Context(), "acme", protocol.CreateBrain{ID: "notes"}); err != nil {
		t.Fatal(err)
	}
	st := s.open(t, "notes")
	if err := st.Write(t.Context(), "kettle.md", []byte("---\ntags: [tea]\ndate: 2024-04-30\nsession_id: s1\n---\n# Kettle\n\nThe kettle is green.\n")); err != nil {
		t.Fatal(err)
	}
	h, err := s.brains.Find("notes")
	if err != nil {
		t.Fatal(err)
	}
	first := []protocol.SessionMessage{{Role: protocol.RoleUser, Content: "The kettle was a present."}}
	if _, err := s.api.memory.AddMessages(t.Context(), h, "s1", first); err != nil {
		t.Fatal(err)
	}
	if err := st.Write(t.Context(), "jobs/_"+exampleJob+".json", []byte(exampleJobFile)); err != nil {
		t.Fatal(err)
	}
	return s
}

// endSession ends the session of the fixture.
func endSession(t *testing.T, s *server) {
	t.Helper()
	h, err := s.brains.Find("notes")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.api.memory.Reflect(t.Context(), h, "s1"); err != nil {
		t.Fatal(err)
	}
}

// call is a request with the examples of an operation.
type call struct {
	op      *operation
	params  map[string]string // by name, whether in the path, the query or a header
	body    string
	headers http.Header
}

func example(op *operation) *call {
	c := &call{op: op, params: map[string]string{}, headers: http.Header{}}
	for _, p := range op.Parameters {
		c.params[p.Name] = fmt.Sprint(p.Example)
	}
	if op.RequestBody != nil {
		for contentType, m := range op.RequestBody.Content {
			if m.Example == nil {
				continue
			}
			c.headers.Set("Content-Type", contentType)
			if text, ok := m.Example.(string); ok {
				c.body = text
			} else {
				c.body = string(encode(m.Example))
			}
		}
	}
	return c
}

func (c *call) send(t *testing.T, s *server) *http.Response {
	t.Helper()
	target, q := c.op.path, url.Values{}
	for _, p := range c.op.Parameters {
		switch value := c.params[p.Name]; p.In {
		case "path":
			target = strings.ReplaceAll(target, "{"+p.Name+"}", url.PathEscape(value))
		case "query":
			q.Set(p.Name, value)
		case "header":
			c.headers.Set(p.Name, value)
		}
	}
	var headers []string
	for name := range c.headers {
		headers = append(headers, name, c.headers.Get(name))
	}
	return s.do(t, c.op.method, target+"?"+q.Encode(), c.body, headers...)
}

// checkResponse checks a response against the documentation of its operation.
func (d *apiDocument) checkResponse(t *testing.T, s *server, op *operation, resp *http.Response, status int) {
	t.Helper()
	defer resp.Body.Close()
	want, ok := op.Responses[strconv.Itoa(status)]
	if resp.StatusCode != status || !ok {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("got %d %.300s, want %d (documented: %v)", resp.StatusCode, body, status, ok)
	}
	for name, h := range want.Headers {
		text := resp.Header.Get(name)
		var value any = text
		if n, err := strconv.Atoi(text); err == nil {
			value = json.Number(strconv.Itoa(n))
		}
		if err := d.validate(h.Schema, value); err != nil {
			t.Errorf("header %s is %q: %v", name, text, err)
		}
	}
	contentType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	m, ok := want.Content[contentType]
	if (contentType != "" || len(want.Content) > 0) && !ok && op.method != "HEAD" {
		t.Fatalf("content type %q is not documented", contentType)
	}
	if m.Events != nil {
		d.checkEvents(t, s, op, m, resp.Body)
		return
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(contentType, "json") || op.method == "HEAD" {
		return
	}
	d.check(t, m.Schema, string(body))
}

// checkEvents reads a stream to its end, or to the change that it causes itself.
func (d *apiDocument) checkEvents(t *testing.T, s *server, op *operation, m media, body io.Reader) {
	t.Helper()
	var met []string
	for events := sse.NewReader(body, sse.MaxEvent); ; {
		e, err := events.Next()
		if err != nil && (op.OperationID == "ask" || op.OperationID == "mcp") {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		met = append(met, e.Name)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(e.Data)))
		if err != nil {
			value = string(e.Data)
		}
		if err := d.validate(m.Events[e.Name], value); err != nil {
			t.Errorf("event %s: %s\n%v", e.Name, e.Data, err)
		}
		if e.Name == protocol.EventChange {
			break
		}
		if e.Name == protocol.EventReady {
			if err := s.open(t, "notes").Rename(t.Context(), "kettle.md", "cup.md"); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := map[string]string{
		"ask": "answer_delta citation done retrieve", "watchBrain": "change ready", "mcp": "message",
	}[op.OperationID]
	if got := strings.Join(slices.Compact(slices.Sorted(slices.Values(met))), " "); got != want {
		t.Errorf("events are %s, want %s", got, want)
	}
}

func TestEveryRouteIsDocumented(t *testing.T) {
	d := readDocument(t)
	documented := map[string]scope{}
	for _, op := range d.operations(t) {
		need := scopeOpen
		if len(op.Security) > 0 {
			need = scopeKey
			if scopes := op.Security[0]["bearer"]; len(scopes) > 0 {
				need = scope(scopes[0])
			}
		}
		documented[op.method+" "+op.path] = need
	}
	served := map[string]scope{}
	for _, rt := range routes {
		served[rt.pattern] = rt.scope
	}
	if diff := cmp.Diff(served, documented); diff != "" {
		t.Errorf("the scopes of routes and document differ:\n%s", diff)
	}
}

// TestDocumentedExamples sends a request with the examples of every operation.
func TestDocumentedExamples(t *testing.T) {
	d := readDocument(t)
	for id, op := range d.operations(t) {
		t.Run(id, func(t *testing.T) {
			for _, p := range op.Parameters {
				if err := d.validate(p.Schema, p.Example); err != nil {
					t.Errorf("example of %s: %v", p.Name, err)
				}
			}
			c := example(op)
			if m, ok := c.jsonBody(); ok {
				if err := d.validate(m.Schema, m.Example); err != nil {
					t.Errorf("example of the body: %v", err)
				}
			}
			s := fixture(t, keysOf(t, testKeys))
			c.body = strings.ReplaceAll(c.body, "https://example.com", servePage(t))
			c.headers.Set("Authorization", "Bearer "+tokenOf("admin"))
			resp := c.send(t, s)
			status := resp.StatusCode
			if all := successes(op); !slices.Contains(all, status) {
				status = all[0]
			}
			d.checkResponse(t, s, op, resp, status)
		})
	}
}

// successes returns the documented statuses of 2xx.
func successes(op *operation) []int {
	var all []int
	for code := range op.Responses {
		if status, err := strconv.Atoi(code); err == nil && status/100 == 2 {
			all = append(all, status)
		}
	}
	return all
}

func (c *call) jsonBody() (media, bool) {
	if c.op.RequestBody == nil {
		return media{}, false
	}
	m, ok := c.op.RequestBody.Content[protocol.TypeJSON]
	return m, ok
}

// unreachable are documented failures that do not occur with a store in memory and a model that
// replies at once.
var unreachable = []string{"batchDocuments 409", "consolidate 409", "compile 409"}

// TestDocumentedFailures causes every documented failure of every operation.
func TestDocumentedFailures(t *testing.T) {
	d := readDocument(t)
	for id, op := range d.operations(t) {
		for _, code := range slices.Sorted(maps.Keys(op.Responses)) {
			status, err := strconv.Atoi(code)
			name := id + " " + code
			if err != nil || status < 300 || slices.Contains(unreachable, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel() // the server takes half a second to reject a body that is too large
				c := example(op)
				var keys *Keys
				if status == 401 || status == 403 || status == 429 {
					keys = keysOf(t, testKeys)
				}
				s := fixture(t, keys)
				spoil(t, s, c, status)
				d.checkResponse(t, s, op, c.send(t, s), status)
			})
		}
	}
}

// spoil changes a valid call so that it fails with status.
func spoil(t *testing.T, s *server, c *call, status int) {
	t.Helper()
	switch status {
	case 400:
		c.params["id"] = "Bad_Id"
		if c.op.OperationID == "createBrain" || c.op.OperationID == "mcp" {
			c.body = "{}"
		}
	case 401:
	case 403:
		c.headers.Set("Authorization", "Bearer "+tokenOf("stranger"))
	case 404:
		c.params["id"] = "missing"
	case 409:
		endSession(t, s)
		c.send(t, s).Body.Close()
	case 413:
		c.body = strings.Repeat(" ", 2*protocol.MaxBatchBytes+1)
		if slices.Contains([]string{"createDocument", "addMessages", "mcp"}, c.op.OperationID) {
			c.body = strings.Repeat(" ", maxRecordBody+1)
		}
		if strings.HasPrefix(c.op.OperationID, "ingestFile") {
			c.body = strings.Repeat(" ", maxIngestJSON+1)
		}
		if c.op.OperationID == "listDocuments" {
			c.body = ""
			c.params["limit"] = "" // more than fit without pages
			fillListing(t, s)
		}
	case 415:
		c.headers.Set("Content-Type", "text/html")
	case 428:
		c.params["X-Confirm-Delete"] = ""
	case 503:
		for k := range s.api.gates {
			s.api.gates[k] = admission.New(admission.Config{})
		}
	case 429:
		c.headers.Set("Authorization", "Bearer "+tokenOf("slow"))
		for range 2 {
			s.status(t, "GET", "/v1/brains", "", as("slow")...)
		}
	default:
		t.Fatalf("no test causes status %d", status)
	}
}

func fillListing(t *testing.T, s *server) {
	t.Helper()
	st := s.open(t, "notes")
	err := st.Batch(t.Context(), store.BatchOptions{}, func(b *store.Batch) error {
		for i := range protocol.MaxListItems + 1 {
			if err := b.Write(t.Context(), fmt.Sprintf("%05d.md", i), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
