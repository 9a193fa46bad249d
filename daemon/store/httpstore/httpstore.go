// Package httpstore accesses the documents in a daemon's brain over HTTP.
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

// Open returns a store for an existing brain. It does not send a request. Closing the store does
// not affect the brain or its client.
//
// Other clients can change the brain too, so the result of a read can be out of date at the next
// call. Only mutations through the same store exclude each other. A batch is collected locally and
// sent as one request. It needs a stat or a read request for each path that it uses. A batch that
// exceeds the limits of spec 8 fails before it is sent.
//
// Events arrive over one stream, which is open while there are sinks. They describe the changes of
// all clients, a moment after the change, and are not numbered (store.ChangeEvent.Seq is 0). The
// first Subscribe returns once the stream is open. If the stream breaks, or sends nothing for
// client.Options.Silence, it is reopened. Changes in the meantime are missed (spec 6.2), and
// opts.Logger gets a warning.
//
// Errors wrap a *client.Error and, depending on its status, store.ErrNotFound (404),
// store.ErrInvalidPath (400) or store.ErrConflict (409).
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

// Apply sends a single operation to its own endpoint, unless the commit has fields that only a
// batch request has.
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
			batch.Ops[i].Content = append([]byte{}, op.Data...) // not nil, which means no content
		}
	}
	n, err := b.brain.Commit(ctx, batch)
	if err == nil && n != len(batch.Ops) {
		err = fmt.Errorf("the daemon reports that it committed %d of %d operations", n, len(batch.Ops))
	}
	return sentinel(err)
}

// Close does nothing. The store has already closed the stream.
func (b *backend) Close() error { return nil }

// sentinel wraps err with the store's error for its HTTP status (spec 7.1).
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

// fileInfo converts a description of a document. It rejects invalid paths, because a caller may
// use them as names of files.
func fileInfo(f protocol.FileInfo) (store.FileInfo, error) {
	when, err := time.Parse(time.RFC3339Nano, f.MTime)
	if err = errors.Join(store.ValidPath(f.Path), err); err != nil {
		// Not wrapped, because the invalid path is not the caller's.
		return store.FileInfo{}, fmt.Errorf("the daemon returned path %+q, mtime %+q: %s", f.Path, f.MTime, err.Error())
	}
	return store.FileInfo{Path: f.Path, Size: f.Size, ModTime: when.UTC(), IsDir: f.IsDir}, nil
}
