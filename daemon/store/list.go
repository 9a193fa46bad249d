package store

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
)

// ListOptions selects the entries of a listing. The zero value lists the immediate children of a
// directory without generated files.
type ListOptions struct {
	// Recursive lists every document below the directory, and no directories.
	Recursive bool
	// Glob keeps the entries whose base name matches the pattern (spec 2, Path rules); empty keeps
	// all. In a listing that is not recursive it also applies to directories.
	Glob string
	// IncludeGenerated keeps entries whose base name begins with an underscore.
	IncludeGenerated bool
}

// list returns the entries of dir, ascending by path (bytewise). Both filters look only at the base
// name of the entry itself: a recursive listing includes documents below a directory named _x, but
// the directory entry _x is hidden. A directory is listed even if all its entries are hidden. A dir
// that does not exist or is a document has no entries.
func (j *journal) list(ctx context.Context, dir string, opts ListOptions) ([]FileInfo, error) {
	if dir != "" {
		if err := ValidPath(dir); err != nil {
			return nil, err
		}
	}
	pattern, err := compileGlob(opts.Glob)
	if err != nil {
		return nil, err
	}
	if g, ok := j.base.(*gate); ok && g.remote != nil && len(j.changes.Docs) == 0 {
		return g.listRemote(ctx, dir, opts)
	}
	entries, err := j.files(ctx, dir)
	if err != nil {
		return nil, err
	}
	if !opts.Recursive {
		entries = children(entries, dir)
	}
	entries = slices.DeleteFunc(entries, func(f FileInfo) bool {
		return !opts.IncludeGenerated && isGenerated(f.Path) ||
			opts.Glob != "" && !pattern.match(path.Base(f.Path))
	})
	slices.SortFunc(entries, func(a, b FileInfo) int { return strings.Compare(a.Path, b.Path) })
	if entries == nil {
		entries = []FileInfo{}
	}
	return entries, nil
}

// children reduces the documents below dir to its immediate children. A child directory has the
// newest time of the documents below it.
func children(files []FileInfo, dir string) []FileInfo {
	start := 0
	if dir != "" {
		start = len(dir) + 1
	}
	entries := map[string]FileInfo{}
	for _, f := range files {
		slash := strings.IndexByte(f.Path[start:], '/')
		if slash >= 0 {
			name := f.Path[:start+slash]
			f = FileInfo{Path: name, IsDir: true, ModTime: latest(entries[name].ModTime, f.ModTime)}
		}
		entries[f.Path] = f
	}
	return slices.Collect(maps.Values(entries))
}
