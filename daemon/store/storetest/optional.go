package storetest

import (
	"errors"
	"os"
	"path/filepath"

	"evalctl/daemon/store"
)

// localPathCases are for stores that keep documents in files.
var localPathCases = []scenario{
	{name: "names the file", before: "d/a=1", readOnly: true, do: check(func(p *probe) {
		file := localPath(p, "d/a")
		if data, err := os.ReadFile(file); err != nil || string(data) != "1" || !filepath.IsAbs(file) {
			p.Errorf("%s contains %q, %v", file, data, err)
		}
	})},
	{name: "of a document that does not exist", readOnly: true, do: check(func(p *probe) {
		if _, err := os.Stat(localPath(p, "a")); !os.IsNotExist(err) {
			p.Errorf("got %v", err)
		}
	})},
	{name: "has the content after a batch", before: "a=1", after: "a=22 b=3",
		events: "updated a, created b", do: func(p *probe) error {
			err := script("write a 22; write b 3")(p)
			if data, err := os.ReadFile(localPath(p, "a")); err != nil || string(data) != "22" {
				p.Errorf("the file contains %q, %v", data, err)
			}
			return err
		}},
}

func localPath(p *probe, path string) string {
	p.Helper()
	file, ok := p.LocalPath(path)
	if !ok {
		p.Skip("the backend has no local paths")
	}
	return file
}

// versionCases are for stores with optimistic concurrency.
var versionCases = []scenario{
	{name: "changes with every write", before: "a=1", after: "a=1", events: "updated a", do: func(p *probe) error {
		old := version(p, "a")
		err := p.Write(p.ctx, "a", []byte("1"))
		if now := version(p, "a"); now == old {
			p.Errorf("still %s", now)
		}
		return err
	}},
	{name: "expected", before: "a=1", after: "a=2", events: "updated a", do: func(p *probe) error {
		return p.Apply(p.ctx,
			store.Commit{Ops: []store.Op{{Kind: store.OpWrite, Path: "a", Data: []byte("2"), Expect: version(p, "a")}}})
	}},
	{name: "not the expected one", before: "a=1 b=1", readOnly: true, do: check(func(p *probe) {
		stale := version(p, "a") + "0"
		for _, op := range []store.Op{
			{Kind: store.OpWrite, Path: "a"}, {Kind: store.OpAppend, Path: "a"},
			{Kind: store.OpDelete, Path: "a"}, {Kind: store.OpRename, Path: "a", To: "c"},
		} {
			op.Expect = stale
			err := p.Apply(p.ctx, store.Commit{Ops: []store.Op{{Kind: store.OpWrite, Path: "b"}, op}})
			if !errors.Is(err, store.ErrConflict) {
				p.Errorf("%s: %v", op.Kind, err)
			}
		}
	})},
}

func version(p *probe, path string) string {
	p.Helper()
	info, err := p.Stat(p.ctx, path)
	if err != nil {
		p.Fatal(err)
	}
	if info.Version == "" {
		p.Skip("the backend has no versions")
	}
	return info.Version
}
