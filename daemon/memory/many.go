package memory

import (
	"context"

	"evalctl/daemon/store"
)

// manyReader is a *store.Store or a *store.Batch.
type manyReader interface {
	ReadMany(ctx context.Context, files []store.FileInfo) ([]store.Document, error)
}

// readEach calls use for each of the files in their order, also for one that does not exist. An
// error of use ends it.
func readEach(ctx context.Context, r manyReader, files []store.FileInfo, use func(store.Document) error) error {
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
