package gitstore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"evalctl/daemon/store"
)

// change is the change of one document. It deletes the document if hash is zero.
type change struct {
	path string
	old  plumbing.Hash // zero for a new document; not always set
	hash plumbing.Hash
	mode filemode.FileMode
	data []byte // content of the blob hash, or nil if it has not been read
	// absent is for the index: the file is in the commit, but is not laid out in the worktree.
	absent bool
}

func (c change) isDelete() bool { return c.hash.IsZero() }

// edit applies changes to a tree and returns the new tree. It reads and writes only the
// directories that contain a change.
func (o *objects) edit(tree plumbing.Hash, changes []change) (plumbing.Hash, error) {
	sorted := slices.SortedFunc(slices.Values(changes), func(a, b change) int { return cmp.Compare(a.path, b.path) })
	edited, err := o.editDir(tree, 0, sorted)
	if err == nil && edited.IsZero() {
		return o.putTree(nil)
	}
	return edited, err
}

// editDir edits the tree of a directory. prefix is the length of its path including the slash. It
// returns the zero hash if the directory becomes empty.
func (o *objects) editDir(tree plumbing.Hash, prefix int, changes []change) (plumbing.Hash, error) {
	entries, err := o.tree(tree)
	if err != nil {
		return tree, err
	}
	// Deletions come first, because a directory may replace a document or the other way round.
	below := map[string][]change{}
	for _, c := range changes {
		name, _, deeper := strings.Cut(c.path[prefix:], "/")
		if deeper {
			below[name] = append(below[name], c)
		} else if c.isDelete() {
			delete(entries, name)
		}
	}
	for name, inner := range below {
		old := entries[name]
		if old.Mode != filemode.Dir && old.Mode != filemode.Empty {
			return tree, inTheWay(inner[0].path, name)
		}
		sub, err := o.editDir(old.Hash, prefix+len(name)+1, inner)
		if err != nil {
			return tree, err
		}
		entries[name] = object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: sub}
		if sub.IsZero() {
			delete(entries, name)
		}
	}
	for _, c := range changes {
		if name := c.path[prefix:]; !c.isDelete() && !strings.Contains(name, "/") {
			if old := entries[name]; old.Mode != filemode.Empty && !isFile(old.Mode) {
				return tree, inTheWay(c.path, name)
			}
			entries[name] = object.TreeEntry{Name: name, Mode: c.mode, Hash: c.hash}
		}
	}
	if len(entries) == 0 {
		return plumbing.ZeroHash, nil
	}
	list := slices.Collect(maps.Values(entries))
	sort.Sort(object.TreeEntrySorter(list))
	return o.putTree(list)
}

func inTheWay(path, name string) error {
	return &store.Error{Op: "write", Path: path, Err: fmt.Errorf("%w: the repository has something else at %q that is not a document", store.ErrInvalidPath, name)}
}

// diff calls visit for every entry that differs between two trees, except directories that can have
// documents. If a tree lacks the entry, its mode there is filemode.Empty.
func (o *objects) diff(
	from, to plumbing.Hash, dir string, visit func(path string, old, now object.TreeEntry) error,
) error {
	if from == to {
		return nil
	}
	old, err := o.tree(from)
	if err != nil {
		return err
	}
	now, err := o.tree(to)
	if err != nil {
		return err
	}
	names := maps.Clone(old)
	maps.Copy(names, now)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := old[name], now[name]
		// Files have no slash in their names, but a hostile tree can: with the backslash the name
		// is not the path of a document either.
		path := dir + strings.ReplaceAll(name, "/", `\`)
		if (a.Mode == filemode.Dir || b.Mode == filemode.Dir) && checkEntry(path, filemode.Dir) == nil {
			var sub [2]plumbing.Hash
			if a.Mode == filemode.Dir {
				sub[0], a = a.Hash, object.TreeEntry{}
			}
			if b.Mode == filemode.Dir {
				sub[1], b = b.Hash, object.TreeEntry{}
			}
			if err := o.diff(sub[0], sub[1], path+"/", visit); err != nil {
				return err
			}
		}
		if a.Hash != b.Hash || a.Mode != b.Mode {
			if err := visit(path, a, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// changes returns the changes of documents from one tree to another, deletions first, and the
// changes of other entries.
func (o *objects) changes(from, to plumbing.Hash) (list, others []change, err error) {
	err = o.diff(from, to, "", func(path string, old, now object.TreeEntry) error {
		c := change{path: path, old: old.Hash, hash: now.Hash, mode: now.Mode}
		if now.Mode != filemode.Empty && checkEntry(path, now.Mode) != nil {
			others = append(others, c)
			c.hash, c.mode = plumbing.ZeroHash, filemode.Empty
		}
		if old.Mode != filemode.Empty && checkEntry(path, old.Mode) != nil {
			others = append(others, change{path: path, old: old.Hash})
			c.old = plumbing.ZeroHash
		}
		if c.old != c.hash || !c.isDelete() {
			list = append(list, c)
		}
		return nil
	})
	slices.SortStableFunc(list, deletionsFirst)
	return list, others, err
}

// deletionsFirst orders changes so that they can be applied one after the other.
func deletionsFirst(a, b change) int {
	switch {
	case a.isDelete() == b.isDelete():
		return cmp.Compare(a.path, b.path)
	case a.isDelete():
		return -1
	}
	return 1
}

// checkEntry returns an error if an entry of a tree cannot be a document.
func checkEntry(path string, mode filemode.FileMode) error {
	if mode == filemode.Dir {
		path += "/x"
	} else if !isFile(mode) {
		return fmt.Errorf("%w: is a link or a submodule", store.ErrInvalidPath)
	}
	if err := store.ValidPath(path); err != nil {
		return err
	}
	return reserved(path)
}
