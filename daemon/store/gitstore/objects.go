package gitstore

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"evalctl/daemon/store"
)

// cacheSize limits the size of the objects that a store keeps in memory.
const cacheSize = 4 * cache.MiByte

// objects reads the object database through go-git. It writes loose objects itself, because go-git
// cannot make them durable. It is not safe for concurrent use.
type objects struct {
	dir  string   // of .git
	root *os.Root // the same
	// top is the same as a file, open since before the first write. The kernel reports an error
	// of writing once to each file that was open then, and only to the first one that is opened
	// later: another store on the same file system may have been told already.
	top     *os.File
	storage *filesystem.Storage
	deflate *zlib.Writer
	// pending are the new objects, in files of pendingDir until the next sync.
	pending []plumbing.Hash
}

func newObjects(dir string, root *os.Root) (*objects, error) {
	deflate, err := zlib.NewWriterLevel(nil, zlib.BestSpeed)
	if err != nil {
		return nil, err
	}
	top, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	o := &objects{dir: dir, root: root, top: top, deflate: deflate}
	o.refresh()
	return o, nil
}

// refresh reopens the object database, so that it includes packs that other programs have
// written.
func (o *objects) refresh() {
	o.storage = filesystem.NewStorage(osfs.New(o.dir), cache.NewObjectLRU(cacheSize))
}

// get returns an object, even if git gc has moved it since the last refresh, or if one of its
// copies is damaged.
func (o *objects) get(kind plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	obj, err := o.storage.EncodedObject(kind, hash)
	if err != nil {
		o.refresh()
		// Once it has looked for an object in packs, go-git looks there first, as git does: a
		// pack may have a whole copy of an object whose file is damaged.
		_, _ = o.storage.EncodedObject(kind, plumbing.ZeroHash)
		obj, err = o.storage.EncodedObject(kind, hash)
	}
	if err != nil {
		return nil, unreadable(kind, hash, err)
	}
	return obj, nil
}

// unreadable is the error of an object that is missing, or damaged in its pack or file. An object
// that the system cannot read may be intact.
func unreadable(kind plumbing.ObjectType, hash plumbing.Hash, err error) error {
	err = fmt.Errorf("%s %s: %w", kind, hash, err)
	if _, system := errors.AsType[syscall.Errno](err); system {
		return err
	}
	return store.Damaged(err, "the %s %s of the repository is missing or damaged: "+
		"git fsck lists further damage; restore the repository from a copy or its remote", kind, hash)
}

// emptyTree is valid in every repository, even where it was never written.
var emptyTree = plumbing.ComputeHash(plumbing.TreeObject, nil)

// tree returns the entries of a tree by name. The zero hash is an empty tree.
func (o *objects) tree(hash plumbing.Hash) (map[string]object.TreeEntry, error) {
	if hash.IsZero() || hash == emptyTree {
		return map[string]object.TreeEntry{}, nil
	}
	obj, err := o.get(plumbing.TreeObject, hash)
	if err != nil {
		return nil, err
	}
	var tree object.Tree
	if err := tree.Decode(obj); err != nil {
		return nil, unreadable(plumbing.TreeObject, hash, err)
	}
	entries := make(map[string]object.TreeEntry, len(tree.Entries))
	for _, e := range tree.Entries {
		entries[e.Name] = e
	}
	return entries, nil
}

func (o *objects) commit(hash plumbing.Hash) (*object.Commit, error) {
	obj, err := o.get(plumbing.CommitObject, hash)
	if err != nil {
		return nil, err
	}
	var c object.Commit
	if err := c.Decode(obj); err != nil {
		return nil, unreadable(plumbing.CommitObject, hash, err)
	}
	return &c, nil
}

// tip returns a commit with its tree. For the zero hash it returns the zero tip.
func (o *objects) tip(hash plumbing.Hash) (tip, error) {
	if hash.IsZero() {
		return tip{}, nil
	}
	c, err := o.commit(hash)
	if err != nil {
		return tip{}, err
	}
	return tip{hash, c.TreeHash}, nil
}

func (o *objects) blob(hash plumbing.Hash) ([]byte, error) {
	obj, err := o.get(plumbing.BlobObject, hash)
	if err != nil {
		return nil, err
	}
	return readObject(obj)
}

// put writes an object, even if there is a file for it: that file may have been damaged by a
// power failure. Nothing can read the object before the next sync.
func (o *objects) put(kind plumbing.ObjectType, data []byte) (plumbing.Hash, error) {
	hash := plumbing.ComputeHash(kind, data)
	var packed bytes.Buffer
	o.deflate.Reset(&packed)
	fmt.Fprintf(o.deflate, "%s %d\x00", kind, len(data)) // writing to a buffer does not fail
	if _, err := o.deflate.Write(data); err != nil {
		return hash, err
	}
	if err := o.deflate.Close(); err != nil {
		return hash, err
	}
	file := numberedFile(pendingDir, len(o.pending))
	if err := o.root.WriteFile(file, packed.Bytes(), objectMode); err != nil {
		return hash, errors.Join(err, removeFile(o.root, file))
	}
	o.pending = append(o.pending, hash)
	return hash, nil
}

// sync makes the new objects and some files durable, and then gives the objects their names. Git
// programs do not write an object whose file exists, so no object may have its name before its
// content is on disk. If sync fails, it discards the objects: the kernel may take them for
// written.
func (o *objects) sync(files ...string) error {
	for i := range o.pending {
		files = append(files, numberedFile(pendingDir, i))
	}
	err := o.syncFiles(files)
	if err == nil && len(o.pending) > 0 {
		err = o.place()
	}
	if err != nil {
		return errors.Join(err, o.discard())
	}
	o.pending = nil
	return nil
}

// place moves the new objects to the object database.
func (o *objects) place() error {
	dirs := []string{"objects"}
	for i, hash := range o.pending {
		name := hash.String()
		dir := "objects/" + name[:2]
		file, from := dir+"/"+name[2:], numberedFile(pendingDir, i)
		err := o.root.Rename(from, file)
		if errors.Is(err, fs.ErrNotExist) {
			if err = o.root.MkdirAll(dir, dirMode); err == nil {
				err = o.root.Rename(from, file)
			}
		}
		if err != nil {
			return err
		}
		dirs = append(dirs, dir)
	}
	return o.syncNames(dirs)
}

// discard removes the new objects.
func (o *objects) discard() error {
	var errs []error
	for i := range o.pending {
		errs = append(errs, removeFile(o.root, numberedFile(pendingDir, i)))
	}
	o.pending = nil
	return errors.Join(errs...)
}

// discardIf removes the new objects of a commit that has failed.
func (o *objects) discardIf(err *error) {
	if *err != nil {
		*err = errors.Join(*err, o.discard())
	}
}

func (o *objects) putTree(entries []object.TreeEntry) (plumbing.Hash, error) {
	var obj plumbing.MemoryObject
	if err := (&object.Tree{Entries: entries}).Encode(&obj); err != nil {
		return plumbing.ZeroHash, err
	}
	data, err := readObject(&obj)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return o.put(plumbing.TreeObject, data)
}

func readObject(obj plumbing.EncodedObject) ([]byte, error) {
	r, err := obj.Reader()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

// removeFile removes a file if it exists. It needs no file descriptor, so it can clean up after a
// write that has failed for lack of one.
func removeFile(root *os.Root, name string) error {
	err := os.Remove(filepath.Join(root.Name(), filepath.FromSlash(name)))
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// isFile reports whether an entry of a tree can be a document.
func isFile(mode filemode.FileMode) bool { return mode.IsFile() && mode != filemode.Symlink }
