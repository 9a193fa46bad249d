package gitstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"evalctl/daemon/store"
)

// errMerge: both sides changed the same lines.
var errMerge = errors.New("merge conflict")

// integrate puts the branch on top of upstream and returns what that changed.
//
// The rebase works on objects alone, with git merge-tree for what both sides
// changed: git pull --rebase would leave the worktree between two commits when
// interrupted, and the commits it makes anew without their signatures.
func (b *backend) integrate(ctx context.Context, upstream plumbing.Hash) ([]store.ChangeEvent, error) {
	if b.broken != nil {
		return nil, b.broken
	}
	b.objects.refresh()
	behind, err := b.commits(ctx, b.head.commit, upstream)
	if err != nil || len(behind) == 0 {
		return nil, err
	}
	next, err := b.rebase(ctx, upstream)
	if err != nil {
		return nil, err
	}
	changes, err := b.objects.changes(b.head.tree, next.tree)
	if err != nil {
		return nil, err
	}
	events := changeEvents(changes)
	changes, conflict, err := b.keepEdits(ctx, next, changes)
	if err != nil {
		return nil, err
	}
	tipCommit, err := b.objects.commit(next.commit)
	if err != nil {
		return nil, err
	}
	// The commits from here to next can be others than those that led here.
	if err := b.checkpoint(stateOpen); err != nil {
		return nil, err
	}
	if err := b.advance(next, changes, tipCommit.Committer.When); err != nil {
		return nil, err
	}
	if err := b.checkpoint(stateOpen); err != nil {
		return events, b.fail(err)
	}
	return events, conflict
}

// commits lists what is reachable from one commit and not from the other,
// oldest first and without merges.
func (b *backend) commits(ctx context.Context, not, from plumbing.Hash, flags ...string) ([]plumbing.Hash, error) {
	args := append(flags, "--reverse", "--topo-order", from.String(), "^"+not.String(), "--")
	out, err := b.run(ctx, "rev-list", args...)
	if err != nil {
		return nil, err
	}
	var list []plumbing.Hash
	for name := range bytes.FieldsSeq(out) {
		list = append(list, plumbing.NewHash(string(name)))
	}
	return list, nil
}

// rebase makes the commits that upstream does not have anew on top of it. Dropped
// are those that change nothing there though they once did.
func (b *backend) rebase(ctx context.Context, upstream plumbing.Hash) (tip, error) {
	at, err := b.objects.tip(upstream)
	if err != nil {
		return tip{}, err
	}
	picks, err := b.commits(ctx, upstream, b.head.commit, "--no-merges")
	if err != nil {
		return tip{}, err
	}
	for _, hash := range picks {
		c, err := b.objects.commit(hash)
		if err != nil {
			return tip{}, err
		}
		before := tip{tree: emptyTree}
		if len(c.ParentHashes) > 0 {
			if before, err = b.objects.tip(c.ParentHashes[0]); err != nil {
				return tip{}, err
			}
		}
		tree, err := b.merge(ctx, before.tree, at.tree, c.TreeHash)
		if errors.Is(err, errMerge) {
			return tip{}, fmt.Errorf("%w: git pull conflicted while rebasing on %s", store.ErrConflict, b.remoteName())
		}
		if err != nil {
			return tip{}, err
		}
		if tree == at.tree && c.TreeHash != before.tree {
			continue
		}
		again := &object.Commit{Author: c.Author, Message: c.Message, Encoding: c.Encoding, ParentHashes: []plumbing.Hash{at.commit}}
		if at, err = b.addCommit(ctx, tree, again, time.Now()); err != nil {
			return tip{}, err
		}
	}
	return at, nil
}

// merge makes the change from base to theirs on top of ours, or fails with
// errMerge.
func (b *backend) merge(ctx context.Context, base, ours, theirs plumbing.Hash) (plumbing.Hash, error) {
	switch {
	case base == theirs || ours == theirs:
		return ours, nil
	case base == ours:
		return theirs, nil
	}
	// merge-tree wants commits and finds the base by itself.
	var sides [3]plumbing.Hash
	for i, tree := range []plumbing.Hash{base, ours, theirs} {
		who := object.Signature{Name: committerName, Email: committerEmail, When: time.Unix(0, 0).UTC()}
		c := &object.Commit{Author: who, Committer: who, TreeHash: tree, Message: "side of a merge\n"}
		if i > 0 {
			c.ParentHashes = sides[:1]
		}
		data, err := encodeCommit(c)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if sides[i], err = b.objects.put(plumbing.CommitObject, data); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	out, err := b.run(ctx, "merge-tree", "--write-tree", "--no-messages", sides[1].String(), sides[2].String())
	if failed, ok := errors.AsType[*programError](err); ok && failed.code == 1 {
		return plumbing.ZeroHash, errMerge
	}
	name := strings.TrimSpace(string(out))
	if err == nil && !plumbing.IsHash(name) {
		err = fmt.Errorf("git merge-tree answered %.60q", out)
	}
	return plumbing.NewHash(name), err
}

// changeEvents tells of changes, ascending by path.
func changeEvents(changes []change) []store.ChangeEvent {
	var events []store.ChangeEvent
	for _, c := range changes {
		ev := store.ChangeEvent{Kind: store.Updated, Path: c.path}
		switch {
		case c.deletes():
			ev.Kind = store.Deleted
		case c.was.IsZero():
			ev.Kind = store.Created
		}
		events = append(events, ev)
	}
	slices.SortFunc(events, func(a, b store.ChangeEvent) int { return cmp.Compare(a.Path, b.Path) })
	return events
}

// keepEdits finds the files to be changed that were edited by hand, and merges
// the edits into the changes. Where that cannot be it stashes the edits and
// returns the changes as they are, with a conflict for the caller of Pull.
func (b *backend) keepEdits(ctx context.Context, next tip, changes []change) (_ []change, conflict, err error) {
	var edits []change
	for _, c := range changes {
		file, err := b.worktreeFile(c.path)
		if err != nil {
			return nil, nil, err
		}
		if file.hash == c.was {
			continue
		}
		if !file.deletes() {
			if _, err := b.objects.put(plumbing.BlobObject, file.data); err != nil {
				return nil, nil, err
			}
		}
		edits = append(edits, file)
	}
	if len(edits) == 0 {
		return changes, nil, nil
	}
	edited, err := b.objects.edit(b.head.tree, edits)
	if err != nil {
		return nil, nil, err
	}
	merged, err := b.merge(ctx, b.head.tree, next.tree, edited)
	if errors.Is(err, errMerge) {
		conflict = fmt.Errorf("%w: git pull restored remote changes but local stash pop conflicted", store.ErrConflict)
		return changes, conflict, b.stash(ctx, edited)
	}
	if err != nil {
		return nil, nil, err
	}
	return b.mergeEdits(merged, next, changes)
}

// mergeEdits points changes at what the files hold after a merge with edits.
func (b *backend) mergeEdits(merged plumbing.Hash, next tip, changes []change) (_ []change, conflict, err error) {
	final := map[string]change{}
	for _, c := range changes {
		final[c.path] = c
	}
	edits, err := b.objects.changes(next.tree, merged)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range edits {
		final[c.path] = c
	}
	list := make([]change, 0, len(final))
	for _, c := range final {
		list = append(list, c)
	}
	slices.SortFunc(list, deletionsFirst)
	return list, nil, nil
}

// stash keeps an edited tree where git stash finds it: a commit with the head
// and the state of the index as parents.
func (b *backend) stash(ctx context.Context, tree plumbing.Hash) error {
	who := object.Signature{Name: committerName, Email: committerEmail, When: time.Now().UTC()}
	message := "edits that a pull from " + b.remoteName() + " could not keep"
	parents := []plumbing.Hash{b.head.commit}
	for _, side := range []plumbing.Hash{b.head.tree, tree} {
		data, err := encodeCommit(&object.Commit{Author: who, Committer: who, TreeHash: side, ParentHashes: parents, Message: message + "\n"})
		if err != nil {
			return err
		}
		hash, err := b.objects.put(plumbing.CommitObject, data)
		if err != nil {
			return err
		}
		parents = append(parents, hash)
	}
	if err := b.objects.sync(); err != nil {
		return err
	}
	_, err := b.run(ctx, "stash", "store", "--quiet", "--message", message, parents[2].String())
	return err
}
