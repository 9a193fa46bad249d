package requirements

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/internal/printable"
)

// object is a JSON object.
type object = map[string]any

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a check whose body is not JSON is a bug
	}
	return data
}

// withFields adds fields to an object, given as names and values in turn.
func withFields(o object, more ...any) object {
	for pair := range slices.Chunk(more, 2) {
		o[pair[0].(string)] = pair[1]
	}
	return o
}

// filledIn replaces "{new}" in the string fields with a name.
func filledIn(fields object, name string) object {
	all := object{}
	for key, v := range fields {
		if s, ok := v.(string); ok {
			v = strings.ReplaceAll(s, "{new}", name)
		}
		all[key] = v
	}
	return all
}

// request is sent unmodified, with the run's token unless token selects another one. Its methods
// return changed copies.
type request struct {
	method    string
	path      string // below the brain, or below the daemon's root
	atRoot    bool
	query     string
	header    [][2]string
	body      *string
	chunked   bool // no Content-Length
	token     func(Config) string
	close     bool // close the connection after the response
	streaming bool // a response with status 200 never ends, so its body is not read
	verbatim  bool // the daemon's quirks are not removed from the response

	unfiltered bool // of the quirks, only the envelope is removed
}

// brainRequest addresses a path in the check's brain. query lists names and values in turn.
func brainRequest(method, path string, query ...string) request {
	var q []string
	for i := 0; i < len(query); i += 2 {
		value := strings.ReplaceAll(url.QueryEscape(query[i+1]), "+", "%20")
		q = append(q, url.QueryEscape(query[i])+"="+value)
	}
	return request{method: method, path: path, query: strings.Join(q, "&")}
}

// daemonRequest addresses a path outside the check's brain.
func daemonRequest(method, path string) request {
	return request{method: method, path: path, atRoot: true}
}

func (r request) withHeader(name, value string) request {
	r.header = append(r.header[:len(r.header):len(r.header)], [2]string{name, value})
	return r
}

func (r request) withBytes(body string) request { return r.withBody(protocol.TypeBytes, body) }

func (r request) withJSON(v any) request { return r.withBody(protocol.TypeJSON, string(encode(v))) }

func (r request) withBody(contentType, body string) request {
	r.body = &body
	return r.withHeader("Content-Type", contentType)
}

// withToken sends the token returned by which, or none if it is "".
func (r request) withToken(which func(Config) string) request {
	r.token = which
	return r
}

func noToken(Config) string            { return "" }
func readOnlyToken(c Config) string    { return c.ReadOnlyToken }
func otherTenantToken(c Config) string { return c.OtherTenantToken }

// The requests of spec 4.2.
func readOf(path string) request     { return brainRequest("GET", "/documents/read", "path", path) }
func statOf(path string) request     { return brainRequest("GET", "/documents/stat", "path", path) }
func headOf(path string) request     { return brainRequest("HEAD", "/documents", "path", path) }
func deleteOf(path string) request   { return brainRequest("DELETE", "/documents", "path", path) }
func listOf(query ...string) request { return brainRequest("GET", "/documents", query...) }

func putOf(path, text string) request { return putTyped(protocol.TypeBytes, path, text) }

func putTyped(contentType, path, text string) request {
	return brainRequest("PUT", "/documents", "path", path).withBody(contentType, text)
}

func appendOf(path, text string) request { return appendTyped(protocol.TypeBytes, path, text) }

func appendTyped(contentType, path, text string) request {
	return brainRequest("POST", "/documents/append", "path", path).withBody(contentType, text)
}

func renameOf(from, to string) request { return renameTyped(protocol.TypeJSON, from, to) }

func renameTyped(contentType, from, to string) request {
	return brainRequest("POST", "/documents/rename").
		withBody(contentType, string(encode(object{"from": from, "to": to})))
}

func batchOf(ops ...object) request { return batchTyped(protocol.TypeJSON, ops...) }

func batchTyped(contentType string, ops ...object) request {
	return brainRequest("POST", "/documents/batch-ops").
		withBody(contentType, string(encode(object{"reason": "conformance", "ops": ops})))
}

// postJSON posts a text as JSON, valid or not, to a path in the check's brain.
func postJSON(path, text string) request {
	return brainRequest("POST", path).withBody(protocol.TypeJSON, text)
}

// The ops of a batch.
func writeOp(path, text string) object  { return contentOp("write", path, text) }
func appendOp(path, text string) object { return contentOp("append", path, text) }
func deleteOp(path string) object       { return object{"type": "delete", "path": path} }
func renameOp(from, to string) object   { return object{"type": "rename", "path": from, "to": to} }
func contentOp(kind, path, text string) object {
	return object{"type": kind, "path": path, "content_base64": base64.StdEncoding.EncodeToString([]byte(text))}
}

func excerpt(body []byte) string {
	const most = 200
	if len(body) > most {
		return fmt.Sprintf("%q… (%d bytes)", printable.Prefix(body, most), len(body))
	}
	return fmt.Sprintf("%q", body)
}

// optionsOf returns the names of a query's parameters, and of the keys of a search or an ask,
// without the subject of the request and without defaults.
func optionsOf(r request) []string {
	names := map[string]bool{}
	values, _ := url.ParseQuery(r.query) // a malformed query has no names
	for name := range values {
		if value := values.Get(name); value != "" && value != "false" && name != "recursive" {
			names[name] = true
		}
	}
	if r.body != nil && (r.path == "/search" || r.path == "/ask" || strings.HasSuffix(r.path, "/recall")) {
		var o object
		_ = json.Unmarshal([]byte(*r.body), &o) // a malformed body has no keys
		for name, value := range o {
			filters, isNested := value.(object)
			for inner := range filters {
				names[name+"."+inner] = true
			}
			if !isNested {
				names[name] = true
			}
		}
	}
	for _, name := range []string{"path", "q", "query", "question", "top_k", "topK"} {
		delete(names, name)
	}
	return slices.Sorted(maps.Keys(names))
}

// words are path segments that are not ids.
var words = []string{
	"v1", "v99", "brains", "documents", "read", "stat", "append", "rename", "batch-ops", "events", "search", "ask", "sessions",
	"messages", "recall", "reflect", "ingest", "file", "url", "jobs", "healthz", "no-such-endpoint",
}

// routeOf returns a request's path with ids replaced by {id}, without its query.
func routeOf(r request) string {
	p, _, _ := strings.Cut(r.path, "?")
	if rest, ok := strings.CutPrefix(p, "/v1/brains/"); ok {
		if _, below, ok := strings.Cut(rest, "/"); ok {
			p = "/" + below
		}
	}
	if p == "" {
		return "/v1/brains/{id}"
	}
	parts := strings.Split(p, "/")
	for i, part := range parts {
		if part != "" && !slices.Contains(words, part) {
			parts[i] = "{id}"
		}
	}
	return strings.Join(parts, "/")
}

// enveloped returns a request whose response is only unwrapped.
func enveloped(r request) request {
	r.unfiltered = true
	return r
}

// asSent returns a request whose response is not modified at all.
func asSent(r request) request {
	r.verbatim = true
	return r
}
