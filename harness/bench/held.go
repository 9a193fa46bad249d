package bench

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"evalctl/harness/bench/record"
	"evalctl/harness/bench/work"
	"evalctl/harness/dataset"
)

// holdings are the sizes of a daemon's memory, disk and index, nil if unknown.
type holdings struct{ rss, disk, index *int64 }

func (a *arm) held(ctx context.Context) (h holdings) {
	if e, ok := work.Wire(a.session.Service()); ok && !a.target.Null {
		h.index = work.IndexBytes(ctx, e)
	}
	if p := a.session.Process(); p != nil {
		if u, ok := p.Usage(); ok {
			h.rss = &u.RSS
		}
	}
	if a.home != "" {
		h.disk = sizeOf(a.home)
	}
	return h
}

// sizeOf returns the bytes of the files in a folder, nil if it cannot be read.
func sizeOf(dir string) *int64 {
	sum := int64(0)
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return ignoreMissing(err)
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return &sum
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the daemon has replaced it meanwhile
	}
	return err
}

// filled returns the time and space taken by writing documents.
func (a *arm) filled(ctx context.Context, size int, docs []dataset.Doc, took time.Duration, before holdings) record.Fill {
	n := a.bench.Plan.Brains
	f := record.Fill{Target: a.index, Size: size, Documents: len(docs) * n, Seconds: took.Seconds()}
	for _, d := range docs {
		f.Bytes += int64(len(d.Data) * n)
	}
	after := a.held(ctx)
	more := func(before, after *int64) *int64 {
		if before == nil || after == nil {
			return nil
		}
		d := max(0, *after-*before) // memory may be used that the daemon had already
		return &d
	}
	f.RSSBytes, f.DiskBytes, f.IndexBytes = more(before.rss, after.rss), more(before.disk, after.disk), more(before.index, after.index)
	return f
}
