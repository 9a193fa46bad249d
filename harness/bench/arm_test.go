package bench

import (
	"context"
	"errors"
	"testing"

	"evalctl/harness/result"
	"evalctl/harness/seed"
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

// TestRemoveBrainsOfSilentService: a service that does not answer is asked once, not once a brain.
func TestRemoveBrainsOfSilentService(t *testing.T) {
	asked := 0
	a := &arm{}
	for range 3 {
		a.created = append(a.created, seed.NewBrain(silentService{asked: &asked}, result.Snake, "b"))
	}
	if err := a.removeBrains(); !errors.Is(err, target.ErrNoAnswer) || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
