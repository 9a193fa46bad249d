package store

import (
	"bytes"
	"context"
	"errors"
)

// BatchOptions describes a batch. Its events carry Reason. The other fields are for backends that
// keep a history.
type BatchOptions struct {
	Reason  string
	Message string
	Author  string
	Email   string
}

// Batch collects mutations in memory and answers reads as if they had been made (spec 4.3). It is
// valid only inside the function that gets it, and MUST NOT be used by two goroutines at once.
type Batch struct {
	j    *journal
	done bool
}

// Batch runs fn and, if fn returns nil, commits its mutations. They are merged into one operation
// for each path, in the order of each path's last mutation. Each operation emits one event. If fn
// fails, panics or changes nothing, the store is left unchanged.
//
// Other mutations wait until the batch has been committed, so documents that fn has read are still
// current at the commit. fn MUST mutate only through the Batch: a mutation of the Store would
// deadlock.
func (s *Store) Batch(ctx context.Context, opts BatchOptions, fn func(*Batch) error) (err error) {
	release, err := s.lockWrites(ctx)
	if err != nil {
		return wrap("batch", "", err)
	}
	defer func() { release(err) }()
	plan, end := s.plan()
	defer end()
	b := &Batch{j: newJournal(plan, s.now)}
	defer func() { b.done = true }()
	if err := fn(b); err != nil {
		return err
	}
	ops, events := b.j.merged()
	c := Commit{Reason: opts.Reason, Message: opts.Message, Author: opts.Author, Email: opts.Email, Ops: ops}
	return wrap("batch", "", s.commit(ctx, plan, c, events))
}

var errBatchEnded = errors.New("batch has ended")

// Read is Store.Read.
func (b *Batch) Read(ctx context.Context, path string) ([]byte, error) {
	if err := b.checkUsable(path); err != nil {
		return nil, wrap("read", path, err)
	}
	data, err := b.j.read(ctx, path)
	return bytes.Clone(data), wrap("read", path, err)
}

// Write is Store.Write.
func (b *Batch) Write(ctx context.Context, path string, data []byte) error {
	return b.mutate(ctx, Op{Kind: OpWrite, Path: path, Data: bytes.Clone(data)})
}

// Append is Store.Append.
func (b *Batch) Append(ctx context.Context, path string, data []byte) error {
	return b.mutate(ctx, Op{Kind: OpAppend, Path: path, Data: data})
}

// Delete is Store.Delete.
func (b *Batch) Delete(ctx context.Context, path string) error {
	return b.mutate(ctx, Op{Kind: OpDelete, Path: path})
}

// Rename is Store.Rename. It is committed as a write of the destination and a delete of the
// source, each with its own event.
func (b *Batch) Rename(ctx context.Context, from, to string) error {
	return b.mutate(ctx, Op{Kind: OpRename, Path: from, To: to})
}

// Exists is Store.Exists.
func (b *Batch) Exists(ctx context.Context, path string) (bool, error) {
	if err := b.checkUsable(path); err != nil {
		return false, wrap("exists", path, err)
	}
	return b.j.exists(ctx, path)
}

// Stat is Store.Stat. A pending document has the time of its last mutation in the batch.
func (b *Batch) Stat(ctx context.Context, path string) (FileInfo, error) {
	if err := b.checkUsable(path); err != nil {
		return FileInfo{}, wrap("stat", path, err)
	}
	info, err := b.j.stat(ctx, path)
	return info, wrap("stat", path, err)
}

// List is Store.List.
func (b *Batch) List(ctx context.Context, dir string, opts ListOptions) ([]FileInfo, error) {
	if b.done {
		return nil, wrap("list", dir, errBatchEnded)
	}
	entries, err := b.j.list(ctx, dir, opts)
	return entries, wrap("list", dir, err)
}

func (b *Batch) mutate(ctx context.Context, op Op) error {
	if b.done {
		return wrap(string(op.Kind), op.Path, errBatchEnded)
	}
	_, err := b.j.apply(ctx, op)
	return wrap(string(op.Kind), op.Path, err)
}

func (b *Batch) checkUsable(path string) error {
	if b.done {
		return errBatchEnded
	}
	return ValidPath(path)
}
