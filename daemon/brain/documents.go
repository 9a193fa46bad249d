package brain

import (
	"context"
	"encoding/binary"
	"runtime"
	"sync"
	"time"

	"evalctl/daemon/search"
	"evalctl/daemon/store"
)

// documents reads the documents of a store for the index.
type documents struct{ store *store.Store }

// file is a stored file to be indexed. Source identifies its version, see sourceOf;
// when it is empty, read asks the store for it.
type file struct {
	path, source string
}

// maxRead limits the files whose contents are held outside the index at a time.
const maxRead = 256

// sharedReaders is how many documents of a server are read at a time, which takes a round trip for
// each. Each read uses a connection, of which other requests need some too.
const sharedReaders = 6

// list describes all files, ascending by path.
func (d documents) list(ctx context.Context) ([]store.FileInfo, error) {
	return d.store.List(ctx, "", store.ListOptions{Recursive: true, IncludeGenerated: true})
}

// sourceOf identifies a version of a document. Any later version differs in size or
// time, except for those that tooFresh detects.
func sourceOf(info store.FileInfo) string {
	if info.Version != "" {
		return info.Version
	}
	buf := binary.LittleEndian.AppendUint64(make([]byte, 0, 16), uint64(info.Size))
	return string(binary.LittleEndian.AppendUint64(buf, uint64(info.ModTime.UnixNano())))
}

// clockTick is the coarsest resolution of file times.
const clockTick = 2 * time.Second

// tooFresh reports whether a document may have been written again, with an
// unchanged time, after the index was saved.
func tooFresh(info store.FileInfo, saved time.Time) bool {
	return info.Version == "" && info.ModTime.After(saved.Add(-clockTick))
}

// read returns the documents at the paths, and the paths without a document. It
// reads several at a time.
func (d documents) read(ctx context.Context, files []file) (docs []search.Document, gone []string, err error) {
	type answer struct {
		doc search.Document
		ok  bool
		err error
	}
	answers := make([]answer, len(files))
	workers := runtime.GOMAXPROCS(0)
	if d.store.Shared() {
		workers = max(workers, sharedReaders)
	}
	workers = min(workers, len(files))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(files); i += workers {
				a := &answers[i]
				if a.doc, a.ok, a.err = d.readOne(ctx, files[i]); a.err != nil {
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

func (d documents) readOne(ctx context.Context, f file) (search.Document, bool, error) {
	if !search.Indexed(f.path) {
		return search.Document{}, false, nil
	}
	if f.source == "" {
		// Before the content is read: if the file changes in between, a snapshot
		// names the older version, and the file is read again.
		info, err := d.store.Stat(ctx, f.path)
		if store.IsNotFound(err) || err == nil && info.IsDir {
			return search.Document{}, false, nil
		}
		if err != nil {
			return search.Document{}, false, err
		}
		f.source = sourceOf(info)
	}
	data, err := d.store.Read(ctx, f.path)
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
