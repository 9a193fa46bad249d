package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/daemon/store"
)

// batch returns the function of a case that runs fn inside a batch.
func batch(fn func(*probe, *store.Batch) error) func(*probe) error {
	return func(p *probe) error {
		return p.Batch(p.ctx, store.BatchOptions{Reason: "why"}, func(b *store.Batch) error { return fn(p, b) })
	}
}

// script returns the function of a case that makes operations in a batch, for example
// "write a 1; append a 2; rename a b; delete b".
func script(steps string) func(*probe) error {
	return batch(func(p *probe, b *store.Batch) error { return runScript(p, b, steps) })
}

func runScript(p *probe, b *store.Batch, steps string) error {
	for _, op := range parseOps(steps) {
		if err := mutate(p.ctx, b, op); err != nil {
			return err
		}
	}
	return nil
}

// writer is a store, or a batch in one.
type writer interface {
	Write(ctx context.Context, path string, data []byte) error
	Append(ctx context.Context, path string, data []byte) error
	Delete(ctx context.Context, path string) error
	Rename(ctx context.Context, from, to string) error
}

func mutate(ctx context.Context, w writer, op store.Op) error {
	switch op.Kind {
	case store.OpWrite:
		return w.Write(ctx, op.Path, op.Data)
	case store.OpAppend:
		return w.Append(ctx, op.Path, op.Data)
	case store.OpDelete:
		return w.Delete(ctx, op.Path)
	}
	return w.Rename(ctx, op.Path, op.To)
}

func parseOps(steps string) []store.Op {
	var ops []store.Op
	for step := range strings.SplitSeq(steps, "; ") {
		f := append(strings.Fields(step), "")
		op := store.Op{Kind: store.OpKind(f[0]), Path: f[1]}
		if op.Kind == store.OpRename {
			op.To = f[2]
		} else if op.Kind != store.OpDelete {
			op.Data = []byte(f[2])
		}
		ops = append(ops, op)
	}
	return ops
}

var errStop = errors.New("stop")

var batchCases = []scenario{
	{name: "nothing", before: "a=1", readOnly: true, do: batch(func(*probe, *store.Batch) error { return nil })},
	{name: "one write", do: script("write a 1"), after: "a=1", events: "created a"},
	{name: "several", before: "b=0", do: script("write c 1; write b 2; append a 3"), after: "a=3 b=2 c=1",
		events: "created c, updated b, created a"},
	{name: "write then delete", do: script("write a 1; delete a"), readOnly: true},
	{name: "write then delete of a stored document", before: "a=0", do: script("write a 1; delete a"),
		events: "deleted a"},
	{name: "delete then write", before: "a=0", do: script("delete a; write a 1"), after: "a=1", events: "updated a"},
	{name: "write then write", do: script("write a 1; write a 2"), after: "a=2", events: "created a"},
	{name: "order of the last mutations", do: script("write a 1; write b 2; write a 3"), after: "a=3 b=2",
		events: "created b, created a"},
	{name: "append after write", do: script("write a 1; append a 2; append a 3"), after: "a=123", events: "created a"},
	{name: "append after append", before: "a=0", do: script("append a 1; append a 2"), after: "a=012",
		events: "updated a"},
	{name: "append after delete", before: "a=0", do: script("delete a; append a 1"), after: "a=1", events: "updated a"},
	{name: "append to nothing", do: script("append a 1"), after: "a=1", events: "created a"},
	{name: "rename", before: "a=1", do: script("rename a b"), after: "b=1", events: "created b, deleted a"},
	{name: "rename over a document", before: "a=1 b=2", do: script("rename a b"), after: "b=1",
		events: "updated b, deleted a"},
	{name: "rename of a pending document", do: script("write a 1; rename a b"), after: "b=1", events: "created b"},
	{name: "rename to itself", before: "a=1", do: script("rename a a"), after: "a=1", events: "updated a"},
	{name: "rename there and back", before: "a=1", do: script("rename a b; rename b a"), after: "a=1",
		events: "updated a"},
	{name: "swap", before: "a=1 b=2", do: script("rename a t; rename b a; rename t b"), after: "a=2 b=1",
		events: "updated a, updated b"},
	{name: "rename then append to the old path", before: "a=1",
		do: script("rename a b; append a 2; append b 3"), after: "a=2 b=13", events: "updated a, created b"},
	{name: "directory for document", before: "a=1", do: script("delete a; write a/b 2"), after: "a/b=2",
		events: "deleted a, created a/b"},
	{name: "document for directory", before: "a/b=1 a/c=2", do: script("delete a/b; delete a/c; write a 3"),
		after: "a=3", events: "deleted a/b, deleted a/c, created a"},
	{name: "document, directory, document", before: "a=1",
		do: script("delete a; write a/b 2; delete a/b; write a 3"), after: "a=3", events: "updated a"},
	{name: "directory not yet empty", before: "a/b=1 a/c=2", do: script("delete a/b; write a 3"),
		wantErr: store.ErrInvalidPath},
	{name: "below a pending document", do: script("write a 1; write a/b 2"), wantErr: store.ErrInvalidPath},
	{name: "on a pending directory", do: script("write a/b 1; write a 2"), wantErr: store.ErrInvalidPath},
	{name: "delete a pending directory", do: script("write a/b 1; delete a"), wantErr: store.ErrNotFound},
	{name: "delete missing", before: "b=1", do: script("write a 1; delete c"), wantErr: store.ErrNotFound},
	{name: "delete twice", before: "a=1", do: script("delete a; delete a"), wantErr: store.ErrNotFound},
	{name: "rename missing", do: script("write a 1; rename c d"), wantErr: store.ErrNotFound},
	{name: "rename deleted", before: "a=1", do: script("delete a; rename a d"), wantErr: store.ErrNotFound},
	{name: "error changes nothing", before: "a=1", wantErr: errStop, do: batch(func(p *probe, b *store.Batch) error {
		return errors.Join(runScript(p, b, "write a 2; write b 3; rename a c"), errStop)
	})},
	{name: "panic changes nothing", before: "a=1", readOnly: true, do: check(func(p *probe) {
		defer func() {
			if recover() == nil {
				p.Error("the panic was not passed on")
			}
		}()
		_ = batch(func(p *probe, b *store.Batch) error {
			err := runScript(p, b, "write a 2; write b 3")
			panic(err)
		})(p)
	})},
	{name: "continues after a failed operation", before: "a=1", after: "a=1 b=2", events: "created b",
		do: batch(func(p *probe, b *store.Batch) error {
			if err := b.Delete(p.ctx, "c"); !store.IsNotFound(err) {
				p.Errorf("got %v", err)
			}
			if err := b.Write(p.ctx, "a/b", nil); !store.IsInvalidPath(err) {
				p.Errorf("got %v", err)
			}
			return b.Write(p.ctx, "b", []byte("2"))
		})},
	{name: "reads its own changes", before: "a=1 b=2 c=3", after: "a=1 b=4 d=5",
		events: "updated b, deleted c, created d", do: batch(func(p *probe, b *store.Batch) error {
			err := runScript(p, b, "write b 4; delete c; write d 5")
			p.wantRead(b, "a", "1")
			p.wantRead(b, "b", "4")
			p.wantMissing(b, "c")
			p.wantRead(b, "d", "5")
			return err
		})},
	{name: "pending changes are invisible outside", before: "a=1", after: "a=2 b=3",
		events: "updated a, created b", do: batch(func(p *probe, b *store.Batch) error {
			err := runScript(p, b, "write a 2; write b 3")
			p.wantRead(p, "a", "1")
			p.wantMissing(p, "b")
			return err
		})},
	{name: "stat of directories", before: "d/a=1 e/a=2", after: "e/a=2 f/g/a=3",
		events: "deleted d/a, created f/g/a", do: batch(func(p *probe, b *store.Batch) error {
			err := runScript(p, b, "delete d/a; write f/g/a 3")
			p.wantMissing(b, "d")
			p.wantDir(b, "e")
			p.wantDir(b, "f")
			p.wantDir(b, "f/g")
			return err
		})},
	{name: "caller owns what it read", after: "a=1", events: "created a",
		do: batch(func(p *probe, b *store.Batch) error {
			err := b.Write(p.ctx, "a", []byte("1"))
			data, err2 := b.Read(p.ctx, "a")
			copy(data, "x")
			return errors.Join(err, err2)
		})},
	{name: "buffer belongs to the caller", after: "a=1", events: "created a",
		do: batch(func(p *probe, b *store.Batch) error {
			data := []byte("1")
			err := b.Write(p.ctx, "a", data)
			data[0] = 'x'
			return err
		})},
	{name: "list", before: sorted(listDocs),
		after: sorted("_n=1 a/new.md=2 q/r=3 " +
			strings.NewReplacer("a.md=1 ", "", "a/c/d.md=5 ", "").Replace(listDocs)),
		events: "created _n, created a/new.md, created q/r, deleted a.md, deleted a/c/d.md", do: batch(listInBatch)},
	{name: "batch is unusable afterwards", after: "a=1", events: "created a", do: func(p *probe) error {
		var kept *store.Batch
		err := batch(func(p *probe, b *store.Batch) error {
			kept = b
			return b.Write(p.ctx, "a", []byte("1"))
		})(p)
		if err := kept.Write(p.ctx, "a", nil); err == nil {
			p.Error("write was accepted")
		}
		if _, err := kept.Read(p.ctx, "a"); err == nil {
			p.Error("read was accepted")
		}
		return err
	}},
	{name: "1024 documents", do: func(p *probe) error {
		ops := make([]store.Op, 1024)
		for i := range ops {
			ops[i] = store.Op{Kind: store.OpWrite, Path: fmt.Sprintf("d%d/%d", i%7, i), Data: fmt.Append(nil, i)}
		}
		err := batch(func(p *probe, b *store.Batch) error {
			for _, op := range ops {
				if err := mutate(p.ctx, b, op); err != nil {
					return err
				}
			}
			return nil
		})(p)
		p.wantRead(p, "d0/1022", "1022")
		for i := range ops {
			ops[i] = store.Op{Kind: store.OpDelete, Path: ops[i].Path}
		}
		return errors.Join(err, p.Apply(p.ctx, store.Commit{Ops: ops}))
	}, events: manyEvents()},
}

func listInBatch(p *probe, b *store.Batch) error {
	err := runScript(p, b, "write _n 1; write a/new.md 2; write q/r 3; delete a.md; delete a/c/d.md")
	p.wantList(b, "", store.ListOptions{}, "a/ a0 h/ q/ z/")
	p.wantList(b, "", store.ListOptions{IncludeGenerated: true}, "_g/ _n _top a/ a0 h/ q/ z/")
	p.wantList(b, "a", store.ListOptions{}, "a/b.md a/new.md")
	p.wantList(b, "a/c", store.ListOptions{}, "")
	p.wantList(b, "q", store.ListOptions{}, "q/r")
	p.wantList(b, "", store.ListOptions{Recursive: true, Glob: "*.md"}, "_g/x.md a/b.md a/new.md")
	p.wantList(b, "", store.ListOptions{Recursive: true}, "_g/x.md _g/y.txt a/b.md a/new.md a0 q/r z/.hidden")
	return err
}

func manyEvents() string {
	var created, deleted []string
	for i := range 1024 {
		path := fmt.Sprintf("d%d/%d", i%7, i)
		created = append(created, "created "+path)
		deleted = append(deleted, "deleted "+path)
	}
	return strings.Join(append(created, deleted...), ", ")
}

// sorted sorts documents by path, as dump does.
func sorted(docs string) string {
	fields := strings.Fields(docs)
	slices.SortFunc(fields, func(a, b string) int {
		a, _, _ = strings.Cut(a, "=")
		b, _, _ = strings.Cut(b, "=")
		return strings.Compare(a, b)
	})
	return strings.Join(fields, " ")
}
