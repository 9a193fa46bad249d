package store

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Document is a document with its content, as ReadMany returns it.
type Document struct {
	FileInfo
	Content string // may be the copy that the store itself has in memory
	Exists  bool   // if not, the document has only a Path
	// Err says why an existing document cannot be read, although others can: ErrDamaged or
	// ErrInvalidPath.
	Err error
}

// The most that ReadMany returns, unless a single document is larger.
const (
	manyBytes     = 1 << 20
	manyDocuments = 1024
)

// manyReader is implemented by backends that make a round trip to a server for every call, and by
// those that have the contents in memory.
type manyReader interface {
	// ReadMany reads the documents at the beginning of paths, in their order: at least one, and
	// further ones as long as all together have at most maxBytes.
	ReadMany(ctx context.Context, paths []string, maxBytes int) ([]Document, error)
}

// ReadMany reads the documents at the beginning of files, in their order, and returns an element
// for each: at least one, and further ones as long as all together have at most 1 MiB. A path
// without a document has an element that does not Exist. The caller repeats the call with the rest:
//
//	for len(files) > 0 {
//		docs, err := s.ReadMany(ctx, files)
//		...
//		files = files[len(docs):]
//	}
//
// Only the paths of files are needed, but files from a List are faster to read. Each content
// belongs to one commit, and its FileInfo to this commit or to an earlier one, so a caller that
// compares versions or times never takes old content for new. Different documents can be of
// different commits.
func (s *Store) ReadMany(ctx context.Context, files []FileInfo) ([]Document, error) {
	docs, err := s.view().readMany(ctx, files)
	return docs, wrap("read", "", err)
}

// ReadMany is Store.ReadMany. The elements of pending documents have no Version.
func (b *Batch) ReadMany(ctx context.Context, files []FileInfo) ([]Document, error) {
	if b.done {
		return nil, wrap("read", "", errBatchEnded)
	}
	docs, err := b.j.readMany(ctx, files)
	return docs, wrap("read", "", err)
}

// readMany implements Store.ReadMany.
func (j *journal) readMany(ctx context.Context, files []FileInfo) ([]Document, error) {
	files = firstOf(files)
	var stored []FileInfo // without those that the journal has changed
	for _, f := range files {
		if err := ValidPath(f.Path); err != nil {
			return nil, wrap("read", f.Path, err)
		}
		if _, changed := j.changes.Docs[f.Path]; !changed {
			stored = append(stored, f)
		}
	}
	if len(stored) == 0 {
		return j.merge(files, nil), nil
	}
	docs, err := j.base.readMany(ctx, stored)
	if err != nil || len(stored) == len(files) {
		return docs, err
	}
	return j.merge(files, docs), nil
}

// firstOf returns the files that one call of ReadMany reads, as far as their sizes are known.
func firstOf(files []FileInfo) []FileInfo {
	size := int64(0)
	for i, f := range files {
		size += f.Size
		if i > 0 && size > manyBytes || i == manyDocuments {
			return files[:i]
		}
	}
	return files
}

// merge returns the documents at the beginning of files: pending documents, and the first of the
// others, which stored has.
func (j *journal) merge(files []FileInfo, stored []Document) []Document {
	var docs []Document
	for _, f := range files {
		p, changed := j.changes.Docs[f.Path]
		switch {
		case !changed && len(stored) == 0:
			return docs
		case !changed:
			docs, stored = append(docs, stored[0]), stored[1:]
		case p.deleted:
			docs = append(docs, missing(f.Path))
		default:
			info, _ := p.Now()
			docs = append(docs, Document{FileInfo: info, Content: string(p.data), Exists: true})
		}
	}
	return docs
}

func missing(path string) Document { return Document{FileInfo: FileInfo{Path: path}} }

func (g *gate) readMany(ctx context.Context, files []FileInfo) ([]Document, error) {
	return within(ctx, g, func() ([]Document, error) {
		if m, ok := g.backend.(manyReader); ok {
			return m.ReadMany(ctx, pathsOf(files), manyBytes)
		}
		return readEach(ctx, g.backend, files)
	})
}

func (h *heldTx) readMany(ctx context.Context, files []FileInfo) ([]Document, error) {
	return inTx(ctx, h, func() ([]Document, error) { return h.tx.ReadMany(ctx, pathsOf(files), manyBytes) })
}

func pathsOf(files []FileInfo) []string {
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	return paths
}

// readEach is readMany for backends that read documents one by one. It reads several at a time.
func readEach(ctx context.Context, b Backend, files []FileInfo) ([]Document, error) {
	docs, errs := make([]Document, len(files)), make([]error, len(files))
	var begun, size atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		wg.Go(func() {
			for size.Load() < manyBytes {
				i := int(begun.Add(1)) - 1
				if i >= len(files) {
					return
				}
				if docs[i], errs[i] = readOne(ctx, b, files[i]); errs[i] != nil {
					return
				}
				size.Add(int64(len(docs[i].Content)))
			}
		})
	}
	wg.Wait()
	docs = docs[:min(int(begun.Load()), len(files))]
	for i := range docs {
		if errs[i] != nil {
			return nil, wrap("read", files[i].Path, errs[i])
		}
	}
	return docs, nil
}

// readOne describes the document before it reads the content, which may change in between.
func readOne(ctx context.Context, b Backend, f FileInfo) (doc Document, err error) {
	doc = missing(f.Path)
	if f.ModTime.IsZero() {
		if f, err = b.Stat(ctx, f.Path); IsNotFound(err) || err == nil && f.IsDir {
			return doc, nil
		}
		if err != nil {
			return doc, err
		}
	}
	data, err := b.Read(ctx, f.Path)
	if IsNotFound(err) {
		return doc, nil
	}
	if damaged := errors.Is(err, ErrDamaged); !damaged && (isOfOneFile(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		if s, ok := b.(skipper); ok {
			s.NoteUnread(f.Path, err)
		}
		err = Damaged(err, "the file of %s cannot be read (%v): repair it", quotePath(f.Path), rootCause(err))
	}
	if errors.Is(err, ErrDamaged) || IsInvalidPath(err) {
		return Document{FileInfo: f, Exists: true, Err: wrap("read", f.Path, err)}, nil
	}
	// Not copied: the data are the caller's of Read, and nothing changes them.
	return Document{FileInfo: f, Content: unsafe.String(unsafe.SliceData(data), len(data)), Exists: true}, err
}
