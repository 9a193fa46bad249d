package storetest

import (
	"strings"

	"evalctl/daemon/store"
)

// apply returns the function of a case that applies operations, which are written as for script.
func apply(steps string) func(*probe) error {
	return func(p *probe) error {
		return p.Apply(p.ctx, store.Commit{Reason: "why", Ops: parseOps(steps)})
	}
}

var applyCases = []scenario{
	{name: "nothing", before: "a=1", readOnly: true,
		do: func(p *probe) error { return p.Apply(p.ctx, store.Commit{}) }},
	{name: "in order", before: "b=0", do: apply("write a 1; append a 2; write b 3; delete b"),
		after: "a=12", events: "created a, updated a, updated b, deleted b"},
	{name: "rename is one event", before: "a=1", do: apply("rename a d/b"), after: "d/b=1", events: "renamed a>d/b"},
	{name: "rename chain", before: "a=1", do: apply("rename a b; rename b c; append c 2"), after: "c=12",
		events: "renamed a>b, renamed b>c, updated c"},
	{name: "swap", before: "a=1 b=2", do: apply("rename a t; rename b a; rename t b"), after: "a=2 b=1",
		events: "renamed a>t, renamed b>a, renamed t>b"},
	{name: "write then delete has both events", do: apply("write a 1; delete a"), events: "created a, deleted a"},
	{name: "delete then write", before: "a=0", do: apply("delete a; write a 1"), after: "a=1",
		events: "deleted a, created a"},
	{name: "append twice to nothing", do: apply("append a 1; append a 2"), after: "a=12",
		events: "created a, updated a"},
	{name: "to itself", before: "a=1", do: apply("rename a a"), after: "a=1", events: "renamed a>a"},
	{name: "document, directory, document", before: "a=1",
		do: apply("delete a; write a/b 2; delete a/b; write a 3"), after: "a=3",
		events: "deleted a, created a/b, deleted a/b, created a"},
	{name: "last one fails", before: "a=1", do: apply("write a 2; write b 3; delete c"), wantErr: store.ErrNotFound},
	{name: "first one fails", before: "a=1", do: apply("delete c; write a 2"), wantErr: store.ErrNotFound},
	{name: "invalid path", before: "a=1", do: apply("write b 2; write ../c 3"), wantErr: store.ErrInvalidPath},
	{name: "invalid destination", before: "a=1", do: apply("write b 2; rename a /c"), wantErr: store.ErrInvalidPath},
	{name: "below a document", before: "a=1", do: apply("write b 2; append b/c 3"), wantErr: store.ErrInvalidPath},
	{name: "error names the operation", before: "a=1", readOnly: true, do: check(func(p *probe) {
		err := apply("write a 2; delete c")(p)
		if err == nil || !strings.HasSuffix(err.Error(), "op 1: delete c: not found") {
			p.Errorf("got %v", err)
		}
	})},
	{name: "unknown kind", before: "a=1", readOnly: true, do: check(func(p *probe) {
		if err := apply("write b 2; truncate a")(p); err == nil || !strings.Contains(err.Error(), "truncate") {
			p.Errorf("got %v", err)
		}
	})},
}
