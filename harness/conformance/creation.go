package conformance

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
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
	reason := ReasonSetup
	if res.status == http.StatusTooManyRequests {
		reason = ReasonRateLimit
	}
	return unjudged{reason, res.wantStatus("2xx", fmt.Errorf("create a brain: %s", res))}
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

// postBrainPatiently is postBrain for a daemon whose rate limit may be reached already.
func (d *target) postBrainPatiently(ctx context.Context, name string) (*response, error) {
	const tries, pause = 3, time.Second
	for try := 1; ; try++ {
		res, err := d.postBrain(ctx, name)
		if err != nil || res.status != http.StatusTooManyRequests || try == tries {
			return res, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return res, nil
		}
	}
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

const (
	// cleanupTimeout bounds the deletion of a check's brain, which also happens after the run was
	// interrupted.
	cleanupTimeout = 10 * time.Second
	// cleanupTries requests are made, with pauses, before a brain is left behind.
	cleanupTries = 3
	cleanupPause = 100 * time.Millisecond
)

// deleteBrain deletes a check's brain, even after ctx has ended. A brain that cannot be deleted is
// named in the report. It does not change the verdict.
func (d *target) deleteBrain(ctx context.Context, id string) {
	if d.deletes {
		for try := 0; try < cleanupTries; try++ {
			time.Sleep(time.Duration(try) * cleanupPause)
			res, err := d.requestDeletion(ctx, id)
			switch {
			// The check may have deleted the brain. Then the daemon returns 404, or 403 if it does not
			// reveal to the token which brains exist.
			case err == nil && (res.status/100 == 2 || slices.Contains([]int{403, 404}, res.status)):
				return
			case err != nil && !timedOut(err) && ctx.Err() == nil:
			case err == nil && (res.status == http.StatusTooManyRequests || res.status >= 500):
			default:
				try = cleanupTries // another try would not help
			}
		}
	}
	d.leave(id)
}

func (d *target) leave(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = append(d.left, id)
}

// brainsLeft returns the brains that the run created and could not delete.
func (d *target) brainsLeft() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := make([]string, len(d.left))
	for i, id := range d.left {
		left[i] = d.redactor.Text(id)
	}
	slices.Sort(left)
	return left
}

// deleteLeft deletes the brains that could not be deleted because the daemon was dead. A restarted
// daemon need not have them.
func (d *target) deleteLeft(ctx context.Context) {
	d.mu.Lock()
	left := d.left
	d.left = nil
	d.mu.Unlock()
	for _, id := range left {
		d.deleteBrain(ctx, id)
	}
}

func (d *target) requestDeletion(ctx context.Context, id string) (*response, error) {
	run := ctx
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), cleanupTimeout, errCheckTimeout)
	defer cancel()
	defer context.AfterFunc(run, func() {
		if errors.Is(context.Cause(run), ErrDied) {
			cancel() // no use to wait for a dead daemon
		}
	})()
	r := brainRequest(http.MethodDelete, "").withHeader("X-Confirm-Delete", "yes")
	r.close = true // some daemons drop the connection after this response
	res, err := d.send(ctx, r, id)
	if err != nil {
		return nil, fmt.Errorf("delete the check's brain: %w", err)
	}
	return res, nil
}

// probeDeletion deletes the probe's brain and finds out whether brains can be deleted.
func (d *target) probeDeletion(ctx context.Context, id string) error {
	res, err := d.requestDeletion(ctx, id)
	switch {
	case err != nil:
		d.leave(id)
		return err
	case res.status/100 == 2:
		d.deletes = true
		return nil
	}
	d.leave(id)
	d.undeletable = fmt.Sprintf("DELETE /v1/brains/{id} returned %d", res.status)
	if res.status == http.StatusUnauthorized || res.status == http.StatusForbidden {
		return fmt.Errorf("delete the check's brain: %s", res)
	}
	return nil
}
