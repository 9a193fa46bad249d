package memory

import (
	"context"

	"evalctl/daemon/store"
)

// documentReader is a *store.Store or a *store.Batch.
type documentReader interface {
	Read(ctx context.Context, path string) ([]byte, error)
	List(ctx context.Context, dir string, opts store.ListOptions) ([]store.FileInfo, error)
	ReadMany(ctx context.Context, files []store.FileInfo) ([]store.Document, error)
}

// readEach calls use for each of the files in their order, including missing ones. An error of use
// ends it. A document that exists but cannot be read has an Err and no content.
func readEach(ctx context.Context, r documentReader, files []store.FileInfo, use func(store.Document) error) error {
	for len(files) > 0 {
		docs, err := r.ReadMany(ctx, files)
		if err != nil {
			return err
		}
		for _, d := range docs {
			if err := use(d); err != nil {
				return err
			}
		}
		files = files[len(docs):]
	}
	return nil
}

// filesAt returns files that are not described.
func filesAt(paths ...string) []store.FileInfo {
	files := make([]store.FileInfo, len(paths))
	for i, path := range paths {
		files[i].Path = path
	}
	return files
}
