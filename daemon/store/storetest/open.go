package storetest

import (
	"bytes"
	"errors"
	"io"

	"evalctl/daemon/store"
)

var openCases = []scenario{
	{name: "content", before: "d/a=1", readOnly: true,
		do: check(func(p *probe) { p.wantOpened(p.mustOpen("d/a"), "1") })},
	{name: "empty document", before: "a=", readOnly: true,
		do: check(func(p *probe) { p.wantOpened(p.mustOpen("a"), "") })},
	{name: "missing", do: open("a"), wantErr: store.ErrNotFound},
	{name: "below a document", before: "a=1", do: open("a/b"), wantErr: store.ErrNotFound},
	{name: "directory", before: "d/a=1", do: open("d"), wantErr: store.ErrNotFound},
	{name: "invalid path", before: "a=1", do: open("../a"), wantErr: store.ErrInvalidPath},
	{name: "content does not change", before: "a=1", do: func(p *probe) error {
		first := bytes.Repeat([]byte("first"), 1<<18)
		if err := p.Write(p.ctx, "a", first); err != nil {
			return err
		}
		contents := []io.ReadCloser{}
		for range 5 {
			contents = append(contents, p.mustOpen("a"))
		}
		err := errors.Join(p.Append(p.ctx, "a", []byte("2")), p.Write(p.ctx, "b", nil), p.Rename(p.ctx, "b", "a"),
			script("write a x; write b y")(p), p.Delete(p.ctx, "a"), p.Write(p.ctx, "a", []byte("3")))
		for _, content := range contents {
			if p.Shared() {
				p.wantPart(content, first)
			} else {
				p.wantOpened(content, string(first))
			}
		}
		return err
	}, after: "a=3 b=y", events: "updated a, updated a, created b, renamed b>a, " +
		"updated a, created b, deleted a, created a"},
	{name: "outlives the store", before: "a=1", do: func(p *probe) error {
		content := p.mustOpen("a")
		err := p.Close()
		p.wantOpened(content, "1")
		if _, _, err := p.Open(p.ctx, "a"); !store.IsReadOnly(err) {
			p.Errorf("opened a document of a closed store: %v", err)
		}
		return err
	}},
}

func open(path string) func(*probe) error {
	return func(p *probe) error {
		content, size, err := p.Open(p.ctx, path)
		if err != nil && (content != nil || size != 0) {
			p.Errorf("got %v of %d bytes with the error %v", content, size, err)
		}
		return err
	}
}

func (p *probe) mustOpen(path string) io.ReadCloser {
	p.Helper()
	content, size, err := p.Open(p.ctx, path)
	if err != nil {
		p.Fatal(err)
	}
	if info, err := p.Stat(p.ctx, path); err != nil || info.Size != size {
		p.Errorf("opened %d bytes of %+v, %v", size, info, err)
	}
	return content
}

// wantPart reads a document that has been changed since: it must fail, or deliver all of the old
// content.
func (p *probe) wantPart(content io.ReadCloser, want []byte) {
	p.Helper()
	data, err := io.ReadAll(content)
	closed := content.Close()
	if !bytes.HasPrefix(want, data) || err == nil && len(data) < len(want) ||
		err != nil && !errors.Is(err, store.ErrConflict) || closed != nil {
		p.Errorf("%d bytes %.20q, %v, %v, want %d or ErrConflict", len(data), data, err, closed, len(want))
	}
}

func (p *probe) wantOpened(content io.ReadCloser, want string) {
	p.Helper()
	data, err := io.ReadAll(content)
	if err = errors.Join(err, content.Close()); err != nil || string(data) != want {
		p.Errorf("%d bytes %.20q, %v, want %d, %.20q", len(data), data, err, len(want), want)
	}
}
