package conformance

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// cleanupTimeout bounds the deletion of a check's brain, which happens even
// when the run was interrupted.
const cleanupTimeout = 10 * time.Second

// credential is what a check needs beyond what every run has.
type credential int

const (
	nothing credential = iota
	aToken
	aReadOnlyToken
	anotherTenant
	patience // Options.Slow
)

// with makes checks need a credential.
func with(need credential, checks ...check) []check {
	for i := range checks {
		checks[i].needs = need
	}
	return checks
}

// missing says what a check lacks, if anything.
func (d *target) missing(need credential, slow bool) string {
	switch {
	case need == aToken && d.token == "":
		return "needs a token"
	case need == aReadOnlyToken && (d.token == "" || d.readOnly == ""):
		return "needs a token, and a second one that may only read"
	case need == anotherTenant && (d.token == "" || d.otherTenant == ""):
		return "needs a token, and a second one of another tenant"
	case need == patience && !slow:
		return "takes half a minute: run with the slow checks to see"
	}
	return ""
}

// notJudged ends a check without a verdict: the daemon was free not to do what
// the check looks at.
type notJudged struct{ reason string }

func (e notJudged) Error() string { return e.reason }

// trial is one run of one check, with a brain of its own. Its steps may send
// requests at the same time.
type trial struct {
	target *target
	brain  string

	mu   sync.Mutex
	line string
}

// step is a part of a check. An error says what was wanted and what came.
type step func(ctx context.Context, t *trial) error

func (t *trial) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.line
}

func (t *trial) remember(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line = line
}

// inBrain takes the steps in a new brain.
func (t *trial) inBrain(ctx context.Context, steps []step) (err error) {
	if t.brain, err = t.target.createBrain(ctx); err != nil {
		return err
	}
	defer func() {
		if cleanup := t.target.deleteBrain(ctx, t.brain); err == nil && cleanup != nil {
			err = cleanup
		}
	}()
	return t.take(ctx, steps)
}

func (t *trial) take(ctx context.Context, steps []step) error {
	for _, s := range steps {
		if err := s(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// elsewhere takes steps in a second brain, which exists meanwhile.
func elsewhere(steps ...step) step {
	return func(ctx context.Context, t *trial) error {
		other := &trial{target: t.target}
		err := other.inBrain(ctx, steps)
		t.remember(other.last())
		return err
	}
}

// createBrain makes a brain under a name that no other run uses. The keys are
// those of every dialect in the field.
func (d *target) createBrain(ctx context.Context) (string, error) {
	id := "conformance-" + strings.ToLower(rand.Text())
	res, err := d.send(ctx, root(http.MethodPost, "/v1/brains").json(object{"id": id, "brainId": id, "name": id, "slug": id}), "")
	if err != nil {
		return "", fmt.Errorf("create a brain: %w", err)
	}
	if res.status/100 != 2 {
		return "", fmt.Errorf("create a brain: %s", res)
	}
	var made struct{ ID, BrainID string }
	if json.Unmarshal(res.body, &made) == nil && made.ID != "" {
		return made.ID, nil
	}
	return id, nil
}

// deleteBrain cleans up, whatever happened to ctx. The connection is not used again, since some daemons cut it after
// their answer.
func (d *target) deleteBrain(ctx context.Context, id string) error {
	res, err := d.requestDeletion(ctx, id)
	if err != nil {
		return err
	}
	// A brain that the check itself deleted is 404, or 403 to a token that may
	// not know which brains there are.
	if res.status/100 != 2 && res.status != http.StatusNotFound && res.status != http.StatusForbidden {
		return fmt.Errorf("delete the check's brain: %s", res)
	}
	return nil
}

func (d *target) requestDeletion(ctx context.Context, id string) (*response, error) {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), cleanupTimeout, errCheckTimeout)
	defer cancel()
	r := root(http.MethodDelete, "/v1/brains/"+url.PathEscape(id)).with("X-Confirm-Delete", "yes")
	r.last = true
	res, err := d.send(ctx, r, "")
	if err != nil {
		return nil, fmt.Errorf("delete the check's brain: %w", err)
	}
	return res, nil
}

// poll repeats try until it is done, with growing pauses.
func poll(ctx context.Context, most time.Duration, try func() (done bool, err error)) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, most, errCheckTimeout)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		if done, err := try(); done || err != nil {
			return done, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false, nil
		}
	}
}

// object is a JSON object.
type object = map[string]any

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a check with a body that JSON cannot hold is a bug
	}
	return data
}
