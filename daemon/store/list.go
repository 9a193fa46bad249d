package store

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
)

// ListOptions selects entries of a listing. The zero value lists the immediate
// children of a directory without generated files.
type ListOptions struct {
	// Recursive lists every document below the directory, and no directories.
	Recursive bool
	// Glob keeps entries whose base name fits the pattern (spec 2, Path rules);
	// empty keeps all. In a listing that is not recursive it applies to
	// directories too.
	Glob string
	// IncludeGenerated keeps entries whose base name begins with an underscore.
	IncludeGenerated bool
}

// list answers a listing, ascending by path (bytewise). Both filters look at
// the base name of the entry itself: a document below a directory named _x is
// listed recursively, while the directory entry _x is hidden. A directory that
// holds only hidden entries is itself listed, since it exists. A dir that is
// missing, or that is a document, has no entries.
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
	if j.base.far != nil && len(j.docs) == 0 {
		return j.base.entries(ctx, dir, opts)
	}
	entries, err := j.files(ctx, dir)
	if err != nil {
		return nil, err
	}
	if !opts.Recursive {
		entries = children(entries, dir)
	}
	entries = slices.DeleteFunc(entries, func(f FileInfo) bool {
		return !opts.IncludeGenerated && IsGenerated(f.Path) ||
			opts.Glob != "" && !pattern.match(path.Base(f.Path))
	})
	slices.SortFunc(entries, func(a, b FileInfo) int { return strings.Compare(a.Path, b.Path) })
	if entries == nil {
		entries = []FileInfo{}
	}
	return entries, nil
}

// children folds the documents below dir into one entry an immediate child.
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
			f = FileInfo{Path: name, IsDir: true, ModTime: later(entries[name].ModTime, f.ModTime)}
		}
		entries[f.Path] = f
	}
	return slices.Collect(maps.Values(entries))
}
