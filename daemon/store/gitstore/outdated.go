package gitstore

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"evalctl/daemon/store"
)

// isOutdated reports whether the file at a path has one of some versions or, after a crash,
// whether the crash can have removed or cut it. Anything else was written by hand.
func (b *backend) isOutdated(path string, versions []plumbing.Hash, crashed bool) (bool, error) {
	if len(versions) == 0 {
		return false, nil
	}
	info, err := b.Root.Lstat(path)
	switch {
	case isAbsent(err), err == nil && info.IsDir():
		return crashed || slices.Contains(versions, plumbing.ZeroHash), nil
	case err != nil || !info.Mode().IsRegular():
		return false, err
	}
	hash, err := b.hashFile(path)
	if isUnreadable(err) {
		return false, nil
	}
	if err != nil || slices.Contains(versions, hash) {
		return err == nil, err
	}
	return crashed && b.isCut(path, info.Size(), versions), nil
}

// isCut reports whether a file may be what a power failure has left of one of some versions.
func (b *backend) isCut(path string, size int64, versions []plumbing.Hash) bool {
	if size == 0 {
		return true // nobody misses it
	}
	for _, hash := range versions {
		data, err := b.objects.blob(hash)
		if err != nil || size > int64(len(data)) {
			continue
		}
		if found, err := b.Root.ReadFile(path); err == nil && store.Torn(found, data) {
			return true
		}
	}
	return false
}

// isUnreadable reports whether an error is due to the file, which may have any content.
func isUnreadable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EIO)
}

// movedPaths returns the versions that the commit mark has of the files that differ in HEAD.
func (b *backend) movedPaths(mark tip) (map[string][]plumbing.Hash, error) {
	before, _, err := b.objects.changes(b.head.tree, mark.tree)
	versions := map[string][]plumbing.Hash{}
	for _, c := range before {
		versions[c.path] = []plumbing.Hash{c.hash}
	}
	return versions, err
}

// uncertainPaths returns the versions of the files that can be out of date after a crash: files
// that the commits since the last checkpoint, mark, have changed. A pull first makes a
// checkpoint, because it may replace these commits.
func (b *backend) uncertainPaths(mark tip) (map[string][]plumbing.Hash, error) {
	versions := map[string][]plumbing.Hash{}
	collect := func(into map[string][]plumbing.Hash) func(string, object.TreeEntry, object.TreeEntry) error {
		return func(path string, old, now object.TreeEntry) error {
			into[path] = append(into[path], old.Hash, now.Hash)
			return nil
		}
	}
	if err := b.objects.diff(mark.tree, b.head.tree, "", collect(versions)); err != nil {
		return nil, err
	}
	// A document that was changed and changed back does not differ between the first and the
	// last commit, so the commits between them are read too.
	steps, at := map[string][]plumbing.Hash{}, b.head
	for n := 0; n <= checkpointEvery && at.commit != mark.commit && !at.commit.IsZero(); n++ {
		c, err := b.objects.commit(at.commit)
		if err != nil {
			return nil, err
		}
		before := tip{}
		if len(c.ParentHashes) > 0 {
			if before, err = b.objects.tip(c.ParentHashes[0]); err != nil {
				return nil, err
			}
		}
		if err := b.objects.diff(before.tree, at.tree, "", collect(steps)); err != nil {
			return nil, err
		}
		at = before
	}
	if at.commit == mark.commit {
		for path, of := range steps {
			versions[path] = append(versions[path], of...)
		}
	}
	return versions, nil
}

// keptEdits returns the changes from HEAD to the files that a pull has merged with edits made by
// hand, if it had moved the branch from mark when it was interrupted. It adds the versions that
// these files can have.
func (b *backend) keptEdits(
	mark tip, kept []plumbing.Hash, versions map[string][]plumbing.Hash,
) (map[string]change, error) {
	if len(kept) != 3 || kept[0] != b.head.commit {
		return nil, nil
	}
	before, _, err := b.objects.changes(mark.tree, kept[1])
	var after []change
	if err == nil {
		after, _, err = b.objects.changes(b.head.tree, kept[2])
	}
	if errors.Is(err, store.ErrDamaged) { // no commit has these trees
		b.Log.Warn("the edits by hand that a pull had merged cannot be told apart any more", "because", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	edits := map[string]change{}
	for _, c := range after {
		edits[c.path] = c
	}
	for _, c := range append(before, after...) {
		versions[c.path] = append(versions[c.path], c.hash)
	}
	return edits, nil
}
