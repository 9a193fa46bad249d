package lifecycle

import (
	"context"
	"testing"

	"evalctl/harness/result"
	"evalctl/harness/target"
)

// silentService is a service that removes no brain in time.
type silentService struct {
	target.Service
	asked *int
}

func (s silentService) Store(result.Dialect) target.Store { return silentStore{asked: s.asked} }

type silentStore struct {
	target.Store
	asked *int
}

func (s silentStore) Remove(context.Context, string, string) error {
	*s.asked++
	return target.ErrNoAnswer
}

// TestCloseAtSilentService: a service that does not answer is asked once, not once a brain.
func TestCloseAtSilentService(t *testing.T) {
	asked := 0
	r := New(Config{Target: &target.Target{Service: silentService{asked: &asked}}})
	for _, name := range []string{"a", "b"} {
		r.groups[name] = &group{run: r, ids: map[string]string{name: "1", name + " too": "2"}}
	}
	if r.Close(t.Context()); asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}
