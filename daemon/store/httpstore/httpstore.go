// Package httpstore keeps documents in a brain of a daemon, over HTTP.
package httpstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// Open makes a store of a brain that exists. Nothing is sent yet. Closing the
// store leaves the brain and its client alone.
//
// Others may change the brain too, so what was true at a read may be over at
// the next call; only mutations through this one store wait for each other. A
// batch is kept here, at the price of a stat or a read for each path it
// touches, and sent as one request; batches above the limits of spec 8 fail
// before anything is sent.
//
// Events come over one stream, which stands while there are sinks. They tell
// of changes by everybody, a moment after the change, and have no number
// (store.ChangeEvent.Seq is 0). The first Subscribe returns once the stream
// stands. When it breaks off, or says nothing for client.Options.Silence,
// changes are missed until it is back (spec 6.2); opts.Logger hears of that.
//
// Errors wrap the *client.Error, and by its status ErrNotFound (404),
// ErrInvalidPath (400) or ErrConflict (409).
func Open(brain *client.Brain, opts *store.Options) *store.Store {
	b := &backend{brain: brain, logger: slog.Default()}
	if opts != nil {
		b.logger = cmp.Or(opts.Logger, b.logger)
	}
	return store.New(b, opts)
}

type backend struct {
	brain  *client.Brain
	logger *slog.Logger
}

var _ store.Backend = (*backend)(nil)

func (b *backend) Read(ctx context.Context, path string) ([]byte, error) {
	data, err := b.brain.Read(ctx, path)
	return data, sentinel(err)
}

func (b *backend) Stat(ctx context.Context, path string) (store.FileInfo, error) {
	info, err := b.brain.Stat(ctx, path)
	if err != nil {
		return store.FileInfo{}, sentinel(err)
	}
	info.Path = path
	return fileInfo(info)
}

func (b *backend) List(ctx context.Context, dir string) ([]store.FileInfo, error) {
	return b.ListEntries(ctx, dir, store.ListOptions{Recursive: true, IncludeGenerated: true})
}

func (b *backend) ListEntries(ctx context.Context, dir string, opts store.ListOptions) ([]store.FileInfo, error) {
	items, err := b.brain.List(ctx, dir, client.ListOptions{
		Recursive: opts.Recursive, Glob: opts.Glob, IncludeGenerated: opts.IncludeGenerated,
	})
	if err != nil {
		return nil, sentinel(err)
	}
	files := make([]store.FileInfo, len(items))
	for i, item := range items {
		if files[i], err = fileInfo(item); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// Apply uses the endpoint of a single operation where there is nothing that
// only a batch could carry.
func (b *backend) Apply(ctx context.Context, c store.Commit) error {
	if len(c.Ops) != 1 || c.Reason+c.Message+c.Author+c.Email != "" {
		return b.Commit(ctx, c)
	}
	op := c.Ops[0]
	switch op.Kind {
	case store.OpWrite:
		return sentinel(b.brain.Write(ctx, op.Path, op.Data))
	case store.OpAppend:
		return sentinel(b.brain.Append(ctx, op.Path, op.Data))
	case store.OpDelete:
		return sentinel(b.brain.Delete(ctx, op.Path))
	}
	return sentinel(b.brain.Rename(ctx, op.Path, op.To))
}

func (b *backend) Commit(ctx context.Context, c store.Commit) error {
	batch := protocol.Batch{
		Reason: c.Reason, Message: c.Message, Author: c.Author, Email: c.Email,
		Ops: make([]protocol.BatchOp, len(c.Ops)),
	}
	for i, op := range c.Ops {
		batch.Ops[i] = protocol.BatchOp{Type: string(op.Kind), Path: op.Path, To: op.To}
		if op.Kind == store.OpWrite || op.Kind == store.OpAppend {
			batch.Ops[i].Content = append([]byte{}, op.Data...) // empty is not nil
		}
	}
	n, err := b.brain.Commit(ctx, batch)
	if err == nil && n != len(batch.Ops) {
		err = fmt.Errorf("the daemon says that it committed %d of %d operations", n, len(batch.Ops))
	}
	return sentinel(err)
}

// Close has nothing to release: the store ended the stream.
func (b *backend) Close() error { return nil }

// sentinel gives err the condition that its status means (spec 7.1).
func sentinel(err error) error {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	switch e.Status {
	case http.StatusNotFound:
		return fmt.Errorf("%w: %w", store.ErrNotFound, err)
	case http.StatusBadRequest:
		return fmt.Errorf("%w: %w", store.ErrInvalidPath, err)
	case http.StatusConflict:
		return fmt.Errorf("%w: %w", store.ErrConflict, err)
	}
	return err
}

// fileInfo refuses paths that no store could hold: a caller may write them
// elsewhere.
func fileInfo(f protocol.FileInfo) (store.FileInfo, error) {
	when, err := time.Parse(time.RFC3339Nano, f.MTime)
	if err = errors.Join(store.ValidPath(f.Path), err); err != nil {
		// Not wrapped: the path that the caller gave is not to blame.
		return store.FileInfo{}, fmt.Errorf("the daemon describes %+q, mtime %+q: %s", f.Path, f.MTime, err.Error())
	}
	return store.FileInfo{Path: f.Path, Size: f.Size, ModTime: when.UTC(), IsDir: f.IsDir}, nil
}
