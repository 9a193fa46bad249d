package requirements

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// brainShapes are sets of keys for a new brain's name, which the specification does not define. The
// first set has the keys of all known dialects; the others are for daemons that reject unknown
// keys.
var brainShapes = [][]string{
	{"id", "brainId", "name", "slug"}, {"name", "slug"}, {"name"}, {"brainId"}, {"brain_id"}, {"id"}, {"slug"},
}

// creation is the daemon's way of creating brains. It is constant after the probe.
type creation struct {
	shape int // index into brainShapes
	// idAt is the place of the id in the response: object keys, as in "brain.id", or "Location". If
	// empty, the id is the name in the request.
	idAt string
	// implicit is set if there is no POST /v1/brains: the first document creates its brain.
	implicit bool
}

// body returns the body of the request for a brain.
func (c creation) body(name string) object {
	o := object{}
	for _, key := range brainShapes[c.shape] {
		o[key] = name
	}
	return o
}

// text describes how brains are created, unless as in the reference daemon.
func (c creation) text() string {
	switch {
	case c.implicit:
		return "there is no POST /v1/brains: brains are created by a PUT of a document"
	case c.shape > 0 || c.idAt != "id":
		return fmt.Sprintf("brains are created with %s, and their id is %s", encode(c.body("NAME")),
			cmp.Or(c.idAt, "the name in the request"))
	}
	return ""
}

// newBrainName returns a unique name, which is also a valid id and slug.
func newBrainName() string { return "conformance-" + strings.ToLower(rand.Text()) }

// probeDocument is the document that the probe writes.
const probeDocument = "conformance/probe.md"

// brainID is a candidate for a new brain's id, and its place.
type brainID struct{ at, id string }

// brainIDs returns the candidates for the id in the response to creating a brain, most likely
// first.
func (r *response) brainIDs() []brainID {
	var found []brainID
	add := func(at string, v any) {
		switch v := v.(type) {
		case string:
			if v != "" {
				found = append(found, brainID{at, v})
			}
		case json.Number:
			found = append(found, brainID{at, v.String()})
		}
	}
	var created object
	decoder := json.NewDecoder(bytes.NewReader(r.body))
	decoder.UseNumber() // a large number must not become 1e+18
	if err := decoder.Decode(&created); err != nil {
		created = nil
	}
	for _, key := range []string{"id", "brainId", "brain_id", "slug", "name"} {
		add(key, created[key])
		for _, outer := range []string{"brain", "data"} {
			inner, _ := created[outer].(object)
			add(outer+"."+key, inner[key])
		}
	}
	add("brain", created["brain"])
	if location := r.header.Get("Location"); location != "" {
		add("Location", path.Base(location))
	}
	return found
}
