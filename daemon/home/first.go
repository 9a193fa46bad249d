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

// URL is the base URL of requests to the daemon of a home, with HTTPClient.
const URL = "http://localhost"

// HTTPClient returns a client whose requests go to the daemon that dial connects to. Each request
// has its own connection, so that none fails because the process that ran the daemon before has
// ended.
func HTTPClient(dial DialFunc) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
}

// FirstBrain returns a function that prepares a home: it creates a brain in a home without any, so
// that a new user can store something before learning about brains. If a brain is named, it creates
// none, because a missing one is an error that the client sees.
func FirstBrain(named, userAgent string) func(context.Context, DialFunc) error {
	return func(ctx context.Context, dial DialFunc) error {
		if named != "" {
			return nil
		}
		return createFirstBrain(ctx, dial, userAgent)
	}
}

func createFirstBrain(ctx context.Context, dial DialFunc, userAgent string) error {
	api, err := client.New(URL, &client.Options{UserAgent: userAgent, HTTPClient: HTTPClient(dial)})
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
