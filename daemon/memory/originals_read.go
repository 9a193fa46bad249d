package memory

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"evalctl/daemon/frontmatter"
	"evalctl/daemon/store"
)

// readAll reads all records. It marks records whose document is not at its path, and originals
// without a record.
func (o *originals) readAll(ctx context.Context, st *store.Store) error {
	files, err := st.List(ctx, originalsDir, store.ListOptions{Recursive: true, IncludeGenerated: true})
	if err != nil {
		return err
	}
	missing := map[string][]string{}
	var records []store.FileInfo
	for _, f := range files {
		if _, _, ok := parseRecordPath(f.Path); ok {
			records = append(records, f)
		} else if record := recordOfOriginal(f.Path); record != "" && !hasPath(files, record) {
			missing[record] = nil
		}
	}
	if err := o.readRecords(ctx, st, records, missing); err != nil {
		return err
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
	if err := o.readRecords(ctx, st, filesAt(records...), missing); err != nil {
		o.mu.Lock()
		o.foreign = append(o.foreign, records...)
		o.mu.Unlock()
		return err
	}
	return o.markMissing(ctx, st, missing)
}

// readRecords reads the records at files. It adds those whose document is not at its path to
// missing.
func (o *originals) readRecords(
	ctx context.Context, st *store.Store, files []store.FileInfo, missing map[string][]string,
) error {
	documents := map[string]string{} // by path of the record
	err := readEach(ctx, st, files, func(d store.Document) error {
		if d.Err != nil {
			return nil // whatever it says, nothing is missing for sure
		}
		record := parseIngestRecord(d.Path, []byte(d.Content))
		if record.Document == "" { // damaged
			missing[d.Path] = nil
			return nil
		}
		o.add(record.Document, d.Path) // first, so that no event is missed
		documents[d.Path] = record.Document
		return nil
	})
	if err != nil || len(documents) == 0 {
		return err
	}
	exist, err := existing(ctx, st, slices.Collect(maps.Values(documents)))
	if err != nil {
		return err
	}
	for record, document := range documents {
		if !exist[document] {
			missing[record] = nil
		}
	}
	return nil
}

// maxLookups is the largest number of documents that are looked up one by one. Each lookup is a
// round trip to a database. Listing all documents of a brain takes about as long as some dozens of
// them.
const maxLookups = 64

// existing returns the names that are in the store.
func existing(ctx context.Context, st *store.Store, names []string) (exist map[string]bool, err error) {
	exist = map[string]bool{}
	if len(names) <= maxLookups {
		for _, name := range names {
			if exist[name], err = st.Exists(ctx, name); err != nil {
				return nil, err
			}
		}
		return exist, nil
	}
	files, err := st.List(ctx, "", store.ListOptions{Recursive: true, IncludeGenerated: true})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if exist[name] = hasPath(files, name); exist[name] {
			continue
		}
		// A listing leaves out folders that cannot be read.
		if exist[name], err = st.Exists(ctx, name); err != nil {
			return nil, err
		}
	}
	return exist, nil
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
	files = slices.DeleteFunc(files, func(f store.FileInfo) bool { return !frontmatter.IsMarkdown(f.Path) })
	return readEach(ctx, st, files, func(d store.Document) error {
		if d.Err != nil {
			return d.Err // it may be the one that is looked for
		}
		if !strings.Contains(d.Content, keySourceSHA256) {
			return nil
		}
		sha256, kind := ingestedFrom(d.Content)
		if len(sha256) != 64 {
			return nil
		}
		record := recordPath(sha256, kind)
		if paths, ok := missing[record]; ok {
			missing[record] = append(paths, d.Path)
		}
		return nil
	})
}
