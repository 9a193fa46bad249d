package pgcatalog

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// checkInterval is how often an idle connection is checked, because the network may drop it
	// without a sign.
	checkInterval = 5 * time.Second
	// reconnectAfter is the pause before another attempt to connect.
	reconnectAfter = time.Second
)

// Watch implements brain.SharedCatalog. It uses one connection of the pool.
func (c *Catalog) Watch(ctx context.Context, changed func()) {
	for ctx.Err() == nil {
		err := c.listen(ctx, changed)
		if ctx.Err() != nil {
			return
		}
		c.logger.Warn("the connection for changes of the brains was lost; connecting again", "because", err)
		select {
		case <-ctx.Done():
		case <-time.After(reconnectAfter):
		}
	}
}

// listen returns when the connection fails or ctx ends.
func (c *Catalog) listen(ctx context.Context, changed func()) error {
	pooled, err := c.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	// Not back into the pool, where it would still listen.
	defer closeConn(pooled)
	conn := pooled.Conn()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	changed() // while there was no connection, something may have
	for {
		waiting, cancel := context.WithTimeout(ctx, checkInterval)
		_, err := conn.WaitForNotification(waiting)
		cancel()
		if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
			return err
		}
		if err == nil {
			changed()
			continue
		}
		checking, cancel := context.WithTimeout(ctx, checkInterval)
		err = conn.Ping(checking)
		cancel()
		if err != nil {
			return err
		}
	}
}

func closeConn(pooled *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = pooled.Hijack().Close(ctx)
}
