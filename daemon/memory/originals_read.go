package memory

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"evalctl/daemon/frontmatter"
	"evalctl/daemon/store"
)

// readAll reads all records. It marks those whose document is not where they say, and originals
// without a record.
func (o *originals) readAll(ctx context.Context, st *store.Store) error {
	files, err := st.List(ctx, originalsDir, store.ListOptions{Recursive: true, IncludeGenerated: true})
	if err != nil {
		return err
	}
	missing := map[string][]string{}
	for _, f := range files {
		if _, _, ok := parseRecordPath(f.Path); !ok {
			if record := recordOfOriginal(f.Path); record != "" && !hasPath(files, record) {
				missing[record] = nil
			}
			continue
		}
		if err := o.readOne(ctx, st, f.Path, missing); err != nil {
			return err
		}
	}
	return o.markMissing(ctx, st, missing)
}

// readForeign reads the records that other processes have written.
func (o *originals) readForeign(ctx context.Context, st *store.Store) error {
	o.mu.Lock()
	records := o.foreign
	o.foreign = nil
	o.mu.Unlock()
	missing := map[string][]string{}
	for i, record := range records {
		if err := o.readOne(ctx, st, record, missing); err != nil {
			o.mu.Lock()
			o.foreign = append(o.foreign, records[i:]...)
			o.mu.Unlock()
			return err
		}
	}
	return o.markMissing(ctx, st, missing)
}

// readOne reads the record at a path, and adds it to missing if its document is not where it says.
func (o *originals) readOne(ctx context.Context, st *store.Store, name string, missing map[string][]string) error {
	record, err := readIngestRecord(ctx, st, name)
	if err != nil {
		return err
	}
	if record.Document == "" { // damaged
		missing[name] = nil
		return nil
	}
	o.add(record.Document, name) // first, so that no event is missed
	exists, err := st.Exists(ctx, record.Document)
	if err != nil {
		return err
	}
	if !exists {
		missing[name] = nil
	}
	return nil
}

// markMissing marks records whose document is not where they say.
func (o *originals) markMissing(ctx context.Context, st *store.Store, missing map[string][]string) error {
	if err := findMoved(ctx, st, missing); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for record, candidates := range missing {
		o.markStale(record, candidates)
	}
	return nil
}

// recordOfOriginal returns the path of the record that an original must have, or "".
func recordOfOriginal(name string) string {
	ext := path.Ext(name)
	sha256 := strings.TrimSuffix(strings.TrimPrefix(path.Base(name), "_"), ext)
	for kind := range originalExtensions {
		if len(sha256) == 64 && originalPath(sha256, kind) == name {
			return recordPath(sha256, kind)
		}
	}
	return ""
}

// hasPath reports whether files, ascending by path, has one of that path.
func hasPath(files []store.FileInfo, name string) bool {
	_, found := slices.BinarySearchFunc(files, name, func(f store.FileInfo, name string) int {
		return strings.Compare(f.Path, name)
	})
	return found
}

// findMoved adds to each missing record the paths of the documents of its file. It reads all
// documents, because one may have been moved while no daemon ran.
func findMoved(ctx context.Context, st *store.Store, missing map[string][]string) error {
	if len(missing) == 0 {
		return nil
	}
	files, err := st.List(ctx, "", store.ListOptions{Recursive: true})
	if err != nil {
		return err
	}
	for _, f := range files {
		if !frontmatter.IsMarkdown(f.Path) {
			continue
		}
		data, err := st.Read(ctx, f.Path)
		if store.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		if !bytes.Contains(data, []byte(keySourceSHA256)) {
			continue
		}
		sha256, kind := ingestedFrom(data)
		if len(sha256) != 64 {
			continue
		}
		if record := recordPath(sha256, kind); isMissing(missing, record) {
			missing[record] = append(missing[record], f.Path)
		}
	}
	return nil
}

func isMissing(missing map[string][]string, record string) bool {
	_, ok := missing[record]
	return ok
}
