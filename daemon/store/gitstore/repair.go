package gitstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"evalctl/daemon/store"
)

// checkpointEvery is the number of commits after which the files of the worktree are synced to
// disk. It limits the commits that Open has to read after a crash.
const checkpointEvery = 256

// The first word of stateFile. It is followed by the last commit whose files are known to be on
// disk. While the state is open, files that later commits have changed may have any of their
// versions. The state is moved after another program has moved the branch: the files still
// belong to the commit. While a pull changes files that were edited by hand, its commit follows,
// and the trees of the files as they were before and as they will be.
const (
	stateOpen  = "open"
	stateClean = "clean"
	stateMoved = "moved"
)

// checkpoint syncs the files of the worktree to disk and records that in stateFile.
func (b *backend) checkpoint(state string, kept ...plumbing.Hash) error {
	if err := b.objects.sync(); err != nil {
		return err
	}
	b.sinceCheckpoint = 0
	text := state + " " + b.head.commit.String()
	for _, hash := range kept {
		text += " " + hash.String()
	}
	return b.replaceFile(stateFile, []byte(text+"\n"))
}

// closeCleanly leaves the repository in the state that other git programs expect.
func (b *backend) closeCleanly() error {
	if err := b.writeIndex(); err != nil {
		return err
	}
	if err := b.checkpoint(stateClean); err != nil {
		return err
	}
	return b.unlockIndex()
}

// repair removes the remains of a crash and restores the files that the crash, or a move of the
// branch, can have left out of date. It returns an error if any other file differs from HEAD.
func (b *backend) repair() error {
	if err := removeFile(b.git, tempFile); err != nil {
		return err
	}
	state, mark, kept, err := b.readState()
	if err != nil {
		return err
	}
	var versions map[string][]plumbing.Hash
	var edits map[string]change
	switch state {
	case stateOpen:
		if versions, err = b.uncertainPaths(mark); err == nil {
			edits, err = b.keptEdits(mark, kept, versions)
		}
	case stateMoved:
		versions, err = b.movedPaths(mark)
	}
	if err != nil {
		return err
	}
	if state == stateOpen {
		// The locks of refs that the store moves, or that git programs move for it.
		for _, ref := range []plumbing.ReferenceName{b.branch, b.tracking(), "refs/stash"} {
			if err := removeFile(b.git, string(ref)+".lock"); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(emptyDir(b.git, pendingDir), emptyDir(b.git, stagedDir), emptyDir(b.git, undoDir),
		b.PruneTree()); err != nil {
		return err
	}
	differing, unfit, err := b.diffWorktree()
	if err != nil {
		return err
	}
	var restore []change
	var edited []string
	for _, c := range differing {
		outdated, err := b.isOutdated(c.path, versions[c.path], state == stateOpen)
		if err != nil {
			return err
		}
		edit, isEdit := edits[c.path]
		switch {
		case outdated && isEdit:
			restore, edited = append(restore, edit), append(edited, c.path)
			b.Log.Info("file of a document set to what a pull has merged with an edit", "path", c.path)
		case outdated:
			restore = append(restore, c)
			b.Log.Info("file of a document set to the last commit", "path", c.path, "deleted", c.isDelete())
		case !c.isDelete(): // others are not tracked by git
			edited = append(edited, c.path)
		}
	}
	if err := b.noteOthers(unfit); err != nil {
		return err
	}
	if err := b.restore(restore); err != nil {
		return err
	}
	if state == stateOpen {
		// So that git status shows only changes made by hand.
		if err := b.writeIndex(); err != nil {
			return err
		}
	}
	if len(edited) == 0 {
		return nil
	}
	if state == stateOpen {
		if err := b.checkpoint(stateClean); err != nil {
			return err
		}
	}
	slices.Sort(edited)
	named := edited[:min(len(edited), 5)]
	first := &store.Error{Op: "compare", Path: edited[0], Err: errors.New("differs")}
	return store.Damaged(first, "%d files differ from HEAD (%q); commit or discard the changes, then reopen the store",
		len(edited), named)
}

// restore sets files to their content in HEAD.
func (b *backend) restore(changes []change) error {
	if len(changes) == 0 {
		return nil
	}
	head, err := b.objects.commit(b.head.commit)
	if err != nil {
		return err
	}
	// Deletions first, because a directory may replace a file.
	slices.SortStableFunc(changes, deletionsFirst)
	if err := b.stage(changes, head.Committer.When); err != nil {
		return err
	}
	var staged []string
	for i, c := range changes {
		if !c.isDelete() {
			staged = append(staged, numberedFile(stagedDir, i))
		}
	}
	// Before they are in place: if this fails, the next Open must not take them for being on
	// disk.
	if err := b.objects.sync(staged...); err != nil {
		return err
	}
	undo, err := b.apply(changes)
	if err != nil {
		return fmt.Errorf("restore documents after a crash: %w", err)
	}
	return undo.Discard()
}

// readState returns the first word of stateFile, its commit, and the rest. All are zero for a
// repository that was not a store until now, and the commit is zero before the first one.
func (b *backend) readState() (state string, mark tip, kept []plumbing.Hash, err error) {
	text, err := b.git.ReadFile(stateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", tip{}, nil, nil
	}
	if err != nil {
		return "", tip{}, nil, err
	}
	state, rest, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	name, rest, _ := strings.Cut(rest, " ")
	for _, hash := range strings.Fields(rest) {
		kept = append(kept, plumbing.NewHash(hash))
	}
	commit := plumbing.NewHash(name)
	if b.head.commit.IsZero() && !commit.IsZero() {
		return "", tip{}, nil, store.Damaged(nil,
			"the branch %s is missing, although it had the commit %s: restore it with git branch %[1]s %[2]s",
			b.branch.Short(), commit)
	}
	switch {
	case state == stateClean:
		return state, tip{}, nil, nil
	case state != stateOpen && state != stateMoved || !plumbing.IsHash(name):
		return "", tip{}, nil, store.Damaged(nil, ".git/%s contains %.60q, not a state and a commit", stateFile, text)
	}
	mark, err = b.objects.tip(commit)
	return state, mark, kept, err
}

// diffWorktree returns the changes that would make the documents of the worktree equal to HEAD, and
// the changes that the worktree cannot have. It reads every file, because neither size nor time nor
// the index proves that a file is unchanged. An unreadable file counts as unchanged. It sets
// tracked.
func (b *backend) diffWorktree() (differing, unfit []change, err error) {
	documents, _, err := b.objects.changes(plumbing.ZeroHash, b.head.tree)
	if err != nil {
		return nil, nil, err
	}
	want := make(map[string]change, len(documents))
	for _, c := range documents {
		want[c.path] = c
	}
	err = b.Walk("", func(path string, info fs.FileInfo) error {
		c, ok := want[path]
		delete(want, path)
		if ok && info.Mode().IsRegular() {
			same, err := b.isSame(c)
			if err != nil || same {
				return err
			}
		}
		c.path = path
		differing = append(differing, c)
		return nil
	})
	for _, c := range want {
		_, lookErr := b.Root.Lstat(c.path)
		if c.absent = b.folds && lookErr == nil || store.IsNameError(lookErr); c.absent {
			unfit = append(unfit, c)
		} else {
			differing = append(differing, c)
		}
	}
	b.track(documents)
	b.track(unfit)
	return differing, unfit, err
}

// isSame reports whether the file of a document has the document's content, as far as it can be
// read.
func (b *backend) isSame(c change) (bool, error) {
	hash, err := b.hashFile(c.path)
	if isUnreadable(err) {
		b.NoteUnread(c.path, err)
		return true, nil
	}
	return hash == c.hash, err
}

// hashFile returns the name of a blob with the content of a file, which can be large.
func (b *backend) hashFile(path string) (plumbing.Hash, error) {
	file, err := b.Root.Open(path)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	hasher := plumbing.NewHasher(plumbing.BlobObject, info.Size())
	_, err = io.Copy(hasher, file)
	return hasher.Sum(), err
}

// worktreeFile returns the change that would record the current content of a file.
func (b *backend) worktreeFile(path string) (change, error) {
	_, info, err := b.Lookup(path)
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
