package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"evalctl/daemon/store"
)

// write, appendTo, remove and rename return the function of a case that makes one mutation.
func write(path, content string) func(*probe) error {
	return func(p *probe) error { return p.Write(p.ctx, path, []byte(content)) }
}

func appendTo(path, content string) func(*probe) error {
	return func(p *probe) error { return p.Append(p.ctx, path, []byte(content)) }
}

func remove(path string) func(*probe) error {
	return func(p *probe) error { return p.Delete(p.ctx, path) }
}

func rename(from, to string) func(*probe) error {
	return func(p *probe) error { return p.Rename(p.ctx, from, to) }
}

// check returns the function of a case from checks that report errors themselves.
func check(checks func(*probe)) func(*probe) error {
	return func(p *probe) error {
		checks(p)
		return nil
	}
}

var readCases = []scenario{
	{name: "content", before: "a=1", readOnly: true, do: check(func(p *probe) { p.wantRead(p, "a", "1") })},
	{name: "missing", readOnly: true, do: check(func(p *probe) { p.wantMissing(p, "a") })},
	{name: "missing below a document", before: "a=1", readOnly: true,
		do: check(func(p *probe) { p.wantMissing(p, "a/b") })},
	{name: "missing next to a document", before: "d/a=1", readOnly: true,
		do: check(func(p *probe) { p.wantMissing(p, "d/b") })},
	{name: "directory", before: "d/a=1", readOnly: true, do: check(func(p *probe) { p.wantDir(p, "d") })},
	{name: "prefix of a name is not a directory", before: "dd/a=1", readOnly: true,
		do: check(func(p *probe) { p.wantMissing(p, "d") })},
	{name: "error names operation and path", readOnly: true, do: check(func(p *probe) {
		_, err := p.Read(p.ctx, "notes/a.md")
		if err == nil || !strings.HasPrefix(err.Error(), "read notes/a.md: not found") {
			p.Errorf("got %v", err)
		}
	})},
	{name: "caller owns what it read", before: "a=1", readOnly: true, do: check(func(p *probe) {
		data, err := p.Read(p.ctx, "a")
		if err != nil {
			p.Fatal(err)
		}
		data[0] = 'x'
		p.wantRead(p, "a", "1")
	})},
	{name: "time of a directory is the newest below", before: "d/a=1 d/e/b=2", readOnly: true,
		do: check(func(p *probe) {
			dir, err := p.Stat(p.ctx, "d")
			newest, err2 := p.Stat(p.ctx, "d/e/b")
			if err != nil || err2 != nil || !dir.ModTime.Equal(newest.ModTime) {
				p.Errorf("directory %v, newest document %v, %v, %v", dir.ModTime, newest.ModTime, err, err2)
			}
		})},
}

var writeCases = []scenario{
	{name: "new", do: write("a", "1"), after: "a=1", events: "created a"},
	{name: "new in new directories", do: write("d/e/f/a", "1"), after: "d/e/f/a=1", events: "created d/e/f/a"},
	{name: "new next to another", before: "d/a=1", do: write("d/b", "2"), after: "d/a=1 d/b=2", events: "created d/b"},
	{name: "replace", before: "a=12345", do: write("a", "2"), after: "a=2", events: "updated a"},
	{name: "same content is still an update", before: "a=1", do: write("a", "1"), after: "a=1", events: "updated a"},
	{name: "empty", do: write("a", ""), after: "a=", events: "created a"},
	{name: "nil", do: func(p *probe) error { return p.Write(p.ctx, "a", nil) }, after: "a=", events: "created a"},
	{name: "empty again", before: "a=1", do: write("a", ""), after: "a=", events: "updated a"},
	{name: "generated", do: write("_a", "1"), after: "_a=1", events: "created _a"},
	{name: "hidden name", do: write(".store/schema", "9"), after: ".store/schema=9", events: "created .store/schema"},
	{name: "names of a backend's own files", do: write("documents/journal", "9"),
		after: "documents/journal=9", events: "created documents/journal"},
	{name: "unicode", do: write("ноты/日本語/é.md", "ß"), after: "ноты/日本語/é.md=ß",
		events: "created ноты/日本語/é.md"},
	{name: "paths are case-sensitive", before: "a=1", do: write("A", "2"), after: "A=2 a=1", events: "created A"},
	{name: "long name", do: write(longName(store.MaxSegmentBytes), "1"),
		after: longName(store.MaxSegmentBytes) + "=1", events: "created " + longName(store.MaxSegmentBytes)},
	{name: "deep", do: write(deepPath(), "1"), after: deepPath() + "=1", events: "created " + deepPath()},
	{name: "every byte", do: func(p *probe) error {
		var data []byte
		for i := range 256 {
			data = append(data, byte(i))
		}
		err := p.Write(p.ctx, "a", data)
		p.wantRead(p, "a", string(data))
		return errors.Join(err, p.Delete(p.ctx, "a"))
	}, events: "created a, deleted a"},
	{name: "two mebibytes", do: func(p *probe) error {
		data := make([]byte, 2<<20)
		_, _ = rand.NewChaCha8([32]byte{1}).Read(data) // never fails
		err := p.Write(p.ctx, "a", data)
		got, readErr := p.Read(p.ctx, "a")
		if !bytes.Equal(got, data) {
			p.Errorf("content differs, %d bytes, %v", len(got), readErr)
		}
		return errors.Join(err, p.Delete(p.ctx, "a"))
	}, events: "created a, deleted a"},
	{name: "buffer belongs to the caller", do: func(p *probe) error {
		data := []byte("1")
		err := p.Write(p.ctx, "a", data)
		data[0] = 'x'
		return err
	}, after: "a=1", events: "created a"},
	{name: "on a directory", before: "d/a=1", do: write("d", "2"), wantErr: store.ErrInvalidPath},
	{name: "below a document", before: "a=1", do: write("a/b", "2"), wantErr: store.ErrInvalidPath},
	{name: "far below a document", before: "a=1", do: write("a/b/c/d", "2"), wantErr: store.ErrInvalidPath},
}

var appendCases = []scenario{
	{name: "to nothing", do: appendTo("d/a", "1"), after: "d/a=1", events: "created d/a"},
	{name: "to a document", before: "a=1", do: appendTo("a", "2"), after: "a=12", events: "updated a"},
	{name: "nothing", before: "a=1", do: appendTo("a", ""), after: "a=1", events: "updated a"},
	{name: "nothing to nothing", do: appendTo("a", ""), after: "a=", events: "created a"},
	{name: "many", do: func(p *probe) error {
		for i := range 5 {
			if err := p.Append(p.ctx, "a", fmt.Append(nil, i)); err != nil {
				return err
			}
		}
		return nil
	}, after: "a=01234", events: "created a, updated a, updated a, updated a, updated a"},
	{name: "does not change what was read before", before: "a=1", do: func(p *probe) error {
		old, err := p.Read(p.ctx, "a")
		err = errors.Join(err, p.Append(p.ctx, "a", []byte("2")))
		if string(old) != "1" {
			p.Errorf("the copy changed to %q", old)
		}
		return err
	}, after: "a=12", events: "updated a"},
	{name: "to a directory", before: "d/a=1", do: appendTo("d", "2"), wantErr: store.ErrInvalidPath},
	{name: "below a document", before: "a=1", do: appendTo("a/b", "2"), wantErr: store.ErrInvalidPath},
}

var deleteCases = []scenario{
	{name: "document", before: "a=1 b=2", do: remove("a"), after: "b=2", events: "deleted a"},
	{name: "missing", before: "b=2", do: remove("a"), wantErr: store.ErrNotFound},
	{name: "twice", before: "a=1", do: func(p *probe) error {
		err := p.Delete(p.ctx, "a")
		if again := p.Delete(p.ctx, "a"); !store.IsNotFound(again) {
			p.Errorf("second delete: %v", again)
		}
		return err
	}, events: "deleted a"},
	{name: "directory", before: "d/a=1", do: remove("d"), wantErr: store.ErrNotFound},
	{name: "below a document", before: "a=1", do: remove("a/b"), wantErr: store.ErrNotFound},
	{name: "and write again", before: "a=1", do: func(p *probe) error {
		return errors.Join(p.Delete(p.ctx, "a"), p.Write(p.ctx, "a", []byte("2")))
	}, after: "a=2", events: "deleted a, created a"},
}

var renameCases = []scenario{
	{name: "to a new path", before: "a=1", do: rename("a", "b"), after: "b=1", events: "renamed a>b"},
	{name: "to a new directory", before: "a=1", do: rename("a", "d/e/b"), after: "d/e/b=1", events: "renamed a>d/e/b"},
	{name: "out of its directory", before: "d/e/a=1", do: rename("d/e/a", "a"), after: "a=1",
		events: "renamed d/e/a>a"},
	{name: "over a document", before: "a=1 b=2", do: rename("a", "b"), after: "b=1", events: "renamed a>b"},
	{name: "to itself", before: "a=1", do: rename("a", "a"), after: "a=1", events: "renamed a>a"},
	{name: "empty document", before: "a=", do: rename("a", "b"), after: "b=", events: "renamed a>b"},
	{name: "there and back", before: "a=1", do: func(p *probe) error {
		return errors.Join(p.Rename(p.ctx, "a", "b"), p.Rename(p.ctx, "b", "a"))
	}, after: "a=1", events: "renamed a>b, renamed b>a"},
	{name: "missing", before: "b=2", do: rename("a", "b"), wantErr: store.ErrNotFound},
	{name: "missing to itself", do: rename("a", "a"), wantErr: store.ErrNotFound},
	{name: "directory", before: "d/a=1", do: rename("d", "e"), wantErr: store.ErrNotFound},
	{name: "to a directory", before: "a=1 d/b=2", do: rename("a", "d"), wantErr: store.ErrInvalidPath},
	{name: "to its own directory", before: "d/a=1", do: rename("d/a", "d"), wantErr: store.ErrInvalidPath},
	{name: "below itself", before: "a=1", do: rename("a", "a/b"), wantErr: store.ErrInvalidPath},
	{name: "below a document", before: "a=1 b=2", do: rename("a", "b/c"), wantErr: store.ErrInvalidPath},
	{name: "to an invalid path", before: "a=1", do: rename("a", "../b"), wantErr: store.ErrInvalidPath},
}

// treeCases test that a directory exists while there are documents below it.
var treeCases = []scenario{
	{name: "disappears with its last document", before: "d/e/a=1", do: func(p *probe) error {
		err := p.Delete(p.ctx, "d/e/a")
		p.wantMissing(p, "d/e")
		p.wantMissing(p, "d")
		return err
	}, events: "deleted d/e/a"},
	{name: "stays while there is a document", before: "d/a=1 d/e/b=2", do: func(p *probe) error {
		err := p.Delete(p.ctx, "d/e/b")
		p.wantDir(p, "d")
		p.wantMissing(p, "d/e")
		return err
	}, after: "d/a=1", events: "deleted d/e/b"},
	{name: "replaced by a document", before: "d/a=1", do: func(p *probe) error {
		return errors.Join(p.Delete(p.ctx, "d/a"), p.Write(p.ctx, "d", []byte("2")))
	}, after: "d=2", events: "deleted d/a, created d"},
	{name: "replaces a document", before: "a=1", do: func(p *probe) error {
		return errors.Join(p.Delete(p.ctx, "a"), p.Write(p.ctx, "a/b", []byte("2")))
	}, after: "a/b=2", events: "deleted a, created a/b"},
	{name: "not created by a failed write", before: "a=1", do: func(p *probe) error {
		if err := p.Write(p.ctx, "a/b/c", nil); !store.IsInvalidPath(err) {
			p.Errorf("got %v", err)
		}
		p.wantMissing(p, "a/b")
		return nil
	}, readOnly: true},
	{name: "disappears with a rename", before: "d/e/a=1", do: func(p *probe) error {
		err := p.Rename(p.ctx, "d/e/a", "f/a")
		p.wantMissing(p, "d")
		p.wantDir(p, "f")
		return err
	}, after: "f/a=1", events: "renamed d/e/a>f/a"},
	{name: "exists with only generated files", before: "d/_a=1", readOnly: true,
		do: check(func(p *probe) { p.wantDir(p, "d") })},
}

func longName(n int) string { return string(bytes.Repeat([]byte("n"), n)) }

func deepPath() string { return strings.Repeat("d/", store.MaxFolders) + "a" }
