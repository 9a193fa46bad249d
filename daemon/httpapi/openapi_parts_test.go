package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	"evalctl/daemon/protocol"
)

// parameters are used by several operations. Those in paths have the names of the wildcards in the
// route table.
var parameters = map[string]parameter{
	"id": {
		Name: "id", In: "path", Required: true,
		Description: "A brain's id, or else the slug of one of the key's tenant's brains.",
		Schema:      inline(ofType("string"), brainID), Example: "notes",
	},
	"document_id": {
		Name: "document_id", In: "path", Required: true,
		Description: "Document id, percent-encoded including its slashes.",
		Schema:      inline(ofType("string")), Example: "kettle.md",
	},
	"session_id": {
		Name: "session_id", In: "path", Required: true,
		Description: "Session id, percent-encoded: any printable text, chosen by the client.",
		Schema:      inline(ofType("string"), chars(1, protocol.MaxSessionID)), Example: "s1",
	},
	"job_id": {
		Name: "job_id", In: "path", Required: true, Description: "Job id.",
		Schema: inline(ofType("string")), Example: exampleJob,
	},
	"path": {
		Name: "path", In: "query", Required: true,
		Schema: inline(ofType("string"), documentPath), Example: "kettle.md",
	},
}

var byPath = parameter{Ref: "#/components/parameters/path"}

func boolean(s *jsonschema.Schema) {
	ofType("boolean")(s)
	byDefault(false)(s)
}

func queryParameter(name, description string, example any, rules ...rule) parameter {
	return parameter{
		Name: name, In: "query", Description: description, Schema: inline(rules...), Example: example,
	}
}

// searchQuery are the parameters that searchByQuery accepts. They have the schemas of the keys
// of a SearchRequest and its filters, but lists are strings with commas.
func searchQuery() []parameter {
	keys := schemaOf[protocol.SearchRequest](components[reflect.TypeFor[protocol.SearchRequest]()]...)
	filters := schemaOf[protocol.SearchFilters](
		components[reflect.TypeFor[protocol.SearchFilters]()]...)
	examples := map[string]any{
		"query": "kettle", "top_k": 3, "mode": "bm25", "scope": "all", "sort": "recency",
		"question_date": "2024-05-01", "candidate_k": 0, "rerank_top_n": 0, "max_per_document": 0, "explain": false, "operators": false,
		"path_prefix": "ket", "paths": "kettle.md,cup.md", "tags": "tea", "session_ids": "s1,s2",
		"date_from": "2024-04-30", "date_to": "2024-04-30", "include_generated": false,
	}
	var list []parameter
	for _, name := range searchParameters {
		s := keys.Properties[name]
		if s == nil {
			s = filters.Properties[name]
		}
		p := parameter{Name: name, In: "query", Schema: rawSchema(s), Example: examples[name]}
		switch {
		case name == "query":
			p.Name, p.Required, p.Description = "q", true, "Also query or question. It may have operators, as in a POST."
		case s.Ref == componentRef("FilterValues"):
			p.Description = s.Description + " Separated by commas; a value with a comma needs a POST."
			p.Schema = inline(ofType("string"), chars(1, 0))
		}
		list = append(list, p)
	}
	return list
}

var (
	anything  = schema(`{}`)
	done      = map[string]response{"204": {Description: "Done."}}
	bytesBody = &requestBody{
		Required: true, Description: sizeLimit(protocol.MaxWriteBytes),
		Content: map[string]media{
			protocol.TypeBytes: {Schema: anything, Example: "The kettle is blue."},
		},
	}
	searchResponses = returns[protocol.SearchResponse](http.StatusOK,
		"The best chunks, in the requested order.")
)

func sizeLimit(bytes int) string {
	return strconv.Itoa(bytes>>20) + " MiB at most, counted after decompression when " +
		"Content-Encoding is gzip."
}

func anyOf(schemas ...schema) schema {
	return schema(encode(map[string][]schema{"anyOf": schemas}))
}

// takes is a JSON body of type T.
func takes[T any](description, example string) *requestBody {
	return &requestBody{
		Required: true, Description: description,
		Content: map[string]media{protocol.TypeJSON: {
			Schema: schemaRef(reflect.TypeFor[T]().Name()), Example: json.RawMessage(example),
		}},
	}
}

// ingestBody is a file, as a form or in a JSON object.
func ingestBody(example string) *requestBody {
	body := takes[protocol.IngestFile](fmt.Sprintf("The file has %d MiB at most, else the code is %s.",
		protocol.MaxIngestBytes>>20, protocol.CodeFileTooLarge), example)
	body.Content[typeForm] = media{Schema: inline(ofType("object"), require("file"))}
	return body
}

// ingestResponses are the responses to an ingest.
func ingestResponses() map[string]response {
	all := located(returns[protocol.IngestResponse](http.StatusCreated, "The document is new."))
	queued := located(returns[protocol.IngestResponse](http.StatusAccepted,
		"The file is stored; the job in Location will create the document."))
	maps.Copy(all, queued)
	maps.Copy(all, returns[protocol.IngestResponse](http.StatusOK, "The document of the same file."))
	return all
}

// ingestedPage are the responses to an ingest that is never queued.
func ingestedPage() map[string]response {
	all := ingestResponses()
	delete(all, strconv.Itoa(http.StatusAccepted))
	return all
}

// returns is a JSON response of type T.
func returns[T any](status int, description string) map[string]response {
	return respond(status, description, protocol.TypeJSON, schemaRef(reflect.TypeFor[T]().Name()))
}

func respond(status int, description, contentType string, s schema) map[string]response {
	return map[string]response{strconv.Itoa(status): {
		Description: description, Content: map[string]media{contentType: {Schema: s}},
	}}
}

// located adds the header Location.
func located(responses map[string]response) map[string]response {
	for status, r := range responses {
		r.Headers = map[string]header{"Location": {Schema: inline(ofType("string"))}}
		responses[status] = r
	}
	return responses
}

// streams is an event stream whose events have the named schemas.
func streams(description string, events map[string]string) map[string]response {
	m := media{Schema: inline(ofType("string")), Events: map[string]schema{}}
	for name, component := range events {
		m.Events[name] = schemaRef(component)
	}
	return map[string]response{"200": {
		Description: description, Content: map[string]media{protocol.TypeEvents: m},
	}}
}

// jsonRPC is a stream of messages, or the message of an error. What is wrong with the request itself is
// a problem.
func jsonRPC() map[string]response {
	all := streams("One JSON-RPC message in each event. The reply is the last.",
		map[string]string{"message": "JSONRPCMessage"})
	message := media{Schema: schemaRef("JSONRPCMessage")}
	all["200"].Content[protocol.TypeJSON] = message
	invalid := failures["Invalid"]
	all["400"] = response{Description: invalid.Description, Content: map[string]media{
		protocol.TypeJSON: message, protocol.TypeProblem: invalid.Content[protocol.TypeProblem],
	}}
	return all
}

// failureOf names the entry of failures for a status.
var failureOf = map[int]string{
	http.StatusBadRequest:            "Invalid",
	http.StatusUnauthorized:          "Unauthorized",
	http.StatusForbidden:             "Forbidden",
	http.StatusNotFound:              "NotFound",
	http.StatusConflict:              "Conflict",
	http.StatusRequestEntityTooLarge: "TooLarge",
	http.StatusUnsupportedMediaType:  "UnsupportedMediaType",
	http.StatusPreconditionRequired:  "Unconfirmed",
	http.StatusTooManyRequests:       "RateLimited",
	http.StatusServiceUnavailable:    "Unavailable",
}

var failures = map[string]response{
	"Unauthorized": problem("The Authorization header is missing or is not one Bearer token, or its key has "+
		"expired or was revoked.",
		map[string]header{"WWW-Authenticate": {Schema: inline(oneOf("Bearer", `Bearer error="invalid_token"`))}}),
	"Forbidden": problem("No key has this token, or the key lacks the scope, or the brain is "+
		"missing, another tenant's or not on the key's list; or the request comes from a web page of another "+
		"origin.", nil),
	"RateLimited": problem("The key has used up its requests, or the model provider its own.",
		map[string]header{"Retry-After": {
			Description: "Seconds, rounded up. 1 if the model provider set the limit and named no time.",
			Schema:      inline(ofType("integer"), least(1)),
		}}),
	"Unavailable": problem("The request was not served, and may be repeated later if there is a Retry-After: more "+
		"work of its kind waits than can be done soon (code overloaded), or the store or the brain cannot be used now.",
		map[string]header{"Retry-After": {
			Description: "Seconds. Absent if only the operator can help.",
			Schema:      inline(ofType("integer"), least(1)),
		}}),
	"Invalid":  problem("The request breaks a rule, which the detail names.", nil),
	"NotFound": problem("There is no such brain, document or session.", nil),
	"Conflict": problem("The name is taken, or a concurrent write was first, or the session has "+
		"ended, or the brain is being consolidated.", nil),
	"TooLarge": problem("The body or the response exceeds a limit.", nil),
	"UnsupportedMediaType": problem("This endpoint does not accept the Content-Type or the "+
		"Content-Encoding.", nil),
	"Unconfirmed": problem("The header X-Confirm-Delete is missing.", nil),
	"Problem":     problem("Any other failure.", nil),
}

func problem(description string, headers map[string]header) response {
	return response{
		Description: description, Headers: headers,
		Content: map[string]media{protocol.TypeProblem: {Schema: schemaRef("Problem")}},
	}
}
