package memory

import (
	"path"
	"strings"
	"unicode/utf8"

	"evalctl/daemon/convert"
	"evalctl/daemon/store"
	"evalctl/internal/printable"
)

// ingestDir is the folder of documents whose file was named without one.
const ingestDir = "raw/documents"

// ingestPath returns the path of a file's document. The folder is the given one, or raw/documents.
// The name is the given one, with .md appended unless the file is Markdown with that extension.
// Leading underscores are removed, because they would hide the document. A name without room for a
// suffix (see withSuffix) is cut. The given path must be a valid path.
func ingestPath(given string, kind convert.Kind) (string, error) {
	if err := store.ValidPath(given); err != nil {
		return "", &store.Error{Op: "ingest", Path: given, Err: err}
	}
	dir, name := path.Split(given)
	if dir == "" {
		dir = ingestDir + "/"
	}
	ext := markdownExt
	if kind == convert.Markdown && strings.EqualFold(path.Ext(name), markdownExt) {
		ext = path.Ext(name)
		name = strings.TrimSuffix(name, ext)
	}
	if name = strings.TrimLeft(name, "_"); name == "" {
		name = "file"
	}
	name = cutName(dir, name, len(ext)+longestSuffix)
	target := dir + name + ext
	if err := store.ValidPath(target); err != nil {
		return "", &store.Error{Op: "ingest", Path: given, Err: err}
	}
	return target, CheckWritable(target)
}

// longestSuffix is the longest that withSuffix adds: a hash.
const longestSuffix = 1 + 64

// cutName shortens a name so that reserve bytes can follow it in a valid path.
func cutName(dir, name string, reserve int) string {
	most := min(store.MaxSegmentBytes, store.MaxPathChars-utf8.RuneCountInString(dir)) - reserve
	if most <= 0 {
		return name
	}
	return printable.Prefix(name, most)
}

// withSuffix appends a suffix to the name of a document.
func withSuffix(name, suffix string) string {
	if suffix == "" {
		return name
	}
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + "-" + suffix + ext
}
