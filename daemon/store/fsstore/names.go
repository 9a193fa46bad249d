package fsstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"strings"

	"evalctl/daemon/store"
)

// namesFile says which names the file system accepts, as found out when the store was last opened.
// It is for people.
const namesFile = stateDir + "/names"

// openNames finds out which names the file system accepts. If the store cannot be written to at
// present, it is opened nevertheless: a name that is rejected later is encoded then.
func (b *backend) openNames(version int) error {
	b.files.Names = &store.Names{
		Lstat:     func(file string) (fs.FileInfo, error) { return b.disk.lstat(documentsDir + "/" + file) },
		ReadNames: func(dir string) ([]string, error) { return store.ReadNames(b.files.Root, dir) },
	}
	had, err := b.home.ReadFile(namesFile)
	if err == nil {
		_ = json.Unmarshal(had, &b.files.Names.Folder) // kept if nothing can be found out
	} else if !store.IsNotFound(store.NoFile(err)) {
		return err
	}
	if folder, err := b.probe(); err == nil {
		b.files.Names.Folder = folder
	}
	if version == 1 || version == 2 {
		if err := b.encodeLeftovers(); err != nil {
			return err
		}
	}
	text, err := json.Marshal(b.files.Names.Folder)
	if err != nil || bytes.Equal(text, had) {
		return err
	}
	// If it fails, it is tried again when the store is next opened.
	_ = b.home.WriteFile(namesFile, text, fileMode)
	return nil
}

// encodingFile has the names that encodeLeftovers changes, until the store has the version of the
// layout that encodes names.
const encodingFile = stateDir + "/encoding"

// encodeLeftovers encodes the names of documents in a store of version 1 or 2 that have encoded
// names on every file system. If the upgrade is interrupted, it continues with the list that it
// made first: a second list would encode the encoded names again.
func (b *backend) encodeLeftovers() error {
	var files []string
	found, err := b.home.ReadFile(encodingFile)
	switch {
	case err == nil:
		err = json.Unmarshal(found, &files)
	case errors.Is(err, fs.ErrNotExist):
		files, err = b.leftovers()
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := b.encodeFile(file); err != nil {
			return err
		}
	}
	return b.disk.sync()
}

// leftovers writes encodingFile. Only files that the store has written are documents, which their
// mode shows.
func (b *backend) leftovers() (files []string, err error) {
	err = b.files.Walk("", func(file string, info fs.FileInfo) error {
		if info.Mode().IsRegular() && info.Mode().Perm() == fileMode && store.ValidPath(file) == nil && store.EncodePath(file) != file {
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := b.home.Remove(stagedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	text, err := json.Marshal(files)
	if err == nil {
		err = b.disk.create(stagedFile, text, b.now())
	}
	b.disk.release()
	if err == nil { // before the list gets its name: see writeSchema
		err = b.disk.sync()
	}
	if err == nil {
		err = b.disk.rename(stagedFile, encodingFile)
	}
	if err == nil {
		err = syncDir(b.home, stateDir)
	}
	return files, err
}

// encodeFile gives a document its encoded name, unless it has that already.
func (b *backend) encodeFile(file string) error {
	if _, err := b.files.Root.Lstat(file); store.IsNotFound(store.NoFile(err)) {
		return nil
	}
	encoded := store.EncodePath(file)
	if err := b.home.MkdirAll(path.Join(documentsDir, store.FileDir(encoded)), dirMode); err != nil {
		return err
	}
	if err := b.disk.rename(documentsDir+"/"+file, documentsDir+"/"+encoded); err != nil {
		return err
	}
	if strings.Contains(file, "/") {
		b.disk.prune(store.FileDir(file))
	}
	return nil
}
