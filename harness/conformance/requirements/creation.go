package requirements

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
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
	for _, c := range res.brainIDs() {
		if c.at == d.creation.idAt {
			return c.id, nil
		}
	}
	return name, nil
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
	return unjudgedError{ReasonSetup, res.wantStatus("2xx", fmt.Errorf("create a brain: %s", res))}
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

// probeID returns the id of a new brain: the first candidate under which a document can be written.
// If there is none, other checks report it.
func (d *Target) probeID(ctx context.Context, res *response, name string) string {
	candidates := append(res.brainIDs(), brainID{"", name})
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
	return chosen.id
}
