package brain

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"evalctl/daemon/search"
	"evalctl/daemon/store"
)

// file is a stored file to be indexed. Source is that of its document, empty
// when the file is yet to be asked for it.
type file struct {
	path, source string
}

// maxRead bounds the files whose contents are held outside the index at a time.
const maxRead = 256

// open makes the index from its snapshot and what differs from it, or from the
// store alone.
func (x *indexer) open(ctx context.Context) error {
	var (
		listed []store.FileInfo
		err    error
		wg     sync.WaitGroup
	)
	wg.Go(func() {
		listed, err = x.store.List(ctx, "", store.ListOptions{Recursive: true, IncludeGenerated: true})
	})
	index, saved := x.loadSnapshot()
	if index == nil {
		index = search.New(x.cfg.options)
	}
	wg.Wait()
	searching := x.cfg.search
	searching.Refused = x.refused
	x.index, x.searcher = index, search.NewSearcher(index, searching)
	if err != nil {
		return fmt.Errorf("build the index: %w", err)
	}
	differ, known := x.compare(listed, saved)
	if known < index.Len() {
		x.forget(listed)
	}
	if err := x.refresh(ctx, differ); err != nil {
		return fmt.Errorf("build the index: %w", err)
	}
	return nil
}

// compare gives the listed files that the index does not hold as they are, and
// how many it holds in whatever version.
func (x *indexer) compare(listed []store.FileInfo, saved time.Time) (differ []file, known int) {
	for _, info := range listed {
		if !search.Indexed(info.Path) {
			continue
		}
		source := sourceOf(info)
		had, ok := x.index.Source(info.Path)
		if ok {
			known++
		}
		if had != source || tooFresh(info, saved) {
			differ = append(differ, file{info.Path, source})
		}
	}
	return differ, known
}

// forget deletes from the index what is not listed.
func (x *indexer) forget(listed []store.FileInfo) {
	byPath := func(info store.FileInfo, path string) int { return strings.Compare(info.Path, path) }
	for _, path := range x.index.Paths() {
		if _, ok := slices.BinarySearchFunc(listed, path, byPath); !ok || !search.Indexed(path) {
			x.index.Delete(path)
			x.counts.saved++
		}
	}
}

// sourceOf identifies a version of a document: any later one has another size or
// time, save for what tooFresh finds.
func sourceOf(info store.FileInfo) string {
	if info.Version != "" {
		return info.Version
	}
	buf := binary.LittleEndian.AppendUint64(make([]byte, 0, 16), uint64(info.Size))
	return string(binary.LittleEndian.AppendUint64(buf, uint64(info.ModTime.UnixNano())))
}

// clockTick is the coarsest step in which file systems count time.
const clockTick = 2 * time.Second

// tooFresh reports whether a document could have been written once more after
// the index was saved, with the same time as before.
func tooFresh(info store.FileInfo, saved time.Time) bool {
	return info.Version == "" && info.ModTime.After(saved.Add(-clockTick))
}

// refresh makes the index agree with what the store holds at the paths now.
func (x *indexer) refresh(ctx context.Context, files []file) error {
	for batch := range slices.Chunk(files, maxRead) {
		docs, gone, err := x.read(ctx, batch)
		if err != nil {
			return err
		}
		x.index.Put(docs...)
		for _, path := range gone {
			x.index.Delete(path)
		}
		x.counts.measured += len(batch)
		x.counts.saved += len(batch)
	}
	return nil
}

// read gives the documents at the paths, and the paths where there is none. It
// reads several at a time.
func (x *indexer) read(ctx context.Context, files []file) (docs []search.Document, gone []string, err error) {
	type answer struct {
		doc search.Document
		ok  bool
		err error
	}
	answers := make([]answer, len(files))
	workers := min(runtime.GOMAXPROCS(0), len(files))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(files); i += workers {
				a := &answers[i]
				if a.doc, a.ok, a.err = x.readOne(ctx, files[i]); a.err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for i, a := range answers {
		switch {
		case a.err != nil:
			return nil, nil, a.err
		case a.ok:
			docs = append(docs, a.doc)
		default:
			gone = append(gone, files[i].path)
		}
	}
	return docs, gone, nil
}

func (x *indexer) readOne(ctx context.Context, f file) (search.Document, bool, error) {
	if !search.Indexed(f.path) {
		return search.Document{}, false, nil
	}
	if f.source == "" {
		// Asked before the content is read: should the file change in between,
		// a snapshot names the older version, and the file is read again.
		info, err := x.store.Stat(ctx, f.path)
		if store.IsNotFound(err) || err == nil && info.IsDir {
			return search.Document{}, false, nil
		}
		if err != nil {
			return search.Document{}, false, err
		}
		f.source = sourceOf(info)
	}
	data, err := x.store.Read(ctx, f.path)
	if store.IsNotFound(err) {
		return search.Document{}, false, nil
	}
	if err != nil {
		return search.Document{}, false, err
	}
	doc, ok := search.Parse(f.path, data)
	doc.Source = f.source
	return doc, ok, nil
}
