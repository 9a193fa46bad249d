package gitstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"evalctl/daemon/store"
)

// ErrStashed is the store.ErrConflict of a pull that succeeded, but had to stash edits made by
// hand.
var ErrStashed = fmt.Errorf("%w: git pull restored remote changes but local stash pop conflicted", store.ErrConflict)

// errMerge is returned when both sides have changed the same lines.
var errMerge = errors.New("merge conflict")

// integrate rebases the branch on upstream and returns the events of the changes.
//
// The rebase uses only objects, and git merge-tree where both sides have changed a tree. An
// interrupted git pull --rebase would leave the worktree between two commits. It would also leave
// the rebased commits unsigned.
func (b *backend) integrate(ctx context.Context, upstream plumbing.Hash) (_ []store.ChangeEvent, err error) {
	defer b.objects.discardIf(&err)
	if b.broken != nil {
		return nil, b.broken
	}
	b.objects.refresh()
	behind, err := b.missingCommits(ctx, b.head.commit, upstream)
	if err != nil || len(behind) == 0 {
		return nil, err
	}
	next, err := b.rebase(ctx, upstream)
	if err != nil {
		return nil, err
	}
	changes, others, err := b.objects.changes(b.head.tree, next.tree)
	if err != nil {
		return nil, err
	}
	changes, unfit := b.fitting(changes)
	events := changeEvents(changes)
	committed := slices.Concat(changes, unfit)
	changes, kept, conflict, err := b.keepEdits(ctx, next, changes)
	if err != nil {
		return nil, err
	}
	// Repair finds the files that a crash can have affected through the commits since the last
	// checkpoint. The rebase replaces those commits.
	if err := b.checkpoint(stateOpen, kept...); err != nil {
		return nil, err
	}
	tipCommit, err := b.objects.commit(next.commit)
	if err != nil {
		return nil, err
	}
	if err := b.advance(next, changes, committed, tipCommit.Committer.When); err != nil {
		return nil, err
	}
	if len(others) > 0 || len(unfit) > 0 {
		if err := b.noteOthers(unfit); err != nil {
			return events, b.markBroken(err)
		}
		b.index = nil // a split index has changes of documents only
		b.updateIndex(nil)
	}
	if err := b.checkpoint(stateOpen); err != nil {
		return events, b.markBroken(err)
	}
	return events, conflict
}

// missingCommits lists the commits that are reachable from want and not from have, oldest first.
// flags are passed to git rev-list.
func (b *backend) missingCommits(
	ctx context.Context, have, want plumbing.Hash, flags ...string,
) ([]plumbing.Hash, error) {
	args := append(flags, "--reverse", "--topo-order", want.String(), "^"+have.String(), "--")
	out, err := b.runGit(ctx, "rev-list", args...)
	if err != nil {
		return nil, err
	}
	var list []plumbing.Hash
	for name := range bytes.FieldsSeq(out) {
		list = append(list, plumbing.NewHash(string(name)))
	}
	return list, nil
}

// rebase copies the commits that upstream does not have on top of it, and returns the last one. It
// omits merges, commits whose changes upstream already has, and the empty first commit of a
// repository that was created here.
func (b *backend) rebase(ctx context.Context, upstream plumbing.Hash) (tip, error) {
	at, err := b.objects.tip(upstream)
	if err != nil {
		return tip{}, err
	}
	picks, err := b.missingCommits(ctx, upstream, b.head.commit, "--no-merges")
	if err != nil {
		return tip{}, err
	}
	for _, hash := range picks {
		c, err := b.objects.commit(hash)
		if err != nil {
			return tip{}, err
		}
		before := tip{tree: emptyTree}
		if len(c.ParentHashes) == 0 && c.TreeHash == emptyTree {
			continue
		}
		if len(c.ParentHashes) > 0 {
			if before, err = b.objects.tip(c.ParentHashes[0]); err != nil {
				return tip{}, err
			}
		}
		tree, err := b.mergeTrees(ctx, before.tree, at.tree, c.TreeHash)
		if errors.Is(err, errMerge) {
			return tip{}, fmt.Errorf("%w: git pull conflicted while rebasing on %s", store.ErrConflict, b.remoteName())
		}
		if err != nil {
			return tip{}, err
		}
		if tree == at.tree && c.TreeHash != before.tree {
			continue
		}
		rebased := &object.Commit{
			Author: c.Author, Message: c.Message, Encoding: c.Encoding,
			ParentHashes: []plumbing.Hash{at.commit},
		}
		if at, err = b.writeCommit(ctx, tree, rebased, time.Now()); err != nil {
			return tip{}, err
		}
	}
	return at, nil
}

// mergeTrees applies the changes from base to theirs to ours and returns the resulting tree. It
// fails with errMerge if that is not possible.
func (b *backend) mergeTrees(ctx context.Context, base, ours, theirs plumbing.Hash) (plumbing.Hash, error) {
	switch {
	case base == theirs || ours == theirs:
		return ours, nil
	case base == ours:
		return theirs, nil
	}
	// merge-tree takes two commits and finds their merge base, so the trees need commits.
	var sides [3]plumbing.Hash
	var err error
	for i, tree := range []plumbing.Hash{base, ours, theirs} {
		if sides[i], err = b.putUnsigned(tree, sides[:min(i, 1)], "side of a merge", time.Unix(0, 0)); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	if err := b.objects.sync(); err != nil { // for git to read
		return plumbing.ZeroHash, err
	}
	out, err := b.runGit(ctx, "merge-tree", "--write-tree", "--no-messages", sides[1].String(), sides[2].String())
	if failed, ok := errors.AsType[*programError](err); ok && failed.code == 1 {
		return plumbing.ZeroHash, errMerge
	}
	name := strings.TrimSpace(string(out))
	if err == nil && !plumbing.IsHash(name) {
		err = fmt.Errorf("git merge-tree returned %.60q, not a tree", out)
	}
	return plumbing.NewHash(name), err
}

// putUnsigned writes a commit that is on no branch.
func (b *backend) putUnsigned(tree plumbing.Hash, parents []plumbing.Hash, message string, when time.Time) (plumbing.Hash, error) {
	signature := object.Signature{Name: committerName, Email: committerEmail, When: when.UTC()}
	data, err := encodeCommit(&object.Commit{
		Author: signature, Committer: signature, TreeHash: tree, ParentHashes: parents, Message: message + "\n",
	})
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return b.objects.put(plumbing.CommitObject, data)
}

// changeEvents returns the events for changes, in ascending order of paths.
func changeEvents(changes []change) []store.ChangeEvent {
	var events []store.ChangeEvent
	for _, c := range changes {
		ev := store.ChangeEvent{Kind: store.Updated, Path: c.path}
		switch {
		case c.isDelete():
			ev.Kind = store.Deleted
		case c.old.IsZero():
			ev.Kind = store.Created
		}
		events = append(events, ev)
	}
	slices.SortFunc(events, func(a, b store.ChangeEvent) int { return cmp.Compare(a.Path, b.Path) })
	return events
}

// keepEdits finds the files in changes that were edited by hand, and merges the edits into the
// changes. If that is not possible, it stashes the edits and returns the changes unmodified, with a
// conflict for Pull to return. If there are edits, the checkpoint needs kept.
func (b *backend) keepEdits(ctx context.Context, next tip, changes []change) (
	_ []change, kept []plumbing.Hash, conflict, err error,
) {
	var edits []change
	for _, c := range changes {
		file, err := b.worktreeFile(c.path)
		if err != nil {
			return nil, nil, nil, err
		}
		if file.hash == c.old {
			continue
		}
		if !file.isDelete() {
			if _, err := b.objects.put(plumbing.BlobObject, file.data); err != nil {
				return nil, nil, nil, err
			}
		}
		edits = append(edits, file)
	}
	if len(edits) == 0 {
		return changes, nil, nil, nil
	}
	edited, err := b.objects.edit(b.head.tree, edits)
	if err != nil {
		return nil, nil, nil, err
	}
	merged, err := b.mergeTrees(ctx, b.head.tree, next.tree, edited)
	if errors.Is(err, errMerge) {
		kept = []plumbing.Hash{next.commit, edited, next.tree}
		return changes, kept, ErrStashed, b.stash(ctx, edited)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	changes, err = b.mergeEdits(merged, next, changes)
	return changes, []plumbing.Hash{next.commit, edited, merged}, nil, err
}

// mergeEdits returns changes with the content of the merged tree instead of next's.
func (b *backend) mergeEdits(merged plumbing.Hash, next tip, changes []change) ([]change, error) {
	final := map[string]change{}
	for _, c := range changes {
		final[c.path] = c
	}
	edits, _, err := b.objects.changes(next.tree, merged)
	if err != nil {
		return nil, err
	}
	for _, c := range edits {
		final[c.path] = c
	}
	return slices.SortedFunc(maps.Values(final), deletionsFirst), nil
}

// stash stores an edited tree as an entry of git stash: a commit whose parents are the head and a
// commit with the state of the index.
func (b *backend) stash(ctx context.Context, tree plumbing.Hash) error {
	message := "edits that a pull from " + b.remoteName() + " could not keep"
	parents := []plumbing.Hash{b.head.commit}
	for _, side := range []plumbing.Hash{b.head.tree, tree} {
		hash, err := b.putUnsigned(side, parents, message, time.Now())
		if err != nil {
			return err
		}
		parents = append(parents, hash)
	}
	if err := b.objects.sync(); err != nil {
		return err
	}
	_, err := b.runGit(ctx, "stash", "store", "--quiet", "--message", message, parents[2].String())
	return err
}
