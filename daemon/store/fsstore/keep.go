package fsstore

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"evalctl/daemon/store"
)

// replacedDir has the files that were found in the place of documents when an older layout was
// converted.
const replacedDir = stateDir + "/replaced"

// keeper returns where to keep a file found in the place of a document, as a name in the folder of
// the store.
type keeper func(path string) (name string, err error)

// beside is a keeper: it makes a document of the file, so that the owner finds it.
func (b *backend) beside(p string) (string, error) {
	kept, err := b.keptPath(p)
	if err == nil {
		kept, err = b.files.Place(kept, true)
	}
	return documentsDir + "/" + kept, err
}

// aside is the keeper for logs that cannot tell a file changed by hand from the last version of the
// document, which may have been deleted since.
func (b *backend) aside(p string) (string, error) {
	name := replacedDir + "/" + p
	return name, b.home.MkdirAll(path.Dir(name), dirMode)
}

// foundFile is a file or directory in the place of a document, or of a directory of one.
type foundFile struct{ path, file string }

// keep renames files, or directories, that recovery finds in the place of documents. It returns
// once that is durable, because the documents are written to their places next.
func (b *backend) keep(found []foundFile, where keeper, why string) error {
	for _, f := range found {
		kept, err := where(f.path)
		if err == nil {
			err = b.disk.rename(documentsDir+"/"+f.file, kept)
		}
		if err != nil {
			return &store.Error{Op: "rename", Path: f.path, Err: err}
		}
		b.files.Names.Removed(f.file)
		b.logger.Warn("file found in the place of a document kept", "path", f.path, "file", kept, "why", why)
	}
	if len(found) == 0 {
		return nil
	}
	return b.disk.sync()
}

// keptPath returns an unused path beside a document, such as "notes/a (edited by hand, found
// 2026-11-28).md".
func (b *backend) keptPath(p string) (string, error) {
	dir, base := path.Split(p)
	ext := path.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	if stem == "" || len(ext) > 32 {
		stem, ext = base, ""
	}
	mark := " (edited by hand, found " + b.now().UTC().Format(time.DateOnly)
	for n := 1; ; n++ {
		end := mark + ")" + ext
		if n > 1 {
			end = fmt.Sprintf("%s, %d)%s", mark, n, ext)
		}
		kept := b.fit(dir, stem, end)
		_, _, err := b.files.Lookup(kept)
		if err != nil && !store.IsNotFound(err) {
			return "", err
		}
		if _, waits := b.pending.Docs[kept]; err != nil && !waits {
			return kept, nil
		}
	}
}

// fit returns the path of a document in dir whose name is as much of the stem as fits, and the end.
// If nothing fits into dir, the document is in the root.
func (b *backend) fit(dir, stem, end string) string {
	name := stem
	for {
		kept := dir + name + end
		if store.ValidPath(kept) == nil {
			return kept
		}
		if name == "" {
			dir, name = "", stem
			continue
		}
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
}

// obstacle returns the file in the place of a directory of a document, or "". A link is an obstacle
// too, because it can lead out of the folder.
func (b *backend) obstacle(p string) string {
	for dir := p; ; {
		if dir = store.FileDir(dir); dir == "." {
			return ""
		}
		file, err := b.files.Place(dir, true)
		if err != nil {
			continue // another one is above it
		}
		if info, err := b.files.Root.Lstat(file); err == nil && !info.IsDir() {
			return file
		}
	}
}

// obstacles returns the files that are in the way of pending writes: files in the place of their
// directories, and non-empty directories in their own place.
func (b *backend) obstacles() []foundFile {
	found := map[string]bool{}
	for _, doc := range b.waitingFor(false) {
		if file := b.obstacle(doc.path); file != "" {
			found[file] = true
			continue
		}
		file, err := b.files.Place(doc.path, true)
		if err != nil {
			continue // writing it shows why
		}
		if info, err := b.files.Root.Lstat(file); err == nil && info.IsDir() {
			b.disk.prune(file)
			if _, err := b.files.Root.Lstat(file); err == nil {
				found[file] = true
			}
		}
	}
	var out []foundFile
	for _, file := range slices.Sorted(maps.Keys(found)) {
		out = append(out, foundFile{file, file})
	}
	return out
}
