package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/gofrs/flock"

	"evalctl/daemon/store"
)

const (
	gitDir = ".git"

	// Paths relative to gitDir.
	stateDir   = "gitstore"
	schemaFile = stateDir + "/schema"
	lockFile   = stateDir + "/lock"
	stateFile  = stateDir + "/worktree"
	tempFile   = stateDir + "/temp"
	pendingDir = stateDir + "/objects"
	stagedDir  = stateDir + "/staged"
	undoDir    = stateDir + "/undo"

	dirMode    = 0o700
	fileMode   = 0o600
	objectMode = 0o400

	// schemaVersion is increased when older versions of the package cannot read the layout.
	schemaVersion = 1

	defaultBranch = "main"
	defaultRemote = "origin"
)

func open(ctx context.Context, dir string, opts Options) (_ *backend, err error) {
	if err := opts.normalize(); err != nil {
		return nil, err
	}
	root, err := store.OpenDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	b := &backend{opts: opts, remoteLock: make(chan struct{}, 1)}
	b.Root, b.Reserved, b.Judge = root, reservedName, b.judge
	b.Log, b.tracked = opts.Complete().Logger, store.NewOverlay[inHead]()
	b.lock = flock.New(filepath.Join(b.Root.Name(), gitDir, lockFile))
	defer func() {
		if err != nil {
			err = errors.Join(err, b.release())
		}
	}()
	if err := b.openGit(); err != nil {
		return nil, err
	}
	if err := b.openBranch(); err != nil {
		return nil, err
	}
	if err := b.lockIndex(); err != nil {
		return nil, err
	}
	if err := b.prepare(ctx); err != nil {
		return nil, errors.Join(err, b.unlockIndex())
	}
	return b, nil
}

// normalize sets the default of Remote and checks all names. Git cannot take a valid name for a
// flag or a path.
func (o *Options) normalize() error {
	if o.Remote == "" {
		o.Remote = defaultRemote
	}
	if err := plumbing.NewRemoteReferenceName(o.Remote, "x").Validate(); err != nil || o.Remote[0] == '-' {
		return fmt.Errorf("%q is not a valid name of a remote", o.Remote)
	}
	for _, branch := range []string{o.Branch, o.RemoteBranch} {
		if branch != "" && !ValidBranch(branch) {
			return fmt.Errorf("%q is not a valid name of a branch", branch)
		}
	}
	return nil
}

// ValidBranch reports whether git takes a name for that of a branch, and not for a flag or for
// HEAD.
func ValidBranch(name string) bool {
	return name != "@" && !strings.HasPrefix(name, "-") && plumbing.NewBranchReferenceName(name).Validate() == nil
}

// openGit finds or creates the repository, and takes the lock.
func (b *backend) openGit() error {
	isNew, err := b.findGit()
	if err != nil {
		return err
	}
	for _, name := range []string{"", stateDir, pendingDir, stagedDir, undoDir} {
		if err := b.Root.Mkdir(path.Join(gitDir, name), dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if b.git, err = b.Root.OpenRoot(gitDir); err != nil {
		return err
	}
	locked, err := b.lock.TryLock()
	if err == nil && !locked {
		err = store.Locked(nil, "the store is in use by another process or another open store; close it first")
	}
	if err != nil {
		return err
	}
	if _, err := store.ReadSchema(b.Root, path.Join(gitDir, schemaFile), schemaVersion); err != nil {
		return err
	}
	if isNew {
		if err := b.initGit(); err != nil {
			return err
		}
	}
	if b.objects, err = newObjects(filepath.Join(b.Root.Name(), gitDir), b.git); err != nil {
		return err
	}
	// Both are HEAD on a file system that does not keep them apart.
	_, err = b.git.Lstat("head")
	b.folds = err == nil
	return b.checkGit()
}

// findGit reports whether the repository must be created, or whether its creation was interrupted.
// It returns an error for a directory that cannot become a repository.
func (b *backend) findGit() (isNew bool, err error) {
	info, err := b.Root.Lstat(gitDir)
	switch {
	case err == nil && !info.IsDir():
		return false, errors.New(".git is not a directory; linked worktrees and submodules are not supported")
	case err == nil:
		_, err := b.Root.Lstat(path.Join(gitDir, "HEAD"))
		if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if _, err := b.Root.Lstat(path.Join(gitDir, stateDir)); err != nil {
			return b.isEmptyGit(err)
		}
		return true, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	names, err := fs.ReadDir(b.Root.FS(), ".")
	if err != nil || len(names) == 0 {
		return true, err
	}
	if _, err := b.Root.Lstat("objects"); err == nil {
		if _, err := b.Root.Lstat("HEAD"); err == nil {
			return false, errors.New("is a bare repository; clone it, and open the clone")
		}
	}
	return false, errors.New("is neither empty nor a git repository; run git init and git commit in it first")
}

// isEmptyGit returns true if the directory contains only an empty .git, which is created first.
// Otherwise it returns an error that wraps missing.
func (b *backend) isEmptyGit(missing error) (bool, error) {
	for _, dir := range []string{".", gitDir} {
		names, err := fs.ReadDir(b.Root.FS(), dir)
		if err != nil {
			return false, err
		}
		if dir == "." && len(names) > 1 || dir == gitDir && len(names) > 0 {
			return false, fmt.Errorf(".git is not a repository: %w", missing)
		}
	}
	return true, nil
}

// initGit creates HEAD last, because findGit takes a repository without it for an unfinished one.
func (b *backend) initGit() error {
	branch := b.opts.Branch
	if branch == "" {
		branch = defaultBranch
	}
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := b.git.MkdirAll(dir, dirMode); err != nil {
			return err
		}
	}
	if err := b.replaceFile("config",
		[]byte("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n")); err != nil {
		return err
	}
	return b.replaceFile("HEAD", []byte("ref: refs/heads/"+branch+"\n"))
}

// openBranch reads the branch and the commit that HEAD points to.
func (b *backend) openBranch() error {
	ref, err := b.objects.storage.Reference(plumbing.HEAD)
	if err != nil {
		return fmt.Errorf("HEAD: %w", err)
	}
	named := ref.Target()
	if ref.Type() != plumbing.SymbolicReference || !named.IsBranch() {
		return store.Damaged(nil, "HEAD is detached; check out a branch first")
	}
	if err := named.Validate(); err != nil {
		return fmt.Errorf("HEAD points to %q: %w", named, err)
	}
	if b.branch, err = b.follow(named); err != nil {
		return err
	}
	if want := b.opts.Branch; want != "" && named.Short() != want && b.branch.Short() != want {
		return fmt.Errorf("branch %s is checked out, not %s", named.Short(), want)
	}
	commit, err := b.resolve(b.branch)
	if err != nil {
		return err
	}
	b.head, err = b.objects.tip(commit)
	return err
}

// prepare updates the worktree to HEAD and makes the first commit of a new repository.
func (b *backend) prepare(ctx context.Context) error {
	if err := b.repair(); err != nil {
		return err
	}
	if err := b.checkpoint(stateOpen); err != nil {
		return err
	}
	if b.head.commit.IsZero() {
		if err := b.checkUnborn(); err != nil {
			return err
		}
		if err := b.bootstrap(ctx); err != nil {
			return err
		}
	}
	if err := b.replaceFile(schemaFile, fmt.Appendln(nil, schemaVersion)); err != nil {
		return err
	}
	return b.addRemote(ctx)
}

// checkUnborn returns an error if the branch of HEAD should have commits. The store makes the first
// commit before it writes schemaFile, so either HEAD names another branch than before, or the
// branch was deleted.
func (b *backend) checkUnborn() error {
	_, err := b.Root.Lstat(path.Join(gitDir, schemaFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return store.Damaged(nil, "HEAD names the branch %s, which has no commit, but the store had some: check out the branch that "+
		"has them, or restore it", b.branch.Short())
}

// bootstrap makes the first commit, which is empty.
func (b *backend) bootstrap(ctx context.Context) error {
	when := time.Now
	if b.opts.Now != nil {
		when = b.opts.Now
	}
	first := store.Commit{Reason: "create the store", When: when()}
	tree, err := b.objects.edit(plumbing.ZeroHash, nil)
	if err != nil {
		return err
	}
	next, err := b.writeCommit(ctx, tree, &object.Commit{Author: author(first), Message: message(first)}, first.When)
	if err != nil {
		return err
	}
	return b.advance(next, nil, nil, first.When)
}
