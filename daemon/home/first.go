package home

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

// firstBrain is the name of the brain that a new home gets.
const firstBrain = "default"

// FirstBrain returns what prepares a home: it creates a brain in a home without any, so that a new
// user can store something before learning about brains. If a brain is named, it creates none,
// because a missing one is an error that the client sees.
func FirstBrain(named, userAgent string) func(context.Context, DialFunc) error {
	return func(ctx context.Context, dial DialFunc) error {
		if named != "" {
			return nil
		}
		return createFirstBrain(ctx, dial, userAgent)
	}
}

func createFirstBrain(ctx context.Context, dial DialFunc, userAgent string) error {
	api, err := client.New("http://localhost", &client.Options{UserAgent: userAgent, HTTPClient: &http.Client{
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
	}})
	if err != nil {
		return err
	}
	list, err := api.Brains(ctx)
	if err == nil && len(list.Items) == 0 {
		_, err = api.CreateBrain(ctx, protocol.CreateBrain{Name: firstBrain, Slug: firstBrain})
		if refused, ok := errors.AsType[*client.Error](err); ok && refused.Status == http.StatusConflict {
			return nil // another process, on the same database, was faster
		}
	}
	if err != nil {
		return fmt.Errorf("create the first brain: %w", err)
	}
	return nil
}
