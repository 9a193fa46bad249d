package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/daemon/store"
)

var manyCases = []scenario{
	{name: "in the given order", before: "a=1 d/b= d/c=22", readOnly: true, do: check(func(p *probe) {
		p.wantMany(p, "d/c d/b a", "d/c=22 d/b= a=1")
		p.wantMany(p, "a a", "a=1 a=1")
		p.wantMany(p, "", "")
	})},
	{name: "without a document", before: "a=1 d/b=2", readOnly: true,
		do: check(func(p *probe) { p.wantMany(p, "e d a/b a d/e", "e! d! a/b! a=1 d/e!") })},
	{name: "invalid path", before: "a=1", wantErr: store.ErrInvalidPath, do: func(p *probe) error {
		docs, err := p.ReadMany(p.ctx, filesOf("a ../b"))
		if docs != nil || err == nil || !strings.HasPrefix(err.Error(), "read ../b: ") {
			p.Errorf("got %v, %v", docs, err)
		}
		return err
	}},
	{name: "in a batch", before: "a=1 b=2 c=3", after: "b=2 c=34 d=5",
		events: "deleted a, updated c, created d", do: batch(func(p *probe, b *store.Batch) error {
			err := errors.Join(b.Delete(p.ctx, "a"), b.Append(p.ctx, "c", []byte("4")), b.Write(p.ctx, "d", []byte("5")))
			p.wantMany(b, "d a b e c", "d=5 a! b=2 e! c=34")
			p.wantMany(b, "c d", "c=34 d=5")
			p.wantMany(p, "a c d", "a=1 c=3 d!") // not committed
			return err
		})},
	{name: "what was read stays", before: "a=1", after: "a=2", events: "updated a",
		do: func(p *probe) error {
			docs, err := p.ReadMany(p.ctx, filesOf("a"))
			err = errors.Join(err, script("write a 2")(p))
			if got := manyText(docs); got != "a=1" {
				p.Errorf("got %q", got)
			}
			return err
		}},
	{name: "changed since the listing", before: "a=1 b=2 c=3", after: "b=22 c=3 d=4",
		events: "deleted a, updated b, created d", do: func(p *probe) error {
			files := p.listAll()
			err := script("delete a; write b 22; write d 4")(p)
			docs, readErr := p.ReadMany(p.ctx, files)
			if got := manyText(docs); got != "a! b=22 c=3" {
				p.Errorf("got %q", got)
			}
			return errors.Join(err, readErr)
		}},
	{name: "in parts", before: "z=1", do: manyParts, after: "z=1", events: partsEvents()},
}

// listAll describes every document.
func (p *probe) listAll() []store.FileInfo {
	p.Helper()
	files, err := p.List(p.ctx, "", store.ListOptions{Recursive: true, IncludeGenerated: true})
	if err != nil {
		p.Fatal(err)
	}
	return files
}

// filesOf returns files that are not described.
func filesOf(paths string) (files []store.FileInfo) {
	for path := range strings.FieldsSeq(paths) {
		files = append(files, store.FileInfo{Path: path})
	}
	return files
}

// manyText writes documents in the given order; missing ones end with an exclamation mark.
func manyText(docs []store.Document) string {
	var texts []string
	for _, d := range docs {
		text := d.Path + "!"
		if d.Exists {
			text = d.Path + "=" + d.Content
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

// wantMany reads few small documents.
func (p *probe) wantMany(r reader, paths, want string) {
	p.Helper()
	docs, err := r.ReadMany(p.ctx, filesOf(paths))
	if got := manyText(docs); err != nil || got != want {
		p.Errorf("read %s: %q, %v, want %q", paths, got, err, want)
	}
	for _, d := range docs {
		if !d.Exists {
			if d.FileInfo != (store.FileInfo{Path: d.Path}) || d.Content != "" {
				p.Errorf("missing: %+v", d)
			}
			continue
		}
		if info, err := r.Stat(p.ctx, d.Path); info != d.FileInfo || err != nil {
			p.Errorf("read %+v, stat %+v, %v", d.FileInfo, info, err)
		}
	}
}

// readParts reads files and returns the results, and the bytes of the largest part of several
// documents. between is called after each part.
func (p *probe) readParts(files []store.FileInfo, between func()) (docs []store.Document, most int) {
	p.Helper()
	for len(files) > 0 {
		part, err := p.ReadMany(p.ctx, files)
		if err != nil || len(part) == 0 || len(part) > len(files) {
			p.Fatalf("%d documents of %d files, %v", len(part), len(files), err)
		}
		size := 0
		for _, d := range part {
			size += len(d.Content)
		}
		if len(part) > 1 {
			most = max(most, size)
		}
		docs, files = append(docs, part...), files[len(part):]
		between()
	}
	return docs, most
}

const (
	manySmall = 1000 // documents
	manyPart  = 1 << 20
)

var manyLarge = map[string][]byte{
	"large0": bytes.Repeat([]byte("0"), 300<<10), "large1": bytes.Repeat([]byte("1"), 900<<10),
	"large2": bytes.Repeat([]byte("2"), 1200<<10), "large3": {},
}

// manyParts reads large and empty documents among many small ones, once as listed and once without
// descriptions, while one is deleted.
func manyParts(p *probe) error {
	var c, undo store.Commit
	write := func(path string, data []byte) {
		c.Ops = append(c.Ops, store.Op{Kind: store.OpWrite, Path: path, Data: data})
		undo.Ops = append(undo.Ops, store.Op{Kind: store.OpDelete, Path: path})
	}
	for i := range manySmall {
		write(fmt.Sprintf("few/%04d", i), fmt.Append(nil, i))
	}
	for i := range len(manyLarge) {
		path := fmt.Sprint("large", i)
		write(path, manyLarge[path])
	}
	if err := p.Apply(p.ctx, c); err != nil {
		return err
	}
	files := p.listAll()
	docs, most := p.readParts(files, func() {})
	p.compareMany(files, docs, "")
	if most > manyPart {
		p.Errorf("a part has %d bytes, want at most %d", most, manyPart)
	}

	var paths []store.FileInfo // the first one last, and each twice
	for range 2 {
		for _, f := range slices.Backward(files) {
			paths = append(paths, store.FileInfo{Path: f.Path})
		}
	}
	gone := files[0].Path
	docs, _ = p.readParts(paths, func() {
		if err := p.Delete(p.ctx, gone); err != nil && !store.IsNotFound(err) {
			p.Error(err)
		}
	})
	p.compareMany(paths, docs, gone)
	undo.Ops = undo.Ops[1:]
	return p.Apply(p.ctx, undo)
}

// compareMany checks that docs are the documents of manyParts at the given files. The one at gone
// was deleted before it was read.
func (p *probe) compareMany(files []store.FileInfo, docs []store.Document, gone string) {
	p.Helper()
	if len(docs) != len(files) {
		p.Fatalf("%d documents, want %d", len(docs), len(files))
	}
	for i, d := range docs {
		want, large := manyLarge[d.Path]
		if n, small := strings.CutPrefix(d.Path, "few/"); small {
			want = []byte(strings.TrimLeft(n[:3], "0") + n[3:])
		} else if !large {
			want = []byte("1") // z
		}
		if d.Path == gone {
			want = nil
		}
		if d.Path != files[i].Path || d.Exists == (d.Path == gone) || d.Content != string(want) || d.Size != int64(len(want)) {
			p.Fatalf("document %d of %s: %+v, %d bytes %.20q", i, files[i].Path, d.FileInfo, len(d.Content), d.Content)
		}
	}
}

func partsEvents() string {
	var created, deleted []string
	add := func(path string) {
		created, deleted = append(created, "created "+path), append(deleted, "deleted "+path)
	}
	for i := range manySmall {
		add(fmt.Sprintf("few/%04d", i))
	}
	for i := range len(manyLarge) {
		add(fmt.Sprint("large", i))
	}
	return strings.Join(append(created, deleted...), ", ")
}
