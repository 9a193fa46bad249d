package gitstore

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/text/unicode/norm"

	"evalctl/daemon/store"
)

// The documents are the files of HEAD that can be documents. Untracked files of the worktree are
// left alone. Other entries of HEAD stay in the commits, but are not laid out.

// inHead is a document in HEAD.
type inHead struct{ blob plumbing.Hash }

// Now implements store.Change.
func (inHead) Now() (info store.FileInfo, deleted bool) { return store.FileInfo{}, false }

// track adds the documents of a commit. The caller holds the lock for writing.
func (b *backend) track(committed []change) {
	for _, c := range committed {
		if c.isDelete() || c.absent {
			b.tracked.Remove(c.path)
		} else {
			b.tracked.Put(c.path, inHead{c.hash})
		}
	}
}

// isTracked requires the lock of Files, or that no mutation runs.
func (b *backend) isTracked(path string) bool {
	_, ok := b.tracked.Docs[path]
	return ok
}

// Read implements store.Backend.
func (b *backend) Read(ctx context.Context, path string) ([]byte, error) {
	return store.ReadOpened(b.Open(ctx, path))
}

// Open implements an optional method of store.Backend.
func (b *backend) Open(_ context.Context, path string) (content io.ReadCloser, size int64, err error) {
	if err := reserved(path); err != nil {
		return nil, 0, err
	}
	b.RLock()
	defer b.RUnlock()
	if !b.isTracked(path) {
		return nil, 0, store.ErrNotFound
	}
	return b.OpenLocked(path)
}

// Stat implements store.Backend.
func (b *backend) Stat(_ context.Context, path string) (store.FileInfo, error) {
	if err := reserved(path); err != nil {
		return store.FileInfo{}, err
	}
	b.RLock()
	defer b.RUnlock()
	if b.isTracked(path) {
		info, err := b.StatLocked(path)
		if err == nil && info.IsDir {
			err = store.ErrNotFound // exchanged by hand
		}
		b.setVersion(&info)
		return info, err
	}
	if info, ok, _ := b.tracked.Find(path); ok && info.IsDir {
		return store.FileInfo{Path: path, IsDir: true}, nil
	}
	return store.FileInfo{}, store.ErrNotFound
}

// List implements store.Backend.
func (b *backend) List(_ context.Context, dir string) ([]store.FileInfo, error) {
	b.RLock()
	defer b.RUnlock()
	infos, err := b.ListLocked(dir)
	for i := range infos {
		b.setVersion(&infos[i])
	}
	return infos, err
}

// setVersion sets the version of a document. Size and time are none: a pulled file has the time of
// its commit, and another commit may have the same. They tell apart what was edited by hand.
func (b *backend) setVersion(info *store.FileInfo) {
	doc, ok := b.tracked.Docs[info.Path]
	if !ok || info.IsDir {
		return
	}
	version := hex.AppendEncode(make([]byte, 0, 80), doc.blob[:])
	version = strconv.AppendInt(append(version, '-'), info.Size, 36)
	info.Version = string(strconv.AppendInt(append(version, '-'), info.ModTime.UnixNano(), 36))
}

// checkUnedited rejects operations on documents whose files were changed by hand: an append would
// commit the change, and a write would discard it.
func (b *backend) checkUnedited(ops []store.Op) error {
	for _, op := range ops {
		doc, ok := b.tracked.Docs[op.Path]
		if !ok {
			continue
		}
		_, info, err := b.Lookup(op.Path)
		if err == nil && !info.Mode().IsRegular() {
			return placeError(op.Path, fs.ErrExist)
		}
		same := false
		if err == nil {
			same, err = b.isSame(change{path: op.Path, hash: doc.blob})
		}
		if isAbsent(err) || err == nil && same {
			continue
		}
		if err != nil {
			return placeError(op.Path, err)
		}
		return &store.Error{Op: string(op.Kind), Path: op.Path, Err: fmt.Errorf("%w: the file was changed by hand and the change "+
			"is not committed: commit or discard it", store.ErrConflict)}
	}
	return nil
}

// Skipped implements an optional method of store.Backend.
func (b *backend) Skipped(ctx context.Context) (store.Skips, error) {
	found, err := b.Files.Skipped(ctx)
	b.RLock()
	defer b.RUnlock()
	for _, path := range slices.Sorted(maps.Keys(b.others)) {
		found.Add(path, b.others[path])
	}
	return found, err
}

// judge is a store.Files.Judge. The caller holds the lock.
func (b *backend) judge() func(string) (bool, string) {
	ignored := b.newIgnored()
	return func(path string) (ok bool, reason string) {
		if b.isTracked(path) {
			return true, ""
		}
		for at := path; at != "."; at = store.FileDir(at) {
			if _, ok := b.others[at]; ok {
				return false, "" // is mentioned as what it is
			}
		}
		if ignored.match(path) {
			return false, ""
		}
		return false, "is not committed"
	}
}

// checkFree rejects writes that would replace something other than a document.
func (b *backend) checkFree(ops []store.Op) error {
	for _, op := range ops {
		if op.Kind != store.OpWrite || b.isTracked(op.Path) {
			continue
		}
		for at := op.Path; at != "."; at = store.FileDir(at) {
			if reason, ok := b.others[at]; ok {
				return &store.Error{Op: "write", Path: op.Path, Err: fmt.Errorf("%w: the repository has something else there, which %s", store.ErrInvalidPath, reason)}
			}
		}
		_, info, err := b.Lookup(op.Path)
		switch {
		case store.IsNotFound(err) || err == nil && info.IsDir():
		case err != nil:
			return placeError(op.Path, err)
		default:
			return placeError(op.Path, fs.ErrExist)
		}
	}
	return nil
}

// fitting returns changes without those that the worktree cannot have, which are absent.
func (b *backend) fitting(changes []change) (fit, unfit []change) {
	var names map[string]string
	if b.folds {
		names = map[string]string{}
		for p := range b.tracked.Docs {
			fold(names, p)
		}
	}
	for _, c := range changes {
		reason := ""
		if !c.isDelete() && !b.isTracked(c.path) {
			reason = b.refusal(c.path)
			if reason == "" && names != nil && !fold(names, c.path) {
				reason = sameFile
			}
		}
		if reason == "" {
			fit = append(fit, c)
			continue
		}
		c.absent = true
		unfit = append(unfit, c)
	}
	return fit, unfit
}

const sameFile = "has a name that differs from another one only in case: the file system cannot keep them apart"

// fold adds a path and its parents to names. It returns false if one of them has another spelling.
func fold(names map[string]string, p string) bool {
	for at := p; at != "."; at = path.Dir(at) {
		key := norm.NFC.String(strings.ToLower(at))
		if had, ok := names[key]; ok && had != at {
			return false
		}
	}
	for at := p; at != "."; at = path.Dir(at) {
		names[norm.NFC.String(strings.ToLower(at))] = at
	}
	return true
}

// refusal returns why the file system rejects a path, or "".
func (b *backend) refusal(path string) string {
	if _, err := b.Root.Lstat(path); store.IsNameError(err) {
		return "has a name that the file system does not take"
	}
	return ""
}

// noteOthers finds the entries of HEAD that are not documents, and logs new ones. unfit are
// documents that the file system cannot have.
func (b *backend) noteOthers(unfit []change) error {
	_, list, err := b.objects.changes(plumbing.ZeroHash, b.head.tree)
	if err != nil {
		return err
	}
	others, unfits := map[string]string{}, map[string]string{}
	for _, c := range unfit {
		if unfits[c.path] = b.refusal(c.path); unfits[c.path] == "" {
			unfits[c.path] = sameFile
		}
	}
	for p, reason := range b.unfit {
		if _, ok := unfits[p]; !ok && !b.isTracked(p) {
			unfits[p] = reason
		}
	}
	for _, c := range list {
		others[c.path] = reasonOf(c)
	}
	maps.Copy(others, unfits)
	b.Lock()
	had := b.others
	b.others, b.unfit = others, unfits
	b.Unlock()
	for _, p := range slices.Sorted(maps.Keys(others)) {
		if had[p] == "" {
			b.LogSkip(p, others[p])
		}
	}
	return nil
}

// reasonOf says why an entry of a tree is not a document.
func reasonOf(c change) string {
	return strings.TrimPrefix(checkEntry(c.path, c.mode).Error(), store.ErrInvalidPath.Error()+": ")
}
