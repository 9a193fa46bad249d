package requirements

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"evalctl/harness/census"
	"evalctl/internal/httpclient"
)

// createBrain creates a brain under a unique name and returns its id.
func (d *Target) createBrain(ctx context.Context) (id string, err error) {
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
	id = name
	for _, c := range res.brainIDs() {
		if c.at == d.creation.idAt {
			id = c.id
			break
		}
	}
	return id, d.notOld(id)
}

// notOld returns an error for a brain that the daemon had before the checks.
func (d *Target) notOld(id string) error {
	if d.before.Had(id) {
		return unjudgedError{ReasonSetup, notNew(postBrains, id, census.ErrOld)}
	}
	return nil
}

// postBrains is the request that creates brains.
const postBrains = "POST /v1/brains"

// notNew returns the error for a brain that belongs to others, which a request or a tool returned.
func notNew(by, id string, why error) error {
	return fmt.Errorf("create a brain: %s returned brain %q, %w: a check would write to it and delete it; "+
		"give a daemon that creates a brain for each request", by, id, why)
}

func (d *Target) postBrain(ctx context.Context, name string) (*response, error) {
	r := daemonRequest(http.MethodPost, "/v1/brains").withJSON(d.creation.body(name))
	res, err := d.roundTrip(ctx, r, "")
	if err != nil {
		return nil, fmt.Errorf("create a brain: %w", err)
	}
	return res, nil
}

func notCreated(res *response) error {
	if err := res.withinRate(); err != nil {
		return err
	}
	return unjudgedError{ReasonSetup, res.wantStatus("2xx", fmt.Errorf("create a brain: %s%s", res, httpclient.Advice(res.status)))}
}

// createByPut creates an empty brain with a document that is deleted again.
func (d *Target) createByPut(ctx context.Context, id string) error {
	const document = "conformance.md"
	for _, r := range []request{putOf(document, "x"), deleteOf(document)} {
		res, err := d.roundTrip(ctx, r, id)
		if err != nil {
			return fmt.Errorf("create a brain with a document: %w", err)
		}
		if res.status/100 != 2 {
			return notCreated(res)
		}
	}
	return nil
}

// probeCreation creates the first brain, and finds out how to create brains and where the response
// has the id.
func (d *Target) probeCreation(ctx context.Context) (id string, err error) {
	name := newBrainName()
	for {
		res, err := d.patiently(ctx, time.Second, func() (*response, error) { return d.postBrain(ctx, name) })
		if err != nil {
			return "", err
		}
		switch {
		case res.status/100 == 2:
			return d.probeID(ctx, res, name)
		case slices.Contains([]int{404, 405, 501}, res.status):
			if err := d.before.New(ctx, name); err != nil {
				return "", notNew(postBrains, name, err)
			}
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

// probeID returns the id of a new brain: the first candidate under which a document can be written.
// If there is none, other checks report it. Nothing is written if a candidate is not new.
func (d *Target) probeID(ctx context.Context, res *response, name string) (string, error) {
	if strings.HasPrefix(http.DetectContentType(res.body), "text/html") {
		return "", fmt.Errorf("create a brain: %s, an HTML page (a login page or a proxy? check the endpoint and the token)", res)
	}
	candidates := append(res.brainIDs(), brainID{"", name})
	asked := map[string]bool{}
	for _, c := range candidates {
		if asked[c.id] {
			continue
		}
		asked[c.id] = true
		if err := d.before.New(ctx, c.id); err != nil {
			if !d.before.Had(c.id) {
				d.leave(c.id) // its deletion could delete the documents of others
			}
			return "", notNew(postBrains, c.id, err)
		}
	}
	chosen := candidates[0]
	if slices.ContainsFunc(candidates, func(c brainID) bool { return c.id != chosen.id }) {
		for _, c := range candidates {
			if wrote, err := d.roundTrip(ctx, putOf(probeDocument, "probe"), c.id); err == nil && wrote.status/100 == 2 {
				chosen = c
				break
			}
		}
	}
	d.creation.idAt = chosen.at
	return chosen.id, nil
}

// probeOther requires that another new brain has another id, unless the list of brains shows
// that the first is new.
func (d *Target) probeOther(ctx context.Context, id string) error {
	if d.creation.implicit || d.before.Shows(ctx, id) {
		return nil
	}
	other, err := d.createBrain(ctx)
	if err != nil {
		return nil //nolint:nilerr // the checks report it
	}
	if other == id {
		return notNew(postBrains, id, errors.New("as for another name"))
	}
	if res, err := d.requestDeletion(ctx, other); err != nil || res.status/100 != 2 {
		d.leave(other)
	}
	return nil
}

// list implements census.Lister. A list that fails is none: that a second brain has another id
// shows as much (see probeOther).
func (d *Target) list(ctx context.Context, brain string) (list []byte, err error) {
	r := daemonRequest(http.MethodGet, "/v1/brains")
	if brain != "" {
		r = listOf("recursive", "true")
	}
	if d.exchange(r, brain).route == d.deadly {
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d.patience(probeLimit), errCheckTimeout)
	defer cancel()
	res, err := d.patiently(ctx, cleanupPause, func() (*response, error) { return d.roundTrip(ctx, asSent(r), brain) })
	switch {
	case err == nil && res.status == http.StatusRequestEntityTooLarge:
		return nil, census.ErrMany
	case err != nil || res.status/100 != 2:
		return nil, nil //nolint:nilerr // see above
	}
	return res.body, nil
}
