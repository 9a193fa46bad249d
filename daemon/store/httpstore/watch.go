package httpstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/retry"
)

// Watch keeps a change stream open. It calls sink from a single goroutine.
func (b *backend) Watch(ctx context.Context, sink func(store.ChangeEvent)) {
	attempted := make(chan struct{})
	stopWaiting := sync.OnceFunc(func() { close(attempted) })
	go func() {
		wait := backoff.NewExponentialBackOff()
		for {
			attached := func() {
				wait.Reset()
				stopWaiting()
			}
			err := b.brain.Events(ctx, attached, func(c protocol.ChangeEvent) error {
				b.deliver(c, sink)
				return nil
			})
			stopWaiting()
			if ctx.Err() != nil {
				return
			}
			pause := wait.NextBackOff()
			b.logger.Warn("change stream is not connected: changes are missed until it is", "error", err,
				"retry_in", pause)
			if retry.Sleep(ctx, pause) != nil {
				return
			}
		}
	}()
	<-attempted
}

func (b *backend) deliver(c protocol.ChangeEvent, sink func(store.ChangeEvent)) {
	ev, err := changeEvent(c)
	if err != nil {
		b.logger.Warn("change event is dropped", "error", err)
		return
	}
	sink(ev)
}

func changeEvent(c protocol.ChangeEvent) (store.ChangeEvent, error) {
	ev := store.ChangeEvent{Kind: store.ChangeKind(c.Kind), Path: c.Path, OldPath: c.OldPath, Reason: c.Reason}
	when, err := time.Parse(time.RFC3339Nano, c.When)
	ev.When = when.UTC()
	err = errors.Join(err, store.ValidPath(c.Path))
	switch ev.Kind {
	case store.Created, store.Updated, store.Deleted:
	case store.Renamed:
		err = errors.Join(err, store.ValidPath(c.OldPath))
	default:
		err = errors.Join(err, errors.New("unknown kind"))
	}
	if err != nil {
		return ev, fmt.Errorf("the daemon sent the event %+q: %w", c, err)
	}
	return ev, nil
}
