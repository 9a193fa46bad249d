package conformance

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// brainShapes are bodies of requests that create a brain, given its name. The specification does
// not have one. The first one has the keys of all known dialects; the others are for daemons that
// reject keys.
var brainShapes = []func(name string) object{
	func(name string) object { return object{"id": name, "brainId": name, "name": name, "slug": name} },
	func(name string) object { return object{"name": name, "slug": name} },
	func(name string) object { return object{"name": name} },
	func(name string) object { return object{"brainId": name} },
	func(name string) object { return object{"brain_id": name} },
	func(name string) object { return object{"id": name} },
	func(name string) object { return object{"slug": name} },
}

// creation is how the daemon creates brains. The probe finds it out; nothing changes after it.
type creation struct {
	shape int // index into brainShapes
	// idAt is where the response has the id: keys of objects, as in "brain.id", or "Location". The id
	// is the name in the request if it is empty.
	idAt string
	// implicit is set if there is no POST /v1/brains: the first document creates its brain.
	implicit bool
}

// text says how brains are created, if the daemon does not do it as the reference daemon does.
func (c creation) text() string {
	switch {
	case c.implicit:
		return "there is no POST /v1/brains: brains are created by a PUT of a document"
	case c.shape > 0 || c.idAt != "id":
		return fmt.Sprintf("brains are created with %s, and their id is %s", encode(brainShapes[c.shape]("NAME")),
			cmp.Or(c.idAt, "the name in the request"))
	}
	return ""
}

// deviations says what the probe found out: what is removed from responses, and how brains are
// created and why they remain.
func (d *target) deviations() []string {
	all := d.quirks.texts()
	if text := d.creation.text(); text != "" && d.base != "" {
		all = append(all, text)
	}
	if d.undeletable != "" {
		all = append(all, "brains cannot be deleted and remain: "+d.undeletable)
	}
	return all
}

// probeDocument is the document that the probe writes.
const probeDocument = "conformance/probe.md"

// newBrainName returns a name that no other run uses. It can also be an id and a slug.
func newBrainName() string { return "conformance-" + strings.ToLower(rand.Text()) }

// createBrain creates a brain under a name that no other run uses and returns its id.
func (d *target) createBrain(ctx context.Context) (id string, err error) {
	name := newBrainName()
	if d.creation.implicit {
		return name, d.createByPut(ctx, name)
	}
	res, err := d.postBrain(ctx, name)
	if err != nil {
		return "", err
	}
	if res.status/100 != 2 {
		return "", notCreated(res)
	}
	for _, c := range res.brainIDs() {
		if c.at == d.creation.idAt {
			return c.id, nil
		}
	}
	return name, nil
}

func (d *target) postBrain(ctx context.Context, name string) (*response, error) {
	r := daemonRequest(http.MethodPost, "/v1/brains").withJSON(brainShapes[d.creation.shape](name))
	res, err := d.send(ctx, r, "")
	if err != nil {
		return nil, fmt.Errorf("create a brain: %w", err)
	}
	return res, nil
}

func notCreated(res *response) error {
	if err := res.withinRate(); err != nil {
		return err
	}
	return unjudged{ReasonSetup, res.wantStatus("2xx", fmt.Errorf("create a brain: %s", res))}
}

// createByPut creates an empty brain with a document that is deleted again.
func (d *target) createByPut(ctx context.Context, id string) error {
	const document = "conformance.md"
	for _, r := range []request{putOf(document, "x"), deleteOf(document)} {
		res, err := d.send(ctx, r, id)
		if err != nil {
			return fmt.Errorf("create a brain with a document: %w", err)
		}
		if res.status/100 != 2 {
			return notCreated(res)
		}
	}
	return nil
}

// probeCreation creates the first brain, and finds out how that is done and where the response has
// the id.
func (d *target) probeCreation(ctx context.Context) (id string, err error) {
	name := newBrainName()
	for {
		res, err := d.postBrainPatiently(ctx, name)
		if err != nil {
			return "", err
		}
		switch {
		case res.status/100 == 2:
			return d.probeID(ctx, res, name), nil
		case slices.Contains([]int{404, 405, 501}, res.status):
			if err := d.createByPut(ctx, name); err != nil {
				return "", fmt.Errorf("%w; nor does a document create its brain: %w", notCreated(res), err)
			}
			d.creation.implicit = true
			return name, nil
		case slices.Contains([]int{400, 422}, res.status) && d.creation.shape+1 < len(brainShapes):
			d.creation.shape++
		default:
			return "", notCreated(res)
		}
	}
}

// postBrainPatiently is postBrain for a daemon whose rate limit may be reached already, or that
// fails now and then.
func (d *target) postBrainPatiently(ctx context.Context, name string) (*response, error) {
	const tries, pause = 3, time.Second
	var failed []*exchange
	for try := 1; ; try++ {
		res, err := d.postBrain(ctx, name)
		if err == nil && res.status/100 == 2 {
			d.strayed(failed)
		}
		if err != nil || !mayPass(res.status) || try == tries {
			return res, err
		}
		failed = append(failed, res.seen)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return res, nil
		}
	}
}

// mayPass reports whether the same request may succeed when it is sent again.
func mayPass(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented
}

// probeID returns the id of a new brain: the first candidate under which a document can be written.
// If there is none, that is the finding of other checks.
func (d *target) probeID(ctx context.Context, res *response, name string) string {
	candidates := append(res.brainIDs(), brainID{"", name})
	chosen := candidates[0]
	if slices.ContainsFunc(candidates, func(c brainID) bool { return c.id != chosen.id }) {
		for _, c := range candidates {
			if wrote, err := d.send(ctx, putOf(probeDocument, "probe"), c.id); err == nil && wrote.status/100 == 2 {
				chosen = c
				break
			}
		}
	}
	d.creation.idAt = chosen.at
	return chosen.id
}

// brainID is what may be the id of a new brain, and where it was.
type brainID struct{ at, id string }

// brainIDs returns what may be the id in the response to the creation of a brain, the most likely
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

// brainID returns the id in the response to the creation of a brain, or "".
func (r *response) brainID() string {
	if all := r.brainIDs(); len(all) > 0 {
		return all[0].id
	}
	return ""
}
