package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"evalctl/daemon/store"
)

// checkpointEvery bounds how many commits the files of the worktree may be
// ahead of the disk, and with it what Open has to look through after a crash.
const checkpointEvery = 256

// What stateFile says, followed by the commit that the files are on disk for.
// Files that belong to a later commit may be in step or not while it says open.
const (
	stateOpen  = "open"
	stateClean = "clean"
)

// checkpoint makes the files of the worktree durable.
func (b *backend) checkpoint(state string) error {
	if err := b.objects.sync(); err != nil {
		return err
	}
	b.since = 0
	return b.replace(stateFile, []byte(state+" "+b.head.commit.String()+"\n"))
}

// settle leaves everything as other git programs expect it.
func (b *backend) settle() error {
	if err := b.writeIndex(); err != nil {
		return err
	}
	if err := b.checkpoint(stateClean); err != nil {
		return err
	}
	return b.unlockIndex()
}

// repair removes what a crash left behind, restores the files that it can have
// left behind HEAD, and insists on the others being what HEAD says.
func (b *backend) repair() error {
	if err := removeFile(b.git, tempFile); err != nil {
		return err
	}
	crashed, doubtful, err := b.doubtful()
	if err != nil {
		return err
	}
	if crashed {
		// Of refs that the store moves, or that git programs do that it ran.
		for _, ref := range []plumbing.ReferenceName{b.branch, b.tracking(), "refs/stash"} {
			if err := removeFile(b.git, string(ref)+".lock"); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(emptyDir(b.git, stagedDir), emptyDir(b.git, undoDir), b.PruneTree()); err != nil {
		return err
	}
	differing, err := b.compare()
	if err != nil {
		return err
	}
	var restore []change
	var edited []string
	for _, c := range differing {
		if doubtful[c.path] {
			restore = append(restore, c)
		} else {
			edited = append(edited, c.path)
		}
	}
	if err := b.restore(restore); err != nil {
		return err
	}
	if len(edited) == 0 {
		return nil
	}
	if crashed {
		// For git status to show what was changed by hand, and nothing else.
		if err := errors.Join(b.writeIndex(), b.checkpoint(stateClean)); err != nil {
			return err
		}
	}
	first := &store.Error{Op: "compare", Path: edited[0], Err: errors.New("differs")}
	return fmt.Errorf("%d files differ from HEAD; commit or discard what was changed by hand, then open again: %w", len(edited), first)
}

// restore makes files what HEAD says.
func (b *backend) restore(changes []change) error {
	if len(changes) == 0 {
		return nil
	}
	head, err := b.objects.commit(b.head.commit)
	if err != nil {
		return err
	}
	// Deletions first, to make room for directories.
	slices.SortStableFunc(changes, deletionsFirst)
	if err := b.stage(changes, head.Committer.When); err != nil {
		return err
	}
	undo, err := b.apply(changes)
	if err != nil {
		return fmt.Errorf("restore documents after a crash: %w", err)
	}
	return undo.Discard()
}

// doubtful says which files a store that was not closed can have left behind
// HEAD: those of its commits since the last checkpoint. A pull makes a
// checkpoint first, as it may replace commits.
func (b *backend) doubtful() (crashed bool, paths map[string]bool, err error) {
	text, err := b.git.ReadFile(stateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil, nil // not a store until now
	}
	if err != nil {
		return false, nil, err
	}
	state, name, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	if state == stateClean {
		return false, nil, nil
	}
	if state != stateOpen || !plumbing.IsHash(name) {
		return false, nil, fmt.Errorf(".git/%s holds %.60q, not a state and a commit", stateFile, text)
	}
	mark, err := b.objects.tip(plumbing.NewHash(name))
	if err != nil {
		return true, nil, err
	}
	paths = map[string]bool{}
	collect := func(into map[string]bool) func(string, object.TreeEntry, object.TreeEntry) error {
		return func(path string, _, _ object.TreeEntry) error {
			into[path] = true
			return nil
		}
	}
	if err := b.objects.diff(mark.tree, b.head.tree, "", collect(paths)); err != nil {
		return true, nil, err
	}
	// A document that was changed and changed back is in no difference between
	// first and last.
	steps, at := map[string]bool{}, b.head
	for n := 0; n <= checkpointEvery && at.commit != mark.commit && !at.commit.IsZero(); n++ {
		c, err := b.objects.commit(at.commit)
		if err != nil {
			return true, nil, err
		}
		before := tip{}
		if len(c.ParentHashes) > 0 {
			if before, err = b.objects.tip(c.ParentHashes[0]); err != nil {
				return true, nil, err
			}
		}
		if err := b.objects.diff(before.tree, at.tree, "", collect(steps)); err != nil {
			return true, nil, err
		}
		at = before
	}
	if at.commit == mark.commit {
		for path := range steps {
			paths[path] = true
		}
	}
	return true, paths, nil
}

// compare returns what would make the worktree equal to HEAD. It reads every
// file: neither sizes nor times nor the index prove a file unchanged.
func (b *backend) compare() ([]change, error) {
	documents, err := b.objects.changes(plumbing.ZeroHash, b.head.tree)
	if err != nil {
		return nil, err
	}
	want := make(map[string]change, len(documents))
	for _, c := range documents {
		want[c.path] = c
	}
	var differing []change
	err = b.Walk("", func(path string, info fs.FileInfo) error {
		c, ok := want[path]
		delete(want, path)
		if ok && info.Mode().IsRegular() {
			data, err := b.Root.ReadFile(path)
			if err != nil || plumbing.ComputeHash(plumbing.BlobObject, data) == c.hash {
				return err
			}
		}
		c.path = path
		differing = append(differing, c)
		return nil
	})
	for _, c := range want {
		differing = append(differing, c)
	}
	return differing, err
}

// worktreeFile says what a file holds, as the change that would record it.
func (b *backend) worktreeFile(path string) (change, error) {
	info, err := b.Lookup(path)
	if store.IsNotFound(err) || err == nil && info.IsDir() {
		return change{path: path}, nil
	}
	if err != nil {
		return change{}, err
	}
	mode := filemode.Regular
	if info.Mode()&0o100 != 0 {
		mode = filemode.Executable
	}
	data, err := b.Root.ReadFile(path)
	return change{path: path, hash: plumbing.ComputeHash(plumbing.BlobObject, data), mode: mode, data: data}, err
}

// emptyDir removes the files in a directory.
func emptyDir(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	err = errors.Join(err, f.Close())
	for _, name := range names {
		err = errors.Join(err, root.Remove(path.Join(dir, name)))
	}
	return err
}
