package fsstore

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"evalctl/daemon/store"
)

// replacedDir has what was found in the place of documents when an older layout was converted.
const replacedDir = stateDir + "/replaced"

// keeper returns where to keep what is found in the place of a document, as a name in the folder of
// the store.
type keeper func(path string) (name string, err error)

// beside is a keeper: it makes a document of the file, so that the owner finds it.
func (b *backend) beside(p string) (string, error) {
	kept, err := b.keptPath(p)
	return documentsDir + "/" + kept, err
}

// aside is the keeper for logs that do not tell a file that was changed by hand from the last version
// of the document, which can be one that was deleted since.
func (b *backend) aside(p string) (string, error) {
	name := replacedDir + "/" + p
	return name, b.home.MkdirAll(path.Dir(name), dirMode)
}

// keep renames files, or directories, that recovery finds in the place of documents. It returns once
// that is durable, because the documents are written to their places next.
func (b *backend) keep(paths []string, where keeper, why string) error {
	for _, p := range paths {
		kept, err := where(p)
		if err == nil {
			err = b.disk.rename(documentsDir+"/"+p, kept)
		}
		if err != nil {
			return &store.Error{Op: "rename", Path: p, Err: err}
		}
		b.logger.Warn("file found in the place of a document kept", "path", p, "file", kept, "why", why)
	}
	if len(paths) == 0 {
		return nil
	}
	return b.disk.sync()
}

// keptPath returns a path beside a document that is not in use, such as
// "notes/a (edited by hand, found 2026-11-28).md".
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
		_, err := b.files.Root.Lstat(kept)
		if err != nil && !store.IsNotFound(store.NoFile(err)) {
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
		if store.ValidPath(kept) == nil && b.checkNames(kept) == nil {
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

// obstacle returns the file in the place of a directory of a document, "" if there is none. A link is
// one: it can lead out of the folder.
func (b *backend) obstacle(p string) string {
	found := ""
	for dir := store.FileDir(p); dir != "."; dir = store.FileDir(dir) {
		if info, err := b.files.Root.Lstat(dir); err == nil && !info.IsDir() {
			found = dir
		}
	}
	return found
}

// obstacles returns what is in the way of pending writes: files in the place of their directories,
// and directories in their own place that are not empty.
func (b *backend) obstacles() []string {
	var found []string
	for _, doc := range b.waitingFor(false) {
		if file := b.obstacle(doc.path); file != "" {
			found = append(found, file)
			continue
		}
		if info, err := b.files.Root.Lstat(doc.path); err == nil && info.IsDir() {
			b.disk.prune(doc.path)
			if _, err := b.files.Root.Lstat(doc.path); err == nil {
				found = append(found, doc.path)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
