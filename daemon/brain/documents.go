package brain

import (
	"context"
	"encoding/binary"
	"time"

	"evalctl/daemon/search/document"
	"evalctl/daemon/store"
)

// documents reads the documents of a store for the index.
type documents struct{ store *store.Store }

// list describes all files, ascending by path.
func (d documents) list(ctx context.Context) ([]store.FileInfo, error) {
	return d.store.List(ctx, "", store.ListOptions{Recursive: true, IncludeGenerated: true})
}

// sourceOf identifies a version of a document. Any later version differs in size or time, unless
// tooFresh detects it.
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

// part is the result of reading some files.
type part struct {
	docs  []document.Document
	gone  []string // paths without a document
	files int
	err   error // then there is nothing else, and no further part
}

// read sends the documents at files in parts of about 1 MiB, and then closes the channel. It reads
// a part while the receiver works on the one before. If a file changes meanwhile, the Source is
// never newer than the content, so that a snapshot never takes old content for new.
func (d documents) read(ctx context.Context, files []store.FileInfo, parts chan<- part) {
	defer close(parts)
	for len(files) > 0 {
		found, err := d.store.ReadMany(ctx, files)
		p := part{files: len(found), err: err}
		for _, f := range found {
			doc, ok := document.Document{}, false
			if f.Exists && f.Err == nil { // a document that cannot be read stops no other one
				doc, ok = document.Parse(f.Path, f.Content)
			}
			if ok {
				doc.Source = sourceOf(f.FileInfo)
				p.docs = append(p.docs, doc)
			} else {
				p.gone = append(p.gone, f.Path)
			}
		}
		select {
		case parts <- p:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
		files = files[len(found):]
	}
}
