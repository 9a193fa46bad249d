package requirements

import (
	"encoding/json"
	"fmt"
)

// shape is a kind of response whose outermost keys may differ between daemons.
type shape string

const (
	listingShape shape = "listings"
	searchShape  shape = "responses to searches"
	statShape    shape = "responses to stat"
	recordShape  shape = "records"
)

// wanted has, for each shape, its key, other names that daemons use, and the check that judges it,
// empty if the specification leaves the shape open.
var wanted = map[shape]struct {
	key    string
	others []string
	check  string
}{
	listingShape: {"items", []string{"documents", "entries", "files", "results", "paths", "data"}, "listing-items"},
	searchShape:  {"chunks", []string{"hits", "results", "items", "matches", "documents", "data"}, ""},
	statShape:    {"path", nil, "documents-stat-envelope"},
	recordShape:  {"id", nil, "records-envelope"},
}

// wrappers are names of objects that may enclose the expected object.
var wrappers = []string{"data", "result", "response", "payload", "document", "record", "file", "item"}

// shapeOf returns the shape of the response to a request.
func shapeOf(r request) (shape, bool) {
	switch route := r.method + " " + routeOf(r); route {
	case "GET /documents":
		return listingShape, true
	case "POST /search", "GET /search":
		return searchShape, true
	case "GET /documents/stat":
		return statShape, true
	case "POST /documents", "GET /documents/{id}":
		return recordShape, true
	}
	return "", false
}

// envelope is how a daemon deviates from a shape.
type envelope struct {
	bare bool   // an array takes the place of the object
	wrap string // the object is inside another one
	key  string // another name of the wanted key
}

// String describes the envelope like JSON.
func (e envelope) String() string {
	inner := "{…}"
	switch {
	case e.bare:
		return "[…]"
	case e.key != "":
		inner = fmt.Sprintf(`{"%s": […]}`, e.key)
	}
	if e.wrap != "" {
		return fmt.Sprintf(`{"%s": %s}`, e.wrap, inner)
	}
	return inner
}

func envelopeError(s shape, got string) error {
	return asCause(fmt.Sprintf("%s are not in the envelope %q", s, wanted[s].key),
		"want an object with %q, got %s", wanted[s].key, got)
}

// envelopeOf returns the envelope of a body that deviates from a shape in a known way.
func envelopeOf(s shape, body []byte) (envelope, bool) {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return envelope{}, false
	}
	want := wanted[s]
	if _, isList := v.([]any); isList {
		return envelope{bare: true}, len(want.others) > 0
	}
	o, _ := v.(object)
	if _, ok := o[want.key]; o == nil || ok {
		return envelope{}, false
	}
	if key := arrayIn(o, want.others); key != "" {
		return envelope{key: key}, true
	}
	for _, wrap := range wrappers {
		inner, _ := o[wrap].(object)
		if _, ok := inner[want.key]; ok {
			return envelope{wrap: wrap}, true
		}
		if key := arrayIn(inner, want.others); key != "" {
			return envelope{wrap: wrap, key: key}, true
		}
	}
	return envelope{}, false
}

// arrayIn returns the first of some keys whose value is an array, or "".
func arrayIn(o object, keys []string) string {
	for _, key := range keys {
		if _, ok := o[key].([]any); ok {
			return key
		}
	}
	return ""
}
